"""What every skill of the expert shares: phases, and travelling over whatever stands in the way.

A skill's memory is plain data (numbers, tuples, arrays), so that `copy.deepcopy` of it continues
the same motion in a twin of the world; the body is passed at every call and never kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from typing import Any
from typing import Protocol

import numpy as np

from structrl_ros.errors import SimulationError
from structrl_ros.sim.libero.expert import motion
from structrl_ros.sim.libero.expert.motion import Hand

if TYPE_CHECKING:
    from structrl_ros.types import Float32
    from structrl_ros.types import Float64


class Skill(Protocol):
    """A closed loop that does one subtask."""

    finished: bool

    def action(self, body: Any) -> Float32:
        """Return the action of the next control step (20 Hz), shape (7,), in [-1, 1]."""


class PhasedSkill:
    """A skill as a chain of phases.

    The method `_<phase>(body, hand)` returns an action, or None after it has set another phase
    with `_go`, which then acts in the same control step.

    Attributes:
        finished: Whether there is nothing left to do; actions then hold the arm.
        phase: Name of the phase.
        clock: Control steps spent in it.
        log: What happened, one line a change of phase (for people).
    """

    def __init__(self, first: str) -> None:
        """Start in a phase."""
        self.finished = False
        self.phase = first
        self.clock = 0
        self.steps = 0
        self.log: list[str] = []

    def _go(self, phase: str, note: str = '') -> None:
        """Change the phase."""
        self.log.append(f'{self.steps}: {self.phase} -> {phase} {note}'.rstrip())
        self.phase = phase
        self.clock = 0

    def action(self, body: Any) -> Float32:
        """Return the action of the next control step, shape (7,), in [-1, 1]."""
        hand = motion.read_hand(body)
        for _ in range(12):
            out = getattr(self, f'_{self.phase}')(body, hand)
            if out is not None:
                self.clock += 1
                self.steps += 1
                return np.clip(out, -1.0, 1.0).astype(np.float32)
        raise SimulationError(f'the expert goes in circles: {"; ".join(self.log[-6:])}')


@dataclass
class Transit:
    """A way of the hand to a pose: up to a safe height, across, and straight down.

    Attributes:
        position: Goal of the grip site (m), shape (3,).
        rotation: Goal of the hand frame, shape (3, 3).
        height: Height of the grip site at which nothing stands in the way (m).
        funnel: Horizontal distance to the goal at which the way down begins (m).
        idle: Control steps since the hand last moved.
        turn: Rotation that was left at the last step (rad).
    """

    position: Float64
    rotation: Float64
    height: float
    funnel: float = 0.03
    idle: int = 0
    turn: float = 0.0

    def distance(self, hand: Hand) -> float:
        """Return the distance to the goal (m); a rotation of 1 rad counts as 0.08 m."""
        turn = float(np.linalg.norm(motion.rotation_error(hand.rotation, self.rotation)))
        return max(float(np.linalg.norm(self.position - hand.position)), 0.08 * turn)

    def arrived(self, hand: Hand, tolerance: float = 0.005) -> bool:
        """Whether the hand is within `tolerance` (m) of the goal."""
        return self.distance(hand) < tolerance

    def stalled(self, patience: int = 8) -> bool:
        """Whether the hand has stood still for `patience` control steps."""
        return self.idle >= patience

    def action(self, hand: Hand, gripper: float, speed: float = 1.0) -> Float32:
        """Return the next action towards the goal; `speed` limits it, in (0, 1]."""
        flat = float(np.linalg.norm(self.position[:2] - hand.position[:2]))
        turn = float(np.linalg.norm(motion.rotation_error(hand.rotation, self.rotation)))
        away = max(flat, 0.08 * turn)
        roof = max(self.height, self.position[2])
        near = self.position[2] + 3.0 * max(0.0, away - 0.008)
        z = min(roof, near) if away < self.funnel else roof
        target = np.array([*self.position[:2], z])
        lag = roof - 0.005 - hand.position[2]
        if flat > 0.02 and lag > 0.0:
            stride = 0.05 * max(0.0, 1.0 - lag / 0.02)
            target[:2] = hand.position[:2] + stride * _unit(self.position[:2] - hand.position[:2])
        still = float(np.linalg.norm(hand.velocity)) < 0.012 and abs(turn - self.turn) < 0.01
        self.idle = self.idle + 1 if still else 0
        self.turn = turn
        return motion.servo(hand, target, self.rotation, gripper, speed=speed)


def _unit(vector: Float64) -> Float64:
    """Return the vector at length 1 (or zeros)."""
    return vector / max(float(np.linalg.norm(vector)), 1e-9)
