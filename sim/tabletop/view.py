"""`WorldView`: what both worlds tell of B episodes of one task, as arrays."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from structrl_ros.sim.tabletop.geometry import handle_position
from structrl_ros.sim.tabletop.geometry import handle_yaw
from structrl_ros.sim.tabletop.geometry import is_true
from structrl_ros.sim.tabletop.geometry import place_position
from structrl_ros.sim.tabletop.task_data import FIXTURE_SLOTS
from structrl_ros.sim.tabletop.task_data import Task
from structrl_ros.types import Float64
from structrl_ros.world_types import Bool
from structrl_ros.world_types import Int


@dataclass(frozen=True, slots=True)
class WorldView:
    """The state of B episodes, lanes first, in the base frame; elapsed time is not part of it.

    With F = `FIXTURE_SLOTS`, O = `OBJECT_SLOTS` and N the predicates of the task. Slots that the
    task does not use are zero.

    Attributes:
        tcp: Measured tool centre point, metres, (B, 3).
        velocity: Of the tool centre point, m/s, (B, 3).
        yaw: Of the gripper, radians, (B,).
        opening: Of the fingers, 0 (shut) to 1 (wide open), (B,).
        fixtures: Origins of the fixtures, (B, F, 3).
        fixture_yaws: (B, F).
        joints: Values of their joints, (B, F).
        reached: Whether a joint has been at its `done` in this episode, (B, F).
        handles: Where the handles are now, (B, F, 3).
        handle_yaws: The gripper's yaw there, (B, F).
        places: Where on the floor of each region things are let go, (B, F, 3).
        objects: Centres of the objects, (B, O, 3).
        object_yaws: (B, O).
        held: Whether the fingers hold the object, (B, O).
        truth: Of `task.predicates` at this very moment, (B, N).
    """

    tcp: Float64
    velocity: Float64
    yaw: Float64
    opening: Float64
    fixtures: Float64
    fixture_yaws: Float64
    joints: Float64
    reached: Bool
    handles: Float64
    handle_yaws: Float64
    places: Float64
    objects: Float64
    object_yaws: Float64
    held: Bool
    truth: Bool

    def take(self, rows: Int) -> WorldView:
        """Return the view of some lanes."""
        values = (getattr(self, f.name)[rows] for f in dataclasses.fields(self))
        return WorldView(*values)


def make_view(
    task: Task,
    *,
    tcp: Float64,
    velocity: Float64,
    yaw: Float64,
    opening: Float64,
    fixtures: Float64,
    fixture_yaws: Float64,
    joints: Float64,
    reached: Bool,
    objects: Float64,
    object_yaws: Float64,
    held: Bool,
) -> WorldView:
    """Return the view with what follows from the given: handles, places and truth."""
    batch = len(tcp)
    handles = np.zeros((batch, FIXTURE_SLOTS, 3))
    handle_yaws = np.zeros((batch, FIXTURE_SLOTS))
    places = np.zeros((batch, FIXTURE_SLOTS, 3))
    for slot, fixture in enumerate(task.fixtures):
        stands = fixtures[:, slot], fixture_yaws[:, slot], joints[:, slot]
        handles[:, slot] = handle_position(fixture, *stands)
        handle_yaws[:, slot] = handle_yaw(fixture, *stands[1:])
        places[:, slot] = place_position(fixture, *stands)
    truth = truth_of(
        task,
        fixtures=fixtures,
        fixture_yaws=fixture_yaws,
        joints=joints,
        reached=reached,
        objects=objects,
        held=held,
    )
    return WorldView(
        tcp=tcp,
        velocity=velocity,
        yaw=yaw,
        opening=opening,
        fixtures=fixtures,
        fixture_yaws=fixture_yaws,
        joints=joints,
        reached=reached,
        handles=handles,
        handle_yaws=handle_yaws,
        places=places,
        objects=objects,
        object_yaws=object_yaws,
        held=held,
        truth=truth,
    )


def truth_of(
    task: Task,
    *,
    fixtures: Float64,
    fixture_yaws: Float64,
    joints: Float64,
    reached: Bool,
    objects: Float64,
    held: Bool,
) -> Bool:
    """Return which predicates of a task hold, shape (B, N); arrays as in `WorldView`."""
    truth = np.zeros((len(fixtures), len(task.predicates)), dtype=np.bool_)
    for i, predicate in enumerate(task.predicates):
        truth[:, i] = is_true(
            task,
            predicate,
            fixtures=fixtures,
            fixture_yaws=fixture_yaws,
            joints=joints,
            reached=reached,
            objects=objects,
            held=held,
        )
    return truth


def has_succeeded(task: Task, truth: Bool) -> Bool:
    """Return whether every goal predicate holds, shape (B,)."""
    goal = [task.predicate_names.index(name) for name in task.goal]
    return np.asarray(truth[:, goal].all(axis=1), dtype=np.bool_)
