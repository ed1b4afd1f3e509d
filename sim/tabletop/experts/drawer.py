"""Pull a drawer out by its handle, and push it in again."""

from __future__ import annotations

from structrl_ros.sim.tabletop.experts.drag import drag
from structrl_ros.sim.tabletop.task_data import Task
from structrl_ros.sim.tabletop.view import WorldView
from structrl_ros.types import Float64

#: How far ahead of the drawer its handle is led, metres.
AHEAD = 0.04
#: A drawer that has left its stop by this is in hand.
LEFT = 0.008


def open_drawer(view: WorldView, task: Task, fixture: int) -> Float64:
    """Return the move that pulls a drawer out, shape (B, 5)."""
    return drag(view, task, fixture, AHEAD, view.joints[:, fixture] > LEFT)


def close_drawer(view: WorldView, task: Task, fixture: int) -> Float64:
    """Return the move that pushes a drawer in, shape (B, 5)."""
    joint = task.fixtures[fixture].joint
    assert joint is not None
    return drag(view, task, fixture, -AHEAD, view.joints[:, fixture] < joint.limit - LEFT)
