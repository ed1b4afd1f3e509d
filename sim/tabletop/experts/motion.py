"""How the experts move: a funnel over the goal, from anywhere, without a memory.

Far from the goal the gripper rises to a travelling height and moves sideways the more of that
height it has; near it, the height falls with the distance aside. So a thing is met from above.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from structrl_ros.sim.tabletop.geometry import wrap
from structrl_ros.sim.tabletop.view import WorldView
from structrl_ros.types import Float32
from structrl_ros.types import Float64
from structrl_ros.world_types import Bool

#: Largest displacement in a control period that `ee_delta_pose` can express.
STEP_M = 0.05
STEP_RAD = 0.5
#: Entries of a wanted move.
DIMENSION = 5
OPEN, CLOSE = -1.0, 1.0
#: Height of the tool centre point on the way, metres above the table.
TRAVEL = 0.24
#: Metres of height above the goal for each metre aside, and how far aside is still on top of it.
SLOPE = 2.5
ON_TOP = 0.006
#: This much below the wanted height the gripper moves aside freely; a little more, and not at all.
FREE_BELOW = 0.02
STOPPED_BELOW = 0.08


@dataclass(frozen=True, slots=True)
class Nearness:
    """How far a point is from where it should be: metres aside and up, radians about z, (B,)."""

    aside: Float64
    up: Float64
    turn: Float64

    def within(self, aside: float, up: float, turn: float = np.inf) -> Bool:
        """Return whether all are below these limits, shape (B,)."""
        return (self.aside < aside) & (np.abs(self.up) < up) & (np.abs(self.turn) < turn)


def turn_to(view: WorldView, yaw: Float64, period: float) -> Float64:
    """Return the shortest turn to a yaw or one that is as good, radians, shape (B,)."""
    return wrap(yaw - view.yaw, period)


def near(off: Float64, turn: Float64) -> Nearness:
    """Return the nearness of an offset (B, 3) and a turn (B,)."""
    return Nearness(np.sqrt(off[:, 0] ** 2 + off[:, 1] ** 2), off[:, 2], turn)


def funnel(
    view: WorldView,
    off: Float64,
    turn: Float64,
    grip: Float64 | float,
    *,
    travel: float = TRAVEL,
    keep_above: Float64 | float = 0.0,
) -> Float64:
    """Return the move that brings a point from above to where it should be, shape (B, 5).

    Args:
        view: Of the lanes.
        off: From the point that is steered (the tool, or a thing in it) to its goal, (B, 3).
        turn: Still to make about z, (B,).
        grip: -1 opens, +1 closes.
        travel: Height of the tool on the way, metres.
        keep_above: Least height above the goal for now, metres.
    """
    aside = np.sqrt(off[:, 0] ** 2 + off[:, 1] ** 2)
    room = np.maximum(travel - view.tcp[:, 2] - off[:, 2], 0.0)
    above = np.minimum(np.maximum((aside - ON_TOP) * SLOPE, keep_above), room)
    rise = off[:, 2] + above
    share = (STOPPED_BELOW - rise) / (STOPPED_BELOW - FREE_BELOW)
    share = np.clip(share, 0.0, 1.0) * STEP_M / np.maximum(aside, STEP_M)
    move = np.empty((len(rise), DIMENSION))
    move[:, 0] = off[:, 0] * share
    move[:, 1] = off[:, 1] * share
    move[:, 2] = np.clip(rise, -STEP_M, STEP_M)
    move[:, 3] = np.clip(turn, -STEP_RAD, STEP_RAD)
    move[:, 4] = grip
    return move


def straight(off: Float64, turn: Float64, grip: Float64 | float) -> Float64:
    """Return the move straight to a goal, at most a step long, shape (B, 5)."""
    length = np.sqrt(off[:, 0] ** 2 + off[:, 1] ** 2 + off[:, 2] ** 2)
    move = np.empty((len(off), DIMENSION))
    move[:, :3] = off * (STEP_M / np.maximum(length, STEP_M))[:, None]
    move[:, 3] = np.clip(turn, -STEP_RAD, STEP_RAD)
    move[:, 4] = grip
    return move


def choose(mask: Bool, first: Float64, second: Float64) -> Float64:
    """Return the rows of `first` where the mask is set, else those of `second`."""
    return np.where(mask[:, None], first, second)


def to_body(moves: Float64) -> Float32:
    """Return moves (B, 5) in metres and radians as `ee_delta_pose` actions, shape (B, 7)."""
    actions = np.zeros((len(moves), 7), dtype=np.float32)
    actions[:, :3] = moves[:, :3] / STEP_M
    actions[:, 5] = moves[:, 3] / STEP_RAD
    actions[:, 6] = moves[:, 4]
    return np.clip(actions, -1.0, 1.0)
