"""What the skills for fixtures share: look, let go of things, travel, work, leave, look again."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import numpy as np

from structrl_ros.sim.libero.expert import motion
from structrl_ros.sim.libero.expert import scene
from structrl_ros.sim.libero.expert.grasp_skill import travel_height
from structrl_ros.sim.libero.expert.motion import CLOSE
from structrl_ros.sim.libero.expert.motion import OPEN
from structrl_ros.sim.libero.expert.motion import Hand
from structrl_ros.sim.libero.expert.skill import PhasedSkill
from structrl_ros.sim.libero.expert.skill import Transit

if TYPE_CHECKING:
    from structrl_ros.types import Float32
    from structrl_ros.types import Float64

#: Corners of the hand in its own frame (m): fingers with their tips, and the palm's housing.
_CORNERS = np.array(
    [[x, y, 0.0092] for x in (-0.066, 0.066) for y in (-0.0105, 0.0105)]
    + [[x, y, z] for x in (-0.104, 0.104) for y in (-0.0316, 0.0316) for z in (-0.123, -0.031)]
)

#: Control steps that the hand takes to leave a fixture, at most.
LEAVING_STEPS = 9


def pointing(hand: Hand, approach: Float64, closing: Float64) -> Float64:
    """Return the rotation of a hand that points along `approach`, shape (3, 3).

    Of the two that differ by half a turn about `approach` (the fingers are alike), the one that is
    nearer to the hand now and keeps joint 7 inside its range.

    Args:
        hand: The hand now.
        approach: Direction out of the hand, a unit vector, shape (3,).
        closing: Direction along which the fingers close, shape (3,); only its part across
            `approach` counts.
    """
    across = closing - approach * float(closing @ approach)
    across = across / float(np.linalg.norm(across))
    options = [
        np.column_stack([s * across, np.cross(approach, s * across), approach])
        for s in (1.0, -1.0)
    ]
    return min(options, key=lambda option: _effort(hand, option))


def _effort(hand: Hand, rotation: Float64) -> float:
    """Return the rotation that is left (rad), plus a penalty if joint 7 would leave its range."""
    spin = motion.rotation_error(hand.rotation, rotation)
    wrist = float(hand.joints[6] + spin @ hand.rotation[:, 2])
    return float(np.linalg.norm(spin)) + 10.0 * max(0.0, abs(wrist) - motion.WRIST_LIMIT)


def depth_below(rotation: Float64) -> float:
    """Return how far the lowest corner of the hand is below the grip site (m)."""
    return float(-(_CORNERS @ rotation.T)[:, 2].min())


class FixtureSkill(PhasedSkill):
    """Move a joint of a fixture until a conjunct such as ('close', 'microwave_1') holds.

    A subclass plans in `_start` and works in its own phases, from `_arrived` on; it ends with
    `_go('leave')`.

    Attributes:
        conjunct: What has to become true.
        exit: Direction in which the hand leaves, shape (3,).
        fist: Whether the hand travels closed.
    """

    fist = True

    def __init__(self, conjunct: tuple[str, ...]) -> None:
        """Start by looking whether there is anything to do."""
        super().__init__('look')
        self.conjunct = conjunct
        self.name = conjunct[1]
        self.transit: Transit | None = None
        self.exit: Float64 = np.array([0.0, 0.0, 1.0])
        self.attempts = 0

    def _start(self, body: Any, hand: Hand) -> tuple[Float64, Float64]:
        """Return where the hand begins its work: grip site (m) and rotation."""
        raise NotImplementedError

    def _arrived(self, body: Any, hand: Hand) -> str:
        """Return the phase that begins the work."""
        raise NotImplementedError

    def _look(self, body: Any, hand: Hand) -> Float32 | None:
        """Decide what to do first."""
        if scene.is_true(body, self.conjunct):
            self._go('rest', 'it is done')
        elif scene.touched(body):
            self._go('free', f'letting go of {" and ".join(scene.touched(body))}')
        else:
            self._go('plan')
        return None

    def _free(self, body: Any, hand: Hand) -> Float32 | None:
        """Open on the spot until nothing touches the fingers, then rise a little."""
        if self.clock >= 4 and (self.clock >= 16 or not scene.touched(body)):
            self._go('plan')
            return None
        return motion.hold(hand, OPEN)

    def _plan(self, body: Any, hand: Hand) -> Float32 | None:
        """Plan the way to where the work begins."""
        self.attempts += 1
        position, rotation = self._start(body, hand)
        depth = max(depth_below(rotation), depth_below(hand.rotation))
        height = travel_height(body, hand, position, depth)
        self.transit = Transit(position, rotation, height)
        self._go('reach', f'attempt {self.attempts}')
        return None

    def _reach(self, body: Any, hand: Hand) -> Float32 | None:
        """Travel there."""
        assert self.transit is not None
        if self.transit.arrived(hand, 0.012) or self.transit.stalled():
            error = (hand.position - self.transit.position).round(3)
            self._go(self._arrived(body, hand), f'off by {error} after {self.clock} steps')
            return None
        return self.transit.action(hand, CLOSE if self.fist else OPEN)

    def _leave(self, body: Any, hand: Hand) -> Float32 | None:
        """Move away along `exit`, then look whether it is done."""
        if self.clock >= LEAVING_STEPS:
            self._go('look')
            return None
        return motion.servo(hand, hand.position + 0.06 * self.exit, hand.rotation, OPEN)

    def _rest(self, body: Any, hand: Hand) -> Float32 | None:
        """Hold the arm as long as it stays done."""
        self.finished = scene.is_true(body, self.conjunct)
        if not self.finished:
            self._go('look', 'it is not done any more')
            return None
        return motion.hold(hand, OPEN)
