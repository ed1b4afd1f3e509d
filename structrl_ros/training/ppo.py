"""Chunk-level PPO (StructRL, Section 2 and Algorithm 1): `train_ppo`.

An iteration collects episodes, pays their chunks, estimates advantages with a critic that knows
the time (GAE), and descends the clipped surrogate. Three rules keep it sound:

* A minibatch whose KL goes past `kl_stop` undoes the whole iteration of the policy.
* An iteration in which nothing was paid does not move the policy: to bring advantages to
  deviation 1 would make a signal of the critic's errors.
* The first `warmup_iterations` train the critic alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from structrl_ros.learning.gae import Advantages
from structrl_ros.learning.gae import estimate_advantages
from structrl_ros.learning.groups import normalise_advantages
from structrl_ros.models.policies.base import ChunkPolicy
from structrl_ros.training.actor import AT_REST
from structrl_ros.training.actor import Actor
from structrl_ros.training.critic import Critic
from structrl_ros.training.critic import CriticLearner
from structrl_ros.training.critic import explained_variance
from structrl_ros.training.metrics_log import Metrics
from structrl_ros.training.practice import Practice
from structrl_ros.training.practice import TrainingResult
from structrl_ros.training.practice import practise
from structrl_ros.training.rollouts import Rollouts
from structrl_ros.training.samples import ChunkSamples
from structrl_ros.training.samples import chunk_samples
from structrl_ros.training.samples import encodings
from structrl_ros.training.samples import views
from structrl_ros.training.settings import PpoSettings
from structrl_ros.training.trainer_state import TrainerState
from structrl_ros.types import Float64


def train_ppo(policy: ChunkPolicy, settings: PpoSettings, practice: Practice) -> TrainingResult:
    """Train a policy by PPO, in place.

    Args:
        policy: The start, from `train_sft` as a rule. Its normaliser serves the critic too.
        settings: See `PpoSettings`.
        practice: Worlds, rewards, and where the run is kept.

    Raises:
        TrainingError: If a number is not finite, or the worlds fail twice in one iteration.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        return practise(policy, settings, practice, PpoLearner(policy, settings))


@dataclass(frozen=True, slots=True)
class _Seen:
    """What the critic sees: (E, M + 1, F'), and t / H, (E, M + 1)."""

    observed: Tensor
    elapsed: Tensor


class PpoLearner:
    """Actor, critic and their optimisers."""

    group_size = 1

    def __init__(self, policy: ChunkPolicy, settings: PpoSettings) -> None:
        self._policy = policy
        self._settings = settings
        self._random = np.random.default_rng((settings.seed, 21))
        self._actor = Actor(policy, settings)
        self._critic: CriticLearner | None = None

    def missing_groups(self, rollouts: Rollouts, rounds: int) -> int:
        """Return 0: every episode teaches."""
        return 0

    def learn(self, rollouts: Rollouts, rewards: Float64, iteration: int) -> Metrics:
        """Move critic and policy by one iteration.

        Args:
            rollouts: Of the policy as it is, exploring.
            rewards: Of each chunk, shape (E, M).
            iteration: From 0.

        Returns:
            Numbers of the iteration.
        """
        settings = self._settings
        samples = chunk_samples(rollouts)
        seen = self._look(rollouts)
        if self._critic is None:
            self._critic = self._make_critic(seen.observed.shape[-1])
        flat = self._critic.critic.values(seen.observed.flatten(0, 1), seen.elapsed.flatten())
        values = flat.view(seen.elapsed.shape).double().numpy()
        estimate = chunk_advantages(
            rollouts,
            rewards,
            values,
            gamma=settings.gamma,
            trace_decay=settings.trace_decay,
            timeout=settings.timeout,
        )
        is_warmup = iteration < settings.warmup_iterations
        metrics = dict(AT_REST)
        if not is_warmup and rewards.any():
            metrics = self._improve(samples, estimate.advantages)
        played = torch.from_numpy(samples.valid)
        returns = samples.take(estimate.returns)
        self._critic.fit(
            seen.observed[:, :-1][played],
            seen.elapsed[:, :-1][played],
            returns,
            epochs=settings.warmup_epochs if is_warmup else settings.epochs,
            minibatch=settings.minibatch,
            random=self._random,
        )
        explained = explained_variance(samples.take(values[:, :-1]), returns)
        return {**metrics, 'critic/explained_variance': explained}

    def state(self) -> TrainerState:
        """Return all that the next iteration depends on, besides the policy."""
        state = TrainerState()
        self._actor.put_state(state)
        if self._critic is not None:
            state.put_module('critic', self._critic.critic)
            state.put_optimiser('critic_optimiser', self._critic.optimiser)
        state.put_generators(self._random)
        return state

    def restore(self, state: TrainerState) -> None:
        """Go back to a state.

        Raises:
            CheckpointError: If it is of another architecture.
        """
        self._actor.get_state(state)
        mean = state.tensors.get('critic/mean')
        if mean is not None:
            self._critic = self._make_critic(len(mean))
            state.get_module('critic', self._critic.critic)
            state.get_optimiser('critic_optimiser', self._critic.optimiser)
        state.get_generators(self._random)

    def _improve(self, samples: ChunkSamples, advantages: Float64) -> Metrics:
        weights = samples.take(normalise_advantages(advantages, samples.valid))
        report = self._actor.improve(samples, weights, self._random)
        return report.metrics()

    def _look(self, rollouts: Rollouts) -> _Seen:
        elapsed = torch.from_numpy(rollouts.elapsed)
        if self._settings.critic == 'separate':
            return _Seen(torch.from_numpy(rollouts.features), elapsed)
        encoded = encodings(self._policy, views(rollouts))
        return _Seen(encoded.view(*elapsed.shape, -1), elapsed)

    def _make_critic(self, inputs: int) -> CriticLearner:
        """Return a fresh critic; one that reads states takes the policy's normalisation over."""
        critic = Critic(inputs, self._settings.critic_width)
        if self._settings.critic == 'separate':
            critic.mean.copy_(self._policy.normaliser.mean)
            critic.deviation.copy_(self._policy.normaliser.deviation)
        return CriticLearner(
            critic,
            learning_rate=self._settings.critic_learning_rate,
            gradient_clip=self._settings.gradient_clip,
        )


def chunk_advantages(
    rollouts: Rollouts,
    rewards: Float64,
    values: Float64,
    *,
    gamma: float,
    trace_decay: float,
    timeout: str,
) -> Advantages:
    """Return GAE's advantages and returns of each chunk, shape (E, M), zero where none was played.

    Args:
        rollouts: The episodes.
        rewards: Shape (E, M).
        values: V of what was seen, the last observation included, shape (E, M + 1).
        gamma: Discount a chunk.
        trace_decay: Lambda.
        timeout: What the horizon is: 'terminated' (no value after it), or 'truncated'.
    """
    valid = rollouts.valid
    following = np.pad(valid[:, 1:], ((0, 0), (0, 1)))
    last = valid & ~following
    is_over = rollouts.terminated
    if timeout == 'terminated':
        is_over = is_over | rollouts.truncated
    estimate = estimate_advantages(
        np.where(valid, rewards, 0.0).T,
        np.where(valid, values[:, :-1], 0.0).T,
        terminated=(~valid | (last & is_over[:, None])).T,
        truncated=(last & ~is_over[:, None]).T,
        bootstrap=values[:, 1:].T,
        gamma=gamma,
        trace_decay=trace_decay,
    )
    return Advantages(estimate.advantages.T, estimate.returns.T)
