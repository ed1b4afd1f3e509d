"""The skill `close [microwave]`: push the door around its hinge with the closed hand."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import numpy as np

from structrl_ros.sim.libero.expert import motion
from structrl_ros.sim.libero.expert import scene
from structrl_ros.sim.libero.expert.articulated_joints import read_door
from structrl_ros.sim.libero.expert.articulated_pose import pointing
from structrl_ros.sim.libero.expert.articulated_skill import FixtureSkill
from structrl_ros.sim.libero.expert.motion import CLOSE
from structrl_ros.sim.libero.expert.motion import Hand

if TYPE_CHECKING:
    from structrl_ros.sim.libero.expert.articulated_joints import Door
    from structrl_ros.types import Float32
    from structrl_ros.types import Float64

_DOWN = np.array([0.0, 0.0, -1.0])

#: Where the hand pushes, from the panel's middle (m): towards the free edge, and up.
OUTWARDS = 0.05
UPWARDS = 0.03
#: Room before the panel where the hand comes down, and the commanded offset into it (m).
STANDOFF = 0.09
PRESS = 0.02
WORKING_STEPS = 100


class CloseDoorSkill(FixtureSkill):
    """Push a door shut from its outer side.

    Args:
        conjunct: ('close', fixture), for example 'microwave_1'.
    """

    def _start(self, body: Any, hand: Hand) -> tuple[Float64, Float64]:
        """Before the panel's outer face, hand down, its flat side to the panel."""
        door = read_door(body, self.name)
        return self._spot(door, -STANDOFF), pointing(hand, _DOWN, door.along)

    def _arrived(self, body: Any, hand: Hand) -> str:
        """Push."""
        return 'push'

    def _push(self, body: Any, hand: Hand) -> Float32 | None:
        """Press against the panel, turning with it."""
        door = read_door(body, self.name)
        self.exit = -door.closing
        done = scene.is_true(body, self.conjunct)
        if (done and self.clock) or self.clock >= WORKING_STEPS:
            self._go('leave', f'angle {door.angle:.4f}')
            return None
        rotation = pointing(hand, _DOWN, door.along)
        return motion.servo(hand, self._spot(door, PRESS), rotation, CLOSE, turn=1.0)

    def _spot(self, door: Door, depth: float) -> Float64:
        """Return the point of the panel to push at, moved by `depth` (m) in closing direction."""
        return door.panel + OUTWARDS * door.along + depth * door.closing - UPWARDS * _DOWN
