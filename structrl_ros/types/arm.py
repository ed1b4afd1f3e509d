"""State of an arm and whether it may move."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from structrl_ros.types.arrays import Float64


class SafetyState(IntEnum):
    """State of the body; anything but OK means that no chunk moves it."""

    OK = 0
    HOLD = 1
    STOPPED = 2
    EMERGENCY = 3

    @property
    def is_latched(self) -> bool:
        """Whether only an operator can end the state."""
        return self in (SafetyState.STOPPED, SafetyState.EMERGENCY)


@dataclass(frozen=True, slots=True)
class Safety:
    """Safety state of the body and why."""

    stamp_ns: int
    state: SafetyState
    reason: str


class ArmMode(IntEnum):
    """What an arm is doing, with the numbers of the Franka Control Interface."""

    OTHER = 0
    IDLE = 1
    MOVE = 2
    GUIDING = 3
    REFLEX = 4
    USER_STOPPED = 5
    RECOVERY = 6


@dataclass(frozen=True, slots=True)
class ArmState:
    """State of an arm of J joints, as its driver read it.

    `time_ns` is the arm's own clock. `position` and `velocity` are measured, `reference` is the
    commanded position, each (J,). `is_still`: nothing is commanded to move. `opening` is the
    distance between the fingers in metres. `wrench` is the external one at `ee` in the base
    frame, (6,), None where it is not known. `errors` are the arm's own names of what is wrong.
    """

    time_ns: int
    mode: ArmMode
    position: Float64
    velocity: Float64
    reference: Float64
    is_still: bool
    opening: float
    wrench: Float64 | None = None
    errors: tuple[str, ...] = ()
