"""Where everything stands at reset: drawn from (seed, initial state), the same in every world."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from structrl_ros.sim.tabletop.counter_noise import UInt64
from structrl_ros.sim.tabletop.counter_noise import check_start
from structrl_ros.sim.tabletop.counter_noise import lane_keys
from structrl_ros.sim.tabletop.counter_noise import uniforms
from structrl_ros.sim.tabletop.task_data import FIXTURE_SLOTS
from structrl_ros.sim.tabletop.task_data import OBJECT_SLOTS
from structrl_ros.sim.tabletop.task_data import Pose
from structrl_ros.sim.tabletop.task_data import Range
from structrl_ros.sim.tabletop.task_data import Task
from structrl_ros.types import Float64

#: Counters below this are the layout's; a world draws its own noise from here on.
FIRST_FREE_COUNTER = 1024
_NUMBERS_A_THING = 4


@dataclass(frozen=True, slots=True)
class Layout:
    """Poses at reset of B episodes of one task; slots that the task has not are zero.

    Attributes:
        keys: Of the episodes' random numbers, shape (B,); counters from `FIRST_FREE_COUNTER` on
            are unused here.
        tcp: The gripper's tool centre point, shape (B, 3).
        yaw: Its yaw, shape (B,).
        fixtures: Origins of the fixtures, shape (B, FIXTURE_SLOTS, 3), and their yaws.
        objects: Centres of the objects, shape (B, OBJECT_SLOTS, 3), and their yaws.
    """

    keys: UInt64
    tcp: Float64
    yaw: Float64
    fixtures: Float64
    fixture_yaws: Float64
    objects: Float64
    object_yaws: Float64


def draw_layout(task: Task, starts: Sequence[tuple[int, int]]) -> Layout:
    """Return where everything stands in episodes (seed, initial state) of a task.

    Raises:
        SimulationError: If a seed or an initial state is negative or too large.
    """
    for seed, initial_state in starts:
        check_start(seed, initial_state)
    pairs = np.array(starts, dtype=np.int64).reshape(-1, 2)
    keys = lane_keys(pairs[:, 0], pairs[:, 1])
    batch = len(keys)
    start = task.start
    arm = [_between(keys, i, r) for i, r in enumerate((start.x, start.y, start.z, start.yaw))]
    fixtures = np.zeros((batch, FIXTURE_SLOTS, 3))
    fixture_yaws = np.zeros((batch, FIXTURE_SLOTS))
    objects = np.zeros((batch, OBJECT_SLOTS, 3))
    object_yaws = np.zeros((batch, OBJECT_SLOTS))
    for slot, fixture in enumerate(task.fixtures):
        fixtures[:, slot], fixture_yaws[:, slot] = _draw(keys, 1 + slot, fixture.pose)
    for slot, thing in enumerate(task.objects):
        objects[:, slot], object_yaws[:, slot] = _draw(keys, 1 + FIXTURE_SLOTS + slot, thing.pose)
        objects[:, slot, 2] += thing.half_height
    return Layout(
        keys=keys,
        tcp=np.stack(arm[:3], axis=1),
        yaw=arm[3],
        fixtures=fixtures,
        fixture_yaws=fixture_yaws,
        objects=objects,
        object_yaws=object_yaws,
    )


def _draw(keys: UInt64, thing: int, pose: Pose) -> tuple[Float64, Float64]:
    """Return positions, shape (B, 3), and yaws, shape (B,)."""
    first = thing * _NUMBERS_A_THING
    x, y, yaw = (_between(keys, first + i, r) for i, r in enumerate((pose.x, pose.y, pose.yaw)))
    return np.stack([x, y, np.full(len(keys), pose.z)], axis=1), yaw


def _between(keys: UInt64, counter: int, limits: Range) -> Float64:
    return limits[0] + (limits[1] - limits[0]) * uniforms(keys, counter)
