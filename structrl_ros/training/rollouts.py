"""Rollouts: what a policy saw, drew and did in whole episodes, in padded arrays."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from typing import Any

import numpy as np

from structrl_ros.errors import ParameterError
from structrl_ros.training.cpu_seconds import CpuSeconds
from structrl_ros.types import Float32
from structrl_ros.types import TaskInfo
from structrl_ros.types import UInt8
from structrl_ros.world_types import Bool
from structrl_ros.world_types import EpisodeStart
from structrl_ros.world_types import Int

#: Fields with an axis of chunks, and those with one entry more: what was seen after the last one.
_CHUNKS = ('chain', 'log_prob', 'valid', 'truth', 'steps', 'executed')
_VIEWS = ('features', 'elapsed')
_EPISODES = ('success', 'terminated', 'truncated')


@dataclass(frozen=True, slots=True)
class Rollouts:
    """E episodes of up to M chunks, padded with zeros and False.

    Attributes:
        features: What was seen before each chunk, and after the last one, shape (E, M + 1, F).
        elapsed: Low-level steps over the horizon, in [0, 1], at the same times, (E, M + 1).
        chain: Denoising chains in the policy's own space, shape (E, M, S + 1, L, A).
        log_prob: Log-density of the chains by element, shape (E, M, L, A).
        valid: Chunks that were played, shape (E, M).
        truth: Names true at any step of a chunk, shape (E, M, N), in the order of
            `TaskInfo.predicate_names`.
        steps: Low-level steps of a chunk, shape (E, M); fewer than L only at the end.
        executed: What was sent to the body after limits, shape (E, M, L, D), zero beyond `steps`.
        success: Whether the task succeeded, shape (E,).
        terminated: Whether the episode ended in success, shape (E,).
        truncated: Whether it ended at its horizon or at `max_chunks`, shape (E,).
        tasks: What was played, length E.
        starts: From where, length E.
        first_episode: Number of the first episode within the iteration.
        images: Pictures by camera role, shape (E, M + 1, H, W, 3), of the roles that were kept.
        cpu: Where the CPU time went.
    """

    features: Float32
    elapsed: Float32
    chain: Float32
    log_prob: Float32
    valid: Bool
    truth: Bool
    steps: Int
    executed: Float32
    success: Bool
    terminated: Bool
    truncated: Bool
    tasks: tuple[TaskInfo, ...]
    starts: tuple[EpisodeStart, ...]
    first_episode: int = 0
    images: Mapping[str, UInt8] = field(default_factory=dict)
    cpu: CpuSeconds = field(default_factory=CpuSeconds)

    @property
    def episodes(self) -> int:
        """E."""
        return len(self.starts)

    @property
    def lengths(self) -> Int:
        """Chunks of each episode, shape (E,)."""
        return np.asarray(self.valid.sum(axis=1), dtype=np.intp)


def join(parts: Sequence[Rollouts]) -> Rollouts:
    """Return the episodes of several rollouts, one after another, padded to the longest.

    Raises:
        ParameterError: If there is no part.
    """
    if not parts:
        raise ParameterError('rollouts: at least one part is needed, got none')
    if len(parts) == 1:
        return parts[0]
    chunks = max(part.valid.shape[1] for part in parts)
    arrays = {n: _stack([getattr(p, n) for p in parts], chunks) for n in _CHUNKS}
    arrays |= {n: _stack([getattr(p, n) for p in parts], chunks + 1) for n in _VIEWS}
    arrays |= {n: np.concatenate([getattr(p, n) for p in parts]) for n in _EPISODES}
    roles = parts[0].images
    return dataclasses.replace(
        parts[0],
        **arrays,
        images={r: _stack([p.images[r] for p in parts], chunks + 1) for r in roles},
        tasks=tuple(task for part in parts for task in part.tasks),
        starts=tuple(start for part in parts for start in part.starts),
        cpu=sum((part.cpu for part in parts), CpuSeconds()),
    )


def _stack(arrays: Sequence[Any], length: int) -> Any:
    """Return the arrays one after another, each padded to a length on its second axis."""
    first = arrays[0]
    whole = np.zeros((sum(map(len, arrays)), length, *first.shape[2:]), dtype=first.dtype)
    begin = 0
    for array in arrays:
        whole[begin : begin + len(array), : array.shape[1]] = array
        begin += len(array)
    return whole
