"""The skill `grasp [mug]` by the handle, with a hand that leans back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from typing import Any

import numpy as np

from structrl_ros.sim.libero.expert import motion
from structrl_ros.sim.libero.expert import scene
from structrl_ros.sim.libero.expert.articulated_pose import depth_below
from structrl_ros.sim.libero.expert.articulated_pose import pointing
from structrl_ros.sim.libero.expert.grasp_skill import GraspSkill
from structrl_ros.sim.libero.expert.grasp_skill import travel_height
from structrl_ros.sim.libero.expert.grasping import Grasp
from structrl_ros.sim.libero.expert.motion import OPEN
from structrl_ros.sim.libero.expert.skill import Transit

if TYPE_CHECKING:
    from structrl_ros.sim.libero.expert.motion import Hand
    from structrl_ros.types import Float32
    from structrl_ros.types import Float64

_UP = np.array([0.0, 0.0, 1.0])

#: The hand points this far (rad) from straight down towards the mug.
LEAN = 1.13
#: How far from the outer end of the handle the grip site is (m).
GRIP_DEPTH = 0.005
#: Control steps to the handle, at most; a hand that stands still this near (m) goes straight on.
REACHING_STEPS = 100
STRAIGHT_ON = 0.08


@dataclass(frozen=True, slots=True)
class MugHandle:
    """The handle of a mug.

    Attributes:
        grip: Where to close the fingers (m), shape (3,).
        inwards: Horizontal direction from the handle to the mug's middle, shape (3,).
    """

    grip: Float64
    inwards: Float64


def find_handle(points: Float64) -> MugHandle:
    """Find the handle of an upright mug from its surface.

    The rim is round and the handle is below it: what lies further out than the rim's radius.

    Args:
        points: Surface points of the mug (m), shape (N, 3).
    """
    low, high = float(points[:, 2].min()), float(points[:, 2].max())
    rim = points[points[:, 2] > high - 0.1 * (high - low)][:, :2]
    middle = 0.5 * (rim.min(axis=0) + rim.max(axis=0))
    radius = float(np.median(np.linalg.norm(rim - middle, axis=1)))
    away = np.linalg.norm(points[:, :2] - middle, axis=1)
    handle = points[away > radius + 0.6 * (float(away.max()) - radius)]
    out = handle[:, :2].mean(axis=0) - middle
    out = out / float(np.linalg.norm(out))
    end = float(((handle[:, :2] - middle) @ out).max()) - GRIP_DEPTH
    height = 0.5 * float(handle[:, 2].min() + handle[:, 2].max())
    return MugHandle(np.array([*(middle + end * out), height]), np.array([*-out, 0.0]))


def leaning(hand: Hand, towards: Float64) -> Float64:
    """Return the rotation of a hand that leans back and points at a mug, fingers level."""
    approach = np.sin(LEAN) * towards - np.cos(LEAN) * _UP
    return pointing(hand, approach, np.cross(_UP, towards))


class HandleGraspSkill(GraspSkill):
    """Grasp a mug by its handle.

    Args:
        name: Name of the mug in the simulator.
    """

    def _plan(self, body: Any, hand: Hand) -> Float32 | None:
        """Plan the way to the handle; each failed attempt goes a little lower."""
        handle = find_handle(scene.surface(body, self.name))
        position = handle.grip - 0.006 * (len(self.tried) % 3) * _UP
        rotation = leaning(hand, handle.inwards)
        depth = max(depth_below(rotation), depth_below(hand.rotation))
        height = travel_height(body, hand, position, depth)
        self.grasp = Grasp(position, motion.yaw_of(rotation), 0.0, 0.0)
        self.transit = Transit(position, rotation, height)
        self.seen = scene.pose(body, self.name)[0]
        self._go('reach', f'handle at {handle.grip.round(3)}')
        return None

    def _reach(self, body: Any, hand: Hand) -> Float32 | None:
        """Travel to the handle; a hand that stands still near it goes straight on."""
        assert self.transit is not None
        away = self.transit.distance(hand)
        if self.transit.stalled() and 0.005 < away < STRAIGHT_ON and self.clock < REACHING_STEPS:
            return motion.servo(hand, self.transit.position, self.transit.rotation, OPEN)
        return super()._reach(body, hand)
