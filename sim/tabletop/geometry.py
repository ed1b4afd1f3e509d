"""Handles, places and truth as functions of poses and joints: the same in every world."""

from __future__ import annotations

import numpy as np

from structrl_ros.sim.tabletop.task_data import Fixture
from structrl_ros.sim.tabletop.task_data import Predicate
from structrl_ros.sim.tabletop.task_data import Task
from structrl_ros.types import Float64
from structrl_ros.world_types import Bool


def wrap(angle: Float64, period: float) -> Float64:
    """Return the angle of the same direction in [-period / 2, period / 2]."""
    return angle - period * np.rint(angle / period)


def to_base(position: Float64, yaw: Float64, x: Float64, y: Float64, z: Float64) -> Float64:
    """Return points of a fixture's frame in the base frame, shape (B, 3).

    Args:
        position: Origin of the fixture, shape (B, 3).
        yaw: Of the fixture, shape (B,).
        x: Coordinates in its frame, each of shape (B,) or ().
        y: See x.
        z: See x.
    """
    cos, sin = np.cos(yaw), np.sin(yaw)
    point = np.empty_like(position)
    point[:, 0] = position[:, 0] + cos * x - sin * y
    point[:, 1] = position[:, 1] + sin * x + cos * y
    point[:, 2] = position[:, 2] + z
    return point


def to_local(position: Float64, yaw: Float64, point: Float64) -> tuple[Float64, Float64, Float64]:
    """Return a point of the base frame in a fixture's frame, as x, y, z of shape (B,)."""
    cos, sin = np.cos(yaw), np.sin(yaw)
    off = point - position
    return cos * off[:, 0] + sin * off[:, 1], cos * off[:, 1] - sin * off[:, 0], off[:, 2]


def handle_position(fixture: Fixture, position: Float64, yaw: Float64, joint: Float64) -> Float64:
    """Return where a fixture's handle is, shape (B, 3), or its origin if it has none.

    Args:
        fixture: With a handle or without.
        position: Of its origin, shape (B, 3).
        yaw: Shape (B,).
        joint: Value of its joint, shape (B,).
    """
    if fixture.handle is None:
        return position
    x, y, z = (np.asarray(v, dtype=np.float64) for v in fixture.handle.offset)
    if fixture.kind == 'lidded_box':
        x, z = lid_point(fixture, joint)
    elif fixture.kind == 'drawer':
        x = x - joint
    elif fixture.kind == 'button':
        z = z - joint
    return to_base(position, yaw, x, y, z)


def lid_point(fixture: Fixture, joint: Float64) -> tuple[Float64, Float64]:
    """Return x and z of a lid's handle in the frame of its box, each of shape (B,)."""
    assert fixture.joint is not None and fixture.joint.hinge is not None
    assert fixture.handle is not None
    hinge = fixture.joint.hinge
    out, up = fixture.handle.offset[0] - hinge[0], fixture.handle.offset[2] - hinge[2]
    cos, sin = np.cos(joint), np.sin(joint)
    return hinge[0] + out * cos + up * sin, hinge[2] + up * cos - out * sin


def handle_yaw(fixture: Fixture, yaw: Float64, joint: Float64) -> Float64:
    """Return the gripper's yaw at the handle, shape (B,); without a handle the fixture's."""
    turn = yaw if fixture.handle is None else yaw + fixture.handle.yaw
    return turn + joint if fixture.kind == 'knob' else turn


def place_position(fixture: Fixture, position: Float64, yaw: Float64, joint: Float64) -> Float64:
    """Return the place on the floor of a fixture's region, shape (B, 3), or its origin."""
    region = fixture.region
    if region is None:
        return position
    x = np.asarray(region.centre[0] + region.place[0], dtype=np.float64)
    y = np.asarray(region.centre[1] + region.place[1], dtype=np.float64)
    out = joint if fixture.kind == 'drawer' else np.asarray(0.0)
    return to_base(position, yaw, x - out, y, np.asarray(region.centre[2]))


def is_inside(
    fixture: Fixture, position: Float64, yaw: Float64, joint: Float64, point: Float64
) -> Bool:
    """Return whether points (B, 3) are in a fixture's region, shape (B,)."""
    region = fixture.region
    assert region is not None
    x, y, z = to_local(position, yaw, point)
    if fixture.kind == 'drawer':
        x = x + joint
    centre = region.centre
    inside = (np.abs(x - centre[0]) < region.half[0]) & (np.abs(y - centre[1]) < region.half[1])
    height = z - centre[2]
    inside &= (height < region.height) & (height > -0.02)
    return inside


def is_true(
    task: Task,
    predicate: Predicate,
    *,
    fixtures: Float64,
    fixture_yaws: Float64,
    joints: Float64,
    reached: Bool,
    objects: Float64,
    held: Bool,
) -> Bool:
    """Return whether a predicate holds, shape (B,); arrays as in `view.WorldView`.

    `close` counts only once the thing has been open in this episode, and a button that was
    pressed stays pressed; `in` and `on` need the fingers to have let go.
    """
    kind, slot = predicate.kind, predicate.fixture
    if kind == 'grasp':
        return held[:, predicate.target]
    fixture = task.fixtures[slot]
    joint = joints[:, slot]
    if kind in ('in', 'on'):
        point = objects[:, predicate.target]
        inside = is_inside(fixture, fixtures[:, slot], fixture_yaws[:, slot], joint, point)
        return inside & ~held[:, predicate.target]
    assert fixture.joint is not None
    if kind == 'press':
        return reached[:, slot]
    if kind == 'close':
        return reached[:, slot] & (joint <= fixture.joint.closed)
    return joint >= fixture.joint.done
