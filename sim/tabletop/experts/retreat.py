"""Get the fingers off a handle before anything else, so that it is not dragged along."""

from __future__ import annotations

import numpy as np

from structrl_ros.sim.tabletop.experts.motion import OPEN
from structrl_ros.sim.tabletop.experts.motion import STEP_M
from structrl_ros.sim.tabletop.task_data import Task
from structrl_ros.sim.tabletop.view import WorldView
from structrl_ros.types import Float64
from structrl_ros.world_types import Int

#: The fingers are around a handle while the tool is this near: metres aside, and above it.
ASIDE = 0.05
ABOVE = 0.035
HANDLED = ('lidded_box', 'drawer', 'knob')


def retreat(view: WorldView, task: Task, wanted: Int, moves: Float64) -> Float64:
    """Return the moves (B, 5), straight up where empty fingers are around a handle not wanted.

    Args:
        view: Of the lanes.
        task: What is played.
        wanted: Predicate that is pursued, index into `task.predicates`, -1 for none, (B,).
        moves: What the skills want, (B, 5).
    """
    about = np.array([p.fixture for p in task.predicates] + [-1])
    uses = np.array([p.kind in ('open', 'close', 'turnon') for p in task.predicates] + [False])
    up = np.array([0.0, 0.0, STEP_M, 0.0, OPEN])
    empty = ~view.held.any(axis=1)
    for slot, fixture in enumerate(task.fixtures):
        if fixture.kind not in HANDLED:
            continue
        off = view.tcp - view.handles[:, slot]
        around = (off[:, 0] ** 2 + off[:, 1] ** 2 < ASIDE**2) & (off[:, 2] < ABOVE)
        is_wanted = (about[wanted] == slot) & uses[wanted]
        moves = np.where((around & empty & ~is_wanted)[:, None], up, moves)
    return moves
