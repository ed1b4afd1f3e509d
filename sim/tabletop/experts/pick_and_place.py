"""Take a thing, carry it over its place, let it go."""

from __future__ import annotations

import numpy as np

from structrl_ros.sim.tabletop.experts.motion import CLOSE
from structrl_ros.sim.tabletop.experts.motion import OPEN
from structrl_ros.sim.tabletop.experts.motion import TRAVEL
from structrl_ros.sim.tabletop.experts.motion import choose
from structrl_ros.sim.tabletop.experts.motion import funnel
from structrl_ros.sim.tabletop.experts.motion import near
from structrl_ros.sim.tabletop.experts.motion import straight
from structrl_ros.sim.tabletop.experts.motion import turn_to
from structrl_ros.sim.tabletop.task_data import Task
from structrl_ros.sim.tabletop.view import WorldView
from structrl_ros.types import Float64

#: Close the fingers when this near: metres aside and up, radians.
GRASP_ASIDE = 0.008
GRASP_UP = 0.008
GRASP_TURN = 0.10
#: Fingers that are this far shut go on closing with twice the tolerance.
CLOSING = 0.85
#: Let go when this near, and this far above the floor of the place.
RELEASE_ASIDE = 0.010
RELEASE_UP = 0.010
CLEARANCE = 0.010


def pick(view: WorldView, task: Task, slot: int) -> Float64:
    """Return the move that takes an object, shape (B, 5); a held one is lifted."""
    thing = task.objects[slot]
    off = view.objects[:, slot] - view.tcp
    turn = np.zeros(len(off))
    if thing.symmetry:
        turn = turn_to(view, view.object_yaws[:, slot], 2.0 * np.pi / thing.symmetry)
    here = near(off, turn)
    closing = view.opening < CLOSING
    ready = here.within(GRASP_ASIDE, GRASP_UP, GRASP_TURN)
    ready |= closing & here.within(2.0 * GRASP_ASIDE, 2.0 * GRASP_UP, 2.0 * GRASP_TURN)
    grip = np.where(ready | view.held[:, slot], CLOSE, OPEN)
    taking = straight(0.5 * off, 0.5 * turn, grip)
    up = np.zeros_like(off)
    up[:, 2] = np.maximum(TRAVEL - view.tcp[:, 2], 0.0)
    lifting = straight(up, 0.0 * turn, grip)
    move = choose(ready, taking, funnel(view, off, turn, grip))
    return choose(view.held[:, slot], lifting, move)


def pick_and_place(view: WorldView, task: Task, slot: int, fixture: int) -> Float64:
    """Return the move that brings an object to its place in a fixture, shape (B, 5)."""
    thing = task.objects[slot]
    cos, sin = np.cos(view.fixture_yaws[:, fixture]), np.sin(view.fixture_yaws[:, fixture])
    goal = view.places[:, fixture].copy()
    goal[:, 0] += cos * thing.place[0] - sin * thing.place[1]
    goal[:, 1] += sin * thing.place[0] + cos * thing.place[1]
    goal[:, 2] += thing.half_height + CLEARANCE
    return choose(view.held[:, slot], bring(view, slot, goal), pick(view, task, slot))


def put_down(view: WorldView, task: Task, slot: int) -> Float64:
    """Return the move that puts a held object where it usually lies at reset, shape (B, 5)."""
    thing = task.objects[slot]
    goal = np.empty((len(view.tcp), 3))
    goal[:, 0] = sum(thing.pose.x) / 2.0
    goal[:, 1] = sum(thing.pose.y) / 2.0
    goal[:, 2] = thing.pose.z + thing.half_height + CLEARANCE
    return bring(view, slot, goal)


def bring(view: WorldView, slot: int, goal: Float64) -> Float64:
    """Return the move that carries a held object's centre to a goal (B, 3) and lets it go."""
    off = goal - view.objects[:, slot]
    turn = np.zeros(len(off))
    ready = near(off, turn).within(RELEASE_ASIDE, RELEASE_UP)
    grip = np.where(ready, OPEN, CLOSE)
    return choose(ready, straight(0.0 * off, turn, grip), funnel(view, off, turn, grip))
