"""Failure events (MART-GRPO): a finished rollout to review, and what a reviewer says of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field

import numpy as np
from numpy.typing import NDArray

from structrl_ros.types.arrays import Float64
from structrl_ros.types.arrays import UInt8

#: What a reviewer may say of the end of a rollout.
OUTCOMES = ('success', 'failure', 'uncertain')
#: Whether later chunks were seen to undo the error.
RECOVERIES = ('observed', 'not_observed', 'uncertain')
#: Errors that say what went wrong: only these can bound the feedback (Section 3.2).
SPECIFIC_ERRORS = (
    'missed_grasp',
    'wrong_object',
    'dropped',
    'knocked_over',
    'misplaced',
    'fell_off_table',
    'lost_progress',
    'stalled',
)
#: Every `error_type`: also no error, and one that cannot be told.
ERROR_TYPES = ('none', *SPECIFIC_ERRORS, 'unclear')


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedRollout:
    """A complete rollout of N chunks, as an event model may look at it.

    Chunks count from 1; boundary t (0 ... N) is what was seen after chunk t, 0 the start. A model
    reads what it needs and says in one line what it misses: pictures, potentials or states.

    Attributes:
        task: Name of the task.
        instruction: What the robot was told.
        chunks: N, the chunks that were played.
        views: Pictures by camera role, uint8 RGB, shape (T, H, W, 3).
        frame_chunks: The chunk after which each of the T frames was seen, rising, 0 ... N.
        frame_stamps_ns: When each frame was seen, length T or empty.
        proprioception: Tool position (m, base frame), yaw (rad) and opening (0 to 1) at every
            boundary, shape (N + 1, 5); empty (0, 5) if unknown.
        potential: Of the progress model at every boundary, in [-1, 1], shape (N + 1,), or empty.
        negative_branch: The gate of the potential, shape (N + 1,), or empty.
        states: Privileged state vectors at every boundary, shape (N + 1, F), or (0, 0); with
            `state_chunks` at any moments, as of every control period, which shows more.
        state_names: Names of the F entries.
        state_chunks: The chunk within which each state was seen, 0 at the start; () is boundaries.
        seed: With `task` and `initial_state` it is the identity of the scene.
        initial_state: See `seed`.
    """

    task: str
    instruction: str
    chunks: int
    views: Mapping[str, UInt8] = field(default_factory=dict)
    frame_chunks: tuple[int, ...] = ()
    frame_stamps_ns: tuple[int, ...] = ()
    proprioception: Float64 = field(default_factory=lambda: np.zeros((0, 5)))
    potential: Float64 = field(default_factory=lambda: np.zeros(0))
    negative_branch: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))
    states: Float64 = field(default_factory=lambda: np.zeros((0, 0)))
    state_names: tuple[str, ...] = ()
    state_chunks: tuple[int, ...] = ()
    seed: int = 0
    initial_state: int = 0

    def frames_near(self, boundaries: Sequence[int]) -> tuple[int, ...]:
        """Return the frames nearest to boundaries, or the boundaries where there are no frames."""
        if not self.frame_chunks:
            return tuple(dict.fromkeys(boundaries))
        chunks = np.asarray(self.frame_chunks)
        return tuple(dict.fromkeys(int(np.abs(chunks - b).argmin()) for b in boundaries))


@dataclass(frozen=True, slots=True, kw_only=True)
class EventReview:
    """What an event model says of one rollout (MART-GRPO, Sections 3.1 and E.1).

    Attributes:
        outcome: One of `OUTCOMES`.
        error_type: One of `ERROR_TYPES`: of the last error that was not made good.
        interval: Chunks [l, u] within which it began, from 1; None if it cannot be localised.
        recovery: One of `RECOVERIES`.
        evidence: Numbers of the frames (or, without pictures, boundaries) that show it.
        confidence: In [0, 1]; NaN if the model has none.
        reason: One line for people.
        first_interval: Chunks of the first qualifying error, for the prefix rule (Section B.11);
            None where the model does not tell.
    """

    outcome: str
    error_type: str = 'none'
    interval: tuple[int, int] | None = None
    recovery: str = 'uncertain'
    evidence: tuple[int, ...] = ()
    confidence: float = math.nan
    reason: str = ''
    first_interval: tuple[int, int] | None = None
