"""Grip a knob and turn it."""

from __future__ import annotations

import numpy as np

from structrl_ros.sim.tabletop.experts.motion import CLOSE
from structrl_ros.sim.tabletop.experts.motion import OPEN
from structrl_ros.sim.tabletop.experts.motion import choose
from structrl_ros.sim.tabletop.experts.motion import funnel
from structrl_ros.sim.tabletop.experts.motion import near
from structrl_ros.sim.tabletop.experts.motion import straight
from structrl_ros.sim.tabletop.experts.motion import turn_to
from structrl_ros.sim.tabletop.task_data import Task
from structrl_ros.sim.tabletop.view import WorldView
from structrl_ros.types import Float64

#: Close the fingers when this near: metres aside and up, radians; go on while twice as near.
ASIDE = 0.008
UP = 0.008
TURN = 0.10
#: Fingers that have begun to close, and fingers that hold the knob.
CLOSING = 0.85
GRIPPED = 0.6
#: Turn of one step, radians.
AHEAD = 0.25


def turn_knob(view: WorldView, task: Task, fixture: int) -> Float64:
    """Return the move that turns a knob on, shape (B, 5)."""
    del task
    off = view.handles[:, fixture] - view.tcp
    turn = turn_to(view, view.handle_yaws[:, fixture], np.pi)
    here = near(off, turn)
    ready = here.within(ASIDE, UP, TURN)
    ready |= (view.opening < CLOSING) & here.within(2.0 * ASIDE, 2.0 * UP, 3.0 * TURN)
    grip = np.where(ready, CLOSE, OPEN)
    holding = straight(0.5 * off, turn, grip)
    turning = straight(0.5 * off, turn + AHEAD, grip)
    move = choose(ready, holding, funnel(view, off, turn, grip))
    return choose(ready & (view.opening < GRIPPED), turning, move)
