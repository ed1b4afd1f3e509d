"""Open a lid past vertical, so that it falls open; bring it back over, so that it falls shut."""

from __future__ import annotations

import numpy as np

from structrl_ros.sim.tabletop.experts.drag import drag
from structrl_ros.sim.tabletop.experts.motion import OPEN
from structrl_ros.sim.tabletop.experts.motion import TRAVEL
from structrl_ros.sim.tabletop.experts.motion import choose
from structrl_ros.sim.tabletop.experts.motion import straight
from structrl_ros.sim.tabletop.task_data import Task
from structrl_ros.sim.tabletop.view import WorldView
from structrl_ros.types import Float64

#: How far ahead of the lid the handle is led, radians.
AHEAD = 0.35
#: A lid that has left its stop by this is in hand.
LEFT = 0.10
#: Below this angle a lid falls shut by itself.
FALLS = 1.0
#: How far above the travelling height the fingers then wait, metres.
AWAY = 0.06


def open_lid(view: WorldView, task: Task, fixture: int) -> Float64:
    """Return the move that opens a lid, shape (B, 5)."""
    return drag(view, task, fixture, AHEAD, view.joints[:, fixture] > LEFT)


def close_lid(view: WorldView, task: Task, fixture: int) -> Float64:
    """Return the move that shuts a lid, shape (B, 5); from `FALLS` on it only gets away."""
    joint = task.fixtures[fixture].joint
    assert joint is not None
    angle = view.joints[:, fixture]
    lead = drag(view, task, fixture, -AHEAD, angle < joint.limit - LEFT)
    off = np.zeros_like(view.tcp)
    off[:, 2] = TRAVEL + AWAY - view.tcp[:, 2]
    return choose(angle < FALLS, straight(off, np.zeros(len(off)), OPEN), lead)
