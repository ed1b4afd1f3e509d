"""The gradient that each group of rollouts gives, at the policy that acted, by weights."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray

from structrl_ros.errors import ParameterError
from structrl_ros.models.policies.base import ChunkPolicy
from structrl_ros.training.rollouts import Rollouts
from structrl_ros.training.samples import chunk_samples
from structrl_ros.training.samples import device_of
from structrl_ros.types import Float64


def group_gradients(
    policy: ChunkPolicy,
    rollouts: Rollouts,
    weights: Mapping[str, Float64],
    groups: NDArray[np.intp],
    group_size: int,
) -> dict[str, NDArray[np.float32]]:
    """Return (1 / G) sum_ik w_ik grad log pi(chunk ik) of some groups (MART-GRPO, Section 2.1).

    At the policy that acted every ratio is 1, so that this is the gradient of the surrogate that
    GRPO ascends before any clipping.

    Args:
        policy: That collected the rollouts.
        rollouts: E episodes of up to M chunks; the G of a group follow each other.
        weights: By name, the weight of each chunk, shape (E, M).
        groups: Numbers of the groups, K of them.
        group_size: G.

    Returns:
        By name, one row a group, shape (K, number of parameters).

    Raises:
        ParameterError: If weights are of another shape.
    """
    for name, values in weights.items():
        if values.shape != rollouts.valid.shape:
            raise ParameterError(
                f'weights of {name}: shape must be {rollouts.valid.shape}, got {values.shape}'
            )
    parameters = [p for p in policy.parameters() if p.requires_grad]
    size = sum(p.numel() for p in parameters)
    found = {name: np.zeros((len(groups), size), dtype=np.float32) for name in weights}
    device = device_of(policy)
    for row, group in enumerate(groups.tolist()):
        own = np.zeros(rollouts.episodes, dtype=bool)
        own[group * group_size : (group + 1) * group_size] = True
        samples = chunk_samples(rollouts, own)
        inputs, chain, _ = samples.minibatch(torch.arange(len(samples)), device)
        by_chunk = policy.log_prob(inputs, chain).sum(dim=(1, 2))
        for name, values in weights.items():
            share = samples.take(values).to(device) / group_size
            parts = torch.autograd.grad(by_chunk @ share, parameters, retain_graph=True)
            found[name][row] = torch.cat([part.flatten() for part in parts]).cpu().numpy()
    return found
