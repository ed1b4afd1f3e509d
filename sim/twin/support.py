"""On what a thing comes to rest in the twin, and which walls hold it."""

from __future__ import annotations

import numpy as np

from structrl_ros.sim.tabletop.geometry import to_local
from structrl_ros.sim.tabletop.geometry import wrap
from structrl_ros.sim.tabletop.task_data import Fixture
from structrl_ros.sim.tabletop.task_data import FreeObject
from structrl_ros.sim.tabletop.task_data import Task
from structrl_ros.sim.twin.state import TwinState
from structrl_ros.types import Float64
from structrl_ros.world_types import Bool

#: A lid that is more shut than this carries what is dropped on it, radians.
SHUT_RAD = 0.3
#: A block is on a peg if its yaw is this near to the peg's, radians.
PEG_TURN = 0.08
#: A thing whose underside is not lower than this under an edge comes from above, metres.
EDGE = 0.012


def support_height(state: TwinState, task: Task, slot: int, at: Float64) -> Float64:
    """Return the height at which an object's centre comes to rest below `at`, shape (B,).

    Args:
        state: Of the fixtures.
        task: What is played.
        slot: Of the object.
        at: Where its centre is, shape (B, 3).
    """
    thing = task.objects[slot]
    height = np.full(len(at), thing.half_height)
    for i, fixture in enumerate(task.fixtures):
        x, y, _ = to_local(state.fixtures[:, i], state.fixture_yaws[:, i], at)
        foot = at[:, 2] - thing.half_height
        if fixture.kind == 'peg':
            turn = state.object_yaws[:, slot] - state.fixture_yaws[:, i]
            own = _on_peg(fixture, thing, x, y, turn)
        elif fixture.kind in ('button', 'knob'):
            own = np.where(_is_within(x, y, fixture), fixture.size[2], 0.0)
        else:
            own = _in_container(fixture, x, y, foot, state.joints[:, i])
        height = np.maximum(height, own + thing.half_height)
    return height


def is_held_by_walls(state: TwinState, task: Task, before: Float64, after: Float64) -> Bool:
    """Return whether a wall or a peg stops a push of an object, shape (B,).

    Args:
        state: Of the fixtures.
        task: What is played.
        before: Centre of the object, shape (B, 3).
        after: Where the push would bring it, shape (B, 3).
    """
    stopped = np.zeros(len(before), dtype=np.bool_)
    for i, fixture in enumerate(task.fixtures):
        stands = state.fixtures[:, i], state.fixture_yaws[:, i]
        out = state.joints[:, i] if fixture.kind == 'drawer' else 0.0
        was = _is_walled(fixture, *to_local(*stands, before)[:2], out)
        now = _is_walled(fixture, *to_local(*stands, after)[:2], out)
        if fixture.kind == 'peg':
            stopped |= was | now
        else:
            stopped |= was != now
    return stopped


def _in_container(
    fixture: Fixture, x: Float64, y: Float64, foot: Float64, joint: Float64
) -> Float64:
    """Return the height of the floor, lid or roof below a thing, 0 for the table, shape (B,)."""
    region = fixture.region
    assert region is not None
    if fixture.kind == 'drawer':
        x_tray = x + joint
        inside = _is_in_region(fixture, x_tray, y)
        from_above = (foot >= fixture.size[2] - EDGE) & _is_within(x, y, fixture)
        return np.where(from_above, fixture.size[2], np.where(inside, region.centre[2], 0.0))
    inside = _is_in_region(fixture, x, y)
    floor = np.where(inside, region.centre[2], 0.0)
    if fixture.kind == 'lidded_box':
        assert fixture.joint is not None and fixture.joint.hinge is not None
        top = fixture.joint.hinge[2]
        on_lid = inside & (joint < SHUT_RAD) & (foot >= top - EDGE)
        floor = np.where(on_lid, top, floor)
    return floor


def _on_peg(peg: Fixture, thing: FreeObject, x: Float64, y: Float64, turn: Float64) -> Float64:
    """Return how far a peg holds up a block: not at all if it goes through the hole, (B,)."""
    assert peg.region is not None
    reach = (thing.size[0] + peg.size[0]) / 2.0
    over = (np.abs(x) < reach) & (np.abs(y) < reach)
    if thing.shape == 'ring':
        play = peg.region.half
        fits = (np.abs(x) < play[0]) & (np.abs(y) < play[1])
        over &= ~(fits & (np.abs(wrap(turn, np.pi / 2.0)) < PEG_TURN))
    return np.where(over, peg.size[2], 0.0)


def _is_in_region(fixture: Fixture, x: Float64, y: Float64) -> Bool:
    region = fixture.region
    assert region is not None
    near = np.abs(x - region.centre[0]) < region.half[0]
    near &= np.abs(y - region.centre[1]) < region.half[1]
    return near


def _is_walled(fixture: Fixture, x: Float64, y: Float64, out: Float64 | float) -> Bool:
    """Return whether a place is behind a fixture's walls, or touches its peg or post, (B,)."""
    if fixture.kind == 'drawer':
        return _is_in_region(fixture, x + out, y) | _is_within(x, y, fixture)
    if fixture.kind == 'peg':
        reach = fixture.size[0] / 2.0 + 0.025
        return (np.abs(x) < reach) & (np.abs(y) < reach)
    return _is_within(x, y, fixture)


def _is_within(x: Float64, y: Float64, fixture: Fixture) -> Bool:
    """Return whether a place is within the outline of a fixture, shape (B,)."""
    return (np.abs(x) < fixture.size[0] / 2.0) & (np.abs(y) < fixture.size[1] / 2.0)
