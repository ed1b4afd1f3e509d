"""What passes between a trainer and its worlds: whole chunks, many episodes side by side.

A *lane* is one world of B; arrays have the lane on the first axis. The shapes are those of the
conventions: B lanes, L rows a chunk, D numbers a row, F features, N predicates.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from structrl_ros.types import BodySpec
from structrl_ros.types import Float32

Bool = NDArray[np.bool_]
Int = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class EpisodeStart:
    """Which episode a lane plays: the arguments of `Body.reset`."""

    task: str
    seed: int
    initial_state: int


@dataclass(frozen=True, slots=True)
class WorldSpec:
    """What B worlds side by side are.

    `feature_names` names the entries of the state vector, the same for every task of the body.
    `predicate_slots` is N, the most predicates that a task of the body publishes.
    """

    body: BodySpec
    lanes: int
    feature_names: tuple[str, ...]
    predicate_slots: int


@dataclass(frozen=True, slots=True)
class ChunkBatch:
    """What one chunk did in every lane; rows of lanes that were not active are zero and False.

    Attributes:
        truth: Names true at any low-level step of the chunk, shape (B, N), in the order of the
            lane's `TaskInfo.predicate_names`, False beyond them.
        success: Whether the task had succeeded by the end of the chunk, shape (B,).
        terminated: Whether the episode ended in success, shape (B,).
        truncated: Whether it ended at its horizon without success, shape (B,).
        steps: Low-level steps that were made, shape (B,).
        executed: What was sent after limits, shape (B, L, D), zero beyond `steps`.
    """

    truth: Bool
    success: Bool
    terminated: Bool
    truncated: Bool
    steps: Int
    executed: Float32
