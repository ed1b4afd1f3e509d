"""The skills `close [drawer]` and `open [drawer]`: push the handle in, or grip it and pull."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import numpy as np

from structrl_ros.sim.libero.expert import motion
from structrl_ros.sim.libero.expert import scene
from structrl_ros.sim.libero.expert.articulated_joints import read_drawer
from structrl_ros.sim.libero.expert.articulated_pose import pointing
from structrl_ros.sim.libero.expert.articulated_skill import FixtureSkill
from structrl_ros.sim.libero.expert.articulated_stow import lies_about
from structrl_ros.sim.libero.expert.articulated_stow import lies_low
from structrl_ros.sim.libero.expert.motion import CLOSE
from structrl_ros.sim.libero.expert.motion import OPEN
from structrl_ros.sim.libero.expert.motion import Hand

if TYPE_CHECKING:
    from structrl_ros.types import Float32
    from structrl_ros.types import Float64

_UP = np.array([0.0, 0.0, 1.0])

#: The pushing hand leans back by this angle (rad) to keep its palm off the handles above.
PUSH_LEAN = 0.7
#: Room in front of the handle where the hand comes down, and the commanded offset into it (m).
STANDOFF = 0.06
PRESS = 0.05
#: A pulling hand points at the cabinet; this far from horizontal (rad).
PULL_LEAN = 0.0
#: Half the width of the hand (m).
HALF_HAND = 0.104
#: LIBERO calls a drawer open below -0.14 m; its stop is at -0.16 m.
OPEN_TRAVEL = -0.15
WORKING_STEPS = 70


class CloseDrawerSkill(FixtureSkill):
    """Push a drawer shut with the closed hand against its handle.

    Args:
        conjunct: ('close', drawer region), for example 'white_cabinet_1_bottom_region'.
    """

    def _start(self, body: Any, hand: Hand) -> tuple[Float64, Float64]:
        """In front of the handle, fingers down, palm leaning away from the cabinet."""
        drawer = read_drawer(body, self.name)
        self.exit = 0.8 * drawer.out + 0.6 * _UP
        position = drawer.handle + (drawer.thickness + STANDOFF) * drawer.out
        return position, self._rotation(drawer.out, drawer.side, hand)

    def _undone(self, body: Any) -> tuple[str, ...]:
        """Return the placement of what the hand holds, or of what would jam the drawer."""
        for goal in scene.goals(body):
            here = goal[0] == 'in' and goal[2] == self.name
            if here and lies_about(body, goal) and not lies_low(body, goal):
                return goal
        return super()._undone(body)

    def _arrived(self, body: Any, hand: Hand) -> str:
        """Push, unless something has come into the way."""
        return 'look' if self._undone(body) else 'push'

    def _push(self, body: Any, hand: Hand) -> Float32 | None:
        """Press against the handle, wherever it is by now."""
        drawer = read_drawer(body, self.name)
        done = scene.is_true(body, self.conjunct)
        if (done and self.clock and drawer.travel > 0.001) or self.clock >= WORKING_STEPS:
            self._go('leave', f'travel {drawer.travel:.4f}')
            return None
        target = drawer.handle + (drawer.thickness - PRESS) * drawer.out
        return motion.servo(hand, target, self._rotation(drawer.out, drawer.side, hand), CLOSE)

    def _rotation(self, out: Float64, side: Float64, hand: Hand) -> Float64:
        approach = -np.sin(PUSH_LEAN) * out - np.cos(PUSH_LEAN) * _UP
        return pointing(hand, approach, side)


def has_room_below(body: Any, name: str) -> bool:
    """Whether a hand on its side fits over the table before the handle of a drawer."""
    drawer = read_drawer(body, name)
    spot = drawer.handle + STANDOFF * drawer.out
    slabs = scene.slabs(body)
    under = np.all((slabs[:, 0, :2] < spot[:2]) & (slabs[:, 1, :2] > spot[:2]), axis=1)
    tops = slabs[under & (slabs[:, 0, 2] < spot[2]), 1, 2]
    return float(tops.max(initial=-np.inf)) < spot[2] - HALF_HAND


class OpenDrawerSkill(FixtureSkill):
    """Grip the handle of a drawer from the front and pull.

    Args:
        conjunct: ('open', drawer region).
    """

    fist = False

    def _start(self, body: Any, hand: Hand) -> tuple[Float64, Float64]:
        """In front of the handle, pointing at it, one finger above and one below."""
        drawer = read_drawer(body, self.name)
        self.exit = drawer.out
        position = drawer.handle + STANDOFF * drawer.out
        return position, self._rotation(drawer.out, hand)

    def _arrived(self, body: Any, hand: Hand) -> str:
        """Move the fingers around the bar."""
        return 'advance'

    def _advance(self, body: Any, hand: Hand) -> Float32 | None:
        """Straight ahead until the bar is between the pads."""
        drawer = read_drawer(body, self.name)
        off = float(np.linalg.norm(hand.position - drawer.handle))
        if off < 0.006 or self.clock >= 30:
            self._go('grip', f'off by {(hand.position - drawer.handle).round(3)}')
            return None
        rotation = self._rotation(drawer.out, hand)
        return motion.servo(hand, drawer.handle, rotation, OPEN, speed=0.6)

    def _grip(self, body: Any, hand: Hand) -> Float32 | None:
        """Close until the fingers stand still."""
        if self.clock >= 14 or (self.clock >= 4 and abs(hand.opening_rate) < 0.01):
            self._go('pull', f'opening {hand.opening:.3f}')
            return None
        drawer = read_drawer(body, self.name)
        return motion.servo(hand, drawer.handle, self._rotation(drawer.out, hand), CLOSE)

    def _pull(self, body: Any, hand: Hand) -> Float32 | None:
        """Pull straight back."""
        drawer = read_drawer(body, self.name)
        slipped = float((hand.position - drawer.handle) @ drawer.out) > 0.03
        if drawer.travel < OPEN_TRAVEL or slipped or self.clock >= WORKING_STEPS:
            self._go('release', f'travel {drawer.travel:.4f}, slipped {slipped}')
            return None
        target = drawer.handle + PRESS * drawer.out
        return motion.servo(hand, target, self._rotation(drawer.out, hand), CLOSE)

    def _release(self, body: Any, hand: Hand) -> Float32 | None:
        """Open on the spot."""
        if self.clock >= 5:
            self._go('leave')
            return None
        return motion.hold(hand, OPEN)

    def _rotation(self, out: Float64, hand: Hand) -> Float64:
        approach = -np.cos(PULL_LEAN) * out - np.sin(PULL_LEAN) * _UP
        return pointing(hand, approach, _UP)
