"""What a badly calibrated camera would tell of the scene: everything but the arm is displaced.

A good behaviour-cloned policy starts badly under it, which is what practice is measured on.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from structrl_ros.sim.tabletop.task_data import FIXTURE_SLOTS
from structrl_ros.sim.tabletop.task_data import OBJECT_SLOTS
from structrl_ros.sim.tabletop.task_data import Task
from structrl_ros.sim.tabletop.view import WorldView
from structrl_ros.types import Float64

#: Direction of the usual calibration offset: an offset of c metres is c times this.
DIRECTION = (1.0, -0.7, 0.0)
_GOLDEN_ANGLE = np.pi * (3.0 - np.sqrt(5.0))


def perceive(view: WorldView, task: Task, offset: Float64) -> WorldView:
    """Return the view as it is perceived: truth, joints and flags as they are, places displaced.

    Args:
        view: The scene as it is.
        task: What is played.
        offset: Metres in the base frame: shape (3,) for everything, or
            (FIXTURE_SLOTS + OBJECT_SLOTS, 3), first of the fixtures, then of the objects.
    """
    each = np.broadcast_to(offset, (FIXTURE_SLOTS + OBJECT_SLOTS, 3))
    fixtures = np.zeros((FIXTURE_SLOTS, 3))
    fixtures[: len(task.fixtures)] = each[: len(task.fixtures)]
    objects = np.zeros((OBJECT_SLOTS, 3))
    objects[: len(task.objects)] = each[FIXTURE_SLOTS : FIXTURE_SLOTS + len(task.objects)]
    return dataclasses.replace(
        view,
        fixtures=view.fixtures + fixtures,
        handles=view.handles + fixtures,
        places=view.places + fixtures,
        objects=view.objects + objects,
    )


def perceived_offset(shared_m: float, apart_m: float = 0.0) -> Float64:
    """Return the offset of every slot, shape (FIXTURE_SLOTS + OBJECT_SLOTS, 3).

    Args:
        shared_m: All of them are displaced by this much times `DIRECTION`.
        apart_m: Each is displaced by this much in a direction of its own, level with the table.
    """
    turns = _GOLDEN_ANGLE * np.arange(FIXTURE_SLOTS + OBJECT_SLOTS)
    own = np.stack([np.cos(turns), np.sin(turns), np.zeros_like(turns)], axis=1)
    return np.asarray(shared_m * np.array(DIRECTION) + apart_m * own, dtype=np.float64)
