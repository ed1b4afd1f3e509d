"""Parts of a `RunRecord` that run along time: progress, who is in control, the motion's seams.

Times `*_s` are seconds of the body's clock since the start of the episode.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DoneEntry:
    """From here on `share` of the subtasks of the plan is done, in [0, 1]."""

    t_s: float
    share: float


@dataclass(frozen=True, slots=True)
class ProgressEntry:
    """What the progress model said of a step: hops and potential in [-1, 1].

    `hop_backward` is None where there was no goal.
    """

    t_s: float
    step: int
    hop_forward: float
    hop_backward: float | None
    hop_incremental: float
    potential: float
    shaping: float
    valid: bool


@dataclass(frozen=True, slots=True)
class ControlSpan:
    """A stretch of time in which one source moved the body; `device` is an operator's.

    `who` is a source of chunks (policy, teleop, expert, replay), or 'operator' in a takeover.
    """

    start_s: float
    end_s: float
    who: str
    device: str = ''


@dataclass(frozen=True, slots=True)
class SeamEntry:
    """A switch to `chunk` without a rest: what was commanded at its first step.

    `acceleration` in m/s^2, `jerk` in m/s^3 (the larger of the two that the seam enters),
    `turn` the angular acceleration in rad/s^2.
    """

    t_s: float
    chunk: int
    acceleration: float
    jerk: float | None
    turn: float


@dataclass(frozen=True, slots=True)
class Spread:
    """Middle, 95th percentile and largest of `count` values, None without values."""

    count: int
    p50: float | None
    p95: float | None
    largest: float | None


@dataclass(frozen=True, slots=True)
class MotionFigure:
    """One quantity at the seams and at the steps inside chunks."""

    name: str
    unit: str
    seams: Spread
    inside: Spread


@dataclass(frozen=True, slots=True)
class MotionEntry:
    """Commanded motion of the steps that the body ran, from the actions as executed.

    Attributes:
        period_s: Time of a step.
        t_s: Time of each step that follows another without a rest.
        acceleration: At these times, m/s^2.
        jerk: At these times, m/s^3; None where the step before has no acceleration.
        seams: Switches between chunks.
        rests: Switches after a rest (a hold, a takeover), which are no seams.
        figures: Acceleration, jerk and turn, at the seams and inside.
    """

    period_s: float
    t_s: tuple[float, ...]
    acceleration: tuple[float, ...]
    jerk: tuple[float | None, ...]
    seams: tuple[SeamEntry, ...]
    rests: int
    figures: tuple[MotionFigure, ...]
