"""Press a button from above with shut fingers."""

from __future__ import annotations

import numpy as np

from structrl_ros.sim.tabletop.experts.motion import CLOSE
from structrl_ros.sim.tabletop.experts.motion import funnel
from structrl_ros.sim.tabletop.task_data import Task
from structrl_ros.sim.tabletop.view import WorldView
from structrl_ros.types import Float64

#: The goal lies this far below the button's top, so that it is really pressed.
BELOW = 0.02


def press(view: WorldView, task: Task, fixture: int) -> Float64:
    """Return the move that presses a button, shape (B, 5)."""
    del task
    off = view.handles[:, fixture] - view.tcp
    off[:, 2] -= BELOW
    return funnel(view, off, np.zeros(len(off)), CLOSE)
