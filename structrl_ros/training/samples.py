"""The chunks of rollouts as tensors, one row a chunk that was executed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from structrl_ros.models.policies.base import ChunkPolicy
from structrl_ros.models.policies.base import PolicyInput
from structrl_ros.training.rollouts import Rollouts
from structrl_ros.world_types import Bool

#: Rows that are encoded at once.
_ROWS = 512


@dataclass(frozen=True, slots=True)
class ChunkSamples:
    """N chunks in the order of episodes, then of time.

    Attributes:
        inputs: What the policy saw.
        chain: Denoising chains, shape (N, S + 1, L, A).
        log_prob: Of the chains, under the policy that acted, shape (N, L, A).
        valid: Which chunks of the rollouts they are, shape (E, M): an array (E, M) becomes rows
            by `array[valid]`.
    """

    inputs: PolicyInput
    chain: Tensor
    log_prob: Tensor
    valid: Bool

    def __len__(self) -> int:
        """Return N."""
        return len(self.chain)

    def minibatch(self, rows: Tensor, device: torch.device) -> tuple[PolicyInput, Tensor, Tensor]:
        """Return inputs, chains and log-probabilities of some rows, on a device."""
        inputs = self.inputs.rows(rows).to(device)
        return inputs, self.chain[rows].to(device), self.log_prob[rows].to(device)

    def take(self, values: NDArray[np.floating]) -> Tensor:
        """Return the entries of an array (E, M) as float32, shape (N,)."""
        return torch.from_numpy(values[self.valid].astype(np.float32))


def chunk_samples(rollouts: Rollouts, kept: Bool | None = None) -> ChunkSamples:
    """Return the chunks of rollouts; of those that are kept, shape (E,), if that is given."""
    valid = rollouts.valid if kept is None else rollouts.valid & kept[:, None]
    images = {
        role: torch.from_numpy(image[:, :-1][valid]) for role, image in rollouts.images.items()
    }
    sentences = tuple(
        task.instruction
        for task, chunks in zip(rollouts.tasks, valid.sum(axis=1).tolist(), strict=True)
        for _ in range(chunks)
    )
    inputs = PolicyInput(torch.from_numpy(rollouts.features[:, :-1][valid]), images, sentences)
    return ChunkSamples(
        inputs,
        torch.from_numpy(rollouts.chain[valid]),
        torch.from_numpy(rollouts.log_prob[valid]),
        valid,
    )


def views(rollouts: Rollouts) -> PolicyInput:
    """Return all that was seen, the last observations and the padding included: E (M + 1) rows."""
    features = torch.from_numpy(rollouts.features)
    images = {
        role: torch.from_numpy(image).flatten(0, 1) for role, image in rollouts.images.items()
    }
    sentences = tuple(
        task.instruction for task in rollouts.tasks for _ in range(features.shape[1])
    )
    return PolicyInput(features.flatten(0, 1), images, sentences)


@torch.no_grad()
def encodings(policy: ChunkPolicy, inputs: PolicyInput) -> Tensor:
    """Return what the policy encodes of N rows, shape (N, H), without gradient."""
    count = len(inputs.features)
    device = device_of(policy)
    parts = [
        policy.encode(inputs.rows(torch.arange(first, min(first + _ROWS, count))).to(device))
        for first in range(0, count, _ROWS)
    ]
    return torch.cat(parts).float().cpu()


def device_of(policy: ChunkPolicy) -> torch.device:
    """Return where a policy's weights are."""
    return next(policy.parameters()).device
