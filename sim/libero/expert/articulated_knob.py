"""The skills `turn on [stove]` and `turn off [stove]`: grip the knob's bar and twist it."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import numpy as np

from structrl_ros.sim.libero.expert import motion
from structrl_ros.sim.libero.expert.articulated_joints import read_knob
from structrl_ros.sim.libero.expert.articulated_pose import pointing
from structrl_ros.sim.libero.expert.articulated_skill import FixtureSkill
from structrl_ros.sim.libero.expert.grasping import TIP
from structrl_ros.sim.libero.expert.motion import CLOSE
from structrl_ros.sim.libero.expert.motion import OPEN
from structrl_ros.sim.libero.expert.motion import Hand

if TYPE_CHECKING:
    from structrl_ros.sim.libero.expert.articulated_joints import Knob
    from structrl_ros.types import Float32
    from structrl_ros.types import Float64

#: LIBERO calls a stove on from 0.5 rad and off below 0 rad; the knob keeps turning when let go.
ON_ANGLE = 0.65
OFF_ANGLE = -0.003

#: The commanded turn ahead of the bar (rad), and control steps before the grip is renewed.
LEAD = 0.5
TURNING_STEPS = 60

#: Nearer to the base than this (m) the arm is folded: a hand that leans outwards has more room.
NEAR = 0.38
LEAN = 0.3

#: The finger tips stay this far below the bar's upper edge (m).
GRIP_DEPTH = 0.028


class KnobSkill(FixtureSkill):
    """Turn the knob of a stove.

    The knob has the inertia of a heavy disc (1 kg m^2) and its contacts a large torsional
    friction, so that a finger that pushes the bar from one side locks it; two fingers that turn
    with it do not.

    Args:
        conjunct: ('turnon', stove) or ('turnoff', stove).
    """

    fist = False

    def __init__(self, conjunct: tuple[str, ...]) -> None:
        """Choose the sense of rotation."""
        super().__init__(conjunct)
        self.sense = 1.0 if conjunct[0] == 'turnon' else -1.0

    def _start(self, body: Any, hand: Hand) -> tuple[Float64, Float64]:
        """Over the bar, fingers on both its sides."""
        knob = read_knob(body, self.name)
        return self._grip_site(knob), self._grip_rotation(knob, hand, 0.0)

    def _arrived(self, body: Any, hand: Hand) -> str:
        """Close on the bar."""
        return 'grip'

    def _grip(self, body: Any, hand: Hand) -> Float32 | None:
        """Close until the fingers stand still."""
        if self.clock >= 14 or (self.clock >= 4 and abs(hand.opening_rate) < 0.01):
            self._go('turn', f'opening {hand.opening:.3f}')
            return None
        knob = read_knob(body, self.name)
        return motion.servo(
            hand, self._grip_site(knob), self._grip_rotation(knob, hand, 0.0), CLOSE
        )

    def _turn(self, body: Any, hand: Hand) -> Float32 | None:
        """Twist ahead of the bar."""
        knob = read_knob(body, self.name)
        turned = knob.angle > ON_ANGLE if self.sense > 0.0 else knob.angle < OFF_ANGLE
        if turned or self.clock >= TURNING_STEPS:
            self._go('release', f'angle {knob.angle:.3f}')
            return None
        ahead = self._grip_rotation(knob, hand, self.sense * LEAD)
        return motion.servo(hand, self._grip_site(knob), ahead, CLOSE, turn=1.0)

    def _release(self, body: Any, hand: Hand) -> Float32 | None:
        """Open on the spot."""
        if self.clock >= 5:
            self._go('leave')
            return None
        return motion.hold(hand, OPEN)

    def _grip_site(self, knob: Knob) -> Float64:
        return np.array([knob.grip[0], knob.grip[1], knob.top - GRIP_DEPTH + TIP])

    def _grip_rotation(self, knob: Knob, hand: Hand, ahead: float) -> Float64:
        """Return the hand's rotation across the bar, `ahead` of it about the vertical (rad)."""
        away = knob.axis[:2] - hand.base[:2]
        lean = LEAN if float(np.linalg.norm(away)) < NEAR else 0.0
        out = np.array([*away, 0.0]) / float(np.linalg.norm(away))
        approach = -np.sin(lean) * out - np.cos(lean) * np.array([0.0, 0.0, 1.0])
        across = np.array([-knob.bar[1], knob.bar[0], 0.0])
        base = pointing(hand, approach, across)
        c, s = np.cos(ahead), np.sin(ahead)
        return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]) @ base
