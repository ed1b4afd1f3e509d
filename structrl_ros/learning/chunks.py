"""Rewards and flags of the steps inside action chunks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from numpy.typing import NDArray

from structrl_ros.errors import ParameterError
from structrl_ros.types import Float64

Bool = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class ChunkOutcome:
    """What B chunks of K steps came to: each of shape (B,), `executed` (B, K)."""

    reward: Float64
    executed_steps: NDArray[np.intp]
    done: Bool
    executed: Bool


def fold_chunk(step_rewards: ArrayLike, done: ArrayLike) -> ChunkOutcome:
    """Return the outcome of one chunk in B environments.

    A step counts up to and with the first done; what the environment reports for the slots after
    it belongs to no step of this episode and is masked.

    Args:
        step_rewards: Reward of each low-level step, shape (B, K).
        done: Whether each step ended the episode, shape (B, K).

    Raises:
        ParameterError: If the shapes differ or are not two-dimensional.
    """
    rewards, flags = _pair(step_rewards, done, dimensions=2)
    executed = executed_steps(flags)
    reward = np.where(executed, rewards, 0.0).sum(axis=1)
    return ChunkOutcome(reward, executed.sum(axis=1), np.asarray(flags.any(axis=1)), executed)


def executed_steps(done: ArrayLike) -> Bool:
    """Return True for every step up to and with the first done, along the last axis."""
    flags = np.asarray(done, dtype=bool)
    before = np.cumsum(flags, axis=-1) - flags
    return np.asarray(before == 0)


def episode_scores(step_rewards: ArrayLike, done: ArrayLike) -> Float64:
    """Return the reward sum of each environment's first episode, over chunks of K steps.

    Summing chunk by chunk gives the same as summing step by step: the steps after the first done
    count in neither.

    Args:
        step_rewards: Shape (B, M, K): M chunks of K steps.
        done: Same shape.

    Raises:
        ParameterError: If the shapes differ or are not three-dimensional.
    """
    rewards, flags = _pair(step_rewards, done, dimensions=3)
    flat = flags.reshape(len(flags), -1)
    kept = np.where(executed_steps(flat), rewards.reshape(flat.shape), 0.0)
    return np.asarray(kept.sum(axis=1))


def _pair(step_rewards: ArrayLike, done: ArrayLike, dimensions: int) -> tuple[Float64, Bool]:
    rewards, flags = np.asarray(step_rewards, dtype=np.float64), np.asarray(done, dtype=bool)
    if rewards.shape != flags.shape or rewards.ndim != dimensions:
        raise ParameterError(
            f'done: shape must be that of step_rewards, {dimensions}-dimensional, '
            f'got {flags.shape} and {rewards.shape}'
        )
    return rewards, flags
