"""Rollouts of given lengths in which a policy draws real chunks from features that are noise."""

import numpy as np
import torch

from structrl_ros.models.policies.base import PolicyInput
from structrl_ros.models.policies.flow import FlowConfig
from structrl_ros.models.policies.registry import make_policy
from structrl_ros.training.rollouts import Rollouts
from structrl_ros.types import TaskInfo
from structrl_ros.world_types import EpisodeStart

FEATURES = ('a', 'b', 'c')
CHUNK = 2


def small_flow(seed=0, hidden=16):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        config = FlowConfig(feature_names=FEATURES, chunk_length=CHUNK, hidden=hidden)
        return make_policy(config).eval()


def draw_rollouts(policy, lengths, success, *, seed=0, tasks=None):
    """Return episodes of `lengths` chunks, of which some succeed; shape (E, max(lengths))."""
    lengths, success = np.array(lengths), np.array(success)
    episodes, chunks = len(lengths), int(lengths.max())
    random = np.random.default_rng(seed)
    features = random.standard_normal((episodes, chunks + 1, len(FEATURES))).astype(np.float32)
    noise = random.standard_normal((episodes * chunks, *policy.noise_shape)).astype(np.float32)
    flat = torch.from_numpy(features[:, :-1].reshape(episodes * chunks, -1))
    sample = policy.sample(PolicyInput(flat), torch.from_numpy(noise), explore=True)
    valid = np.arange(chunks) < lengths[:, None]
    names = tasks or ('task',) * episodes
    horizon = chunks * CHUNK
    return Rollouts(
        features=features,
        elapsed=np.tile(np.arange(chunks + 1, dtype=np.float32) / chunks, (episodes, 1)),
        chain=sample.chain.numpy().reshape(episodes, chunks, *sample.chain.shape[1:]),
        log_prob=sample.log_prob.numpy().reshape(episodes, chunks, *sample.log_prob.shape[1:]),
        valid=valid,
        truth=np.zeros((episodes, chunks, 1), dtype=bool),
        steps=np.where(valid, CHUNK, 0),
        executed=np.zeros((episodes, chunks, CHUNK, 7), dtype=np.float32),
        success=success,
        terminated=success,
        truncated=~success,
        tasks=tuple(TaskInfo(name, 'do it', horizon, ('done(it)',), ()) for name in names),
        starts=tuple(EpisodeStart(name, i, 0) for i, name in enumerate(names)),
    )
