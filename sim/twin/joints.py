"""Lids, drawers, buttons and knobs of the twin: what the hand leads, what falls, what springs."""

from __future__ import annotations

import numpy as np

from structrl_ros.sim.tabletop.geometry import handle_position
from structrl_ros.sim.tabletop.geometry import handle_yaw
from structrl_ros.sim.tabletop.geometry import to_local
from structrl_ros.sim.tabletop.geometry import wrap
from structrl_ros.sim.tabletop.task_data import Fixture
from structrl_ros.sim.tabletop.task_data import Task
from structrl_ros.sim.twin.noise import Stream
from structrl_ros.sim.twin.noise import draw
from structrl_ros.sim.twin.settings import TwinSettings
from structrl_ros.sim.twin.state import NOTHING
from structrl_ros.sim.twin.state import TwinState
from structrl_ros.types import Float64
from structrl_ros.world_types import Bool

#: A hand this near to a handle has it: metres along the fingers' way, across it (along a bar) and
#: up, radians about z.
HAS_ALONG = 0.026
HAS_ACROSS = 0.030
HAS_UP = 0.020
HAS_TURN = 0.5
#: From here to this far from it, the handle slips more and more, metres.
SAFE = 0.020
GONE = 0.045
#: Opening of fingers that are shut on a handle, and the widest that still leads it.
ON_HANDLE = 0.25
LEADS = 0.6
#: A lid that is let go beyond this falls open (it was in motion), else shut, radians.
TIPS_RAD = 1.3
#: A lid falls by this much in a step, radians, and can be led no faster.
FALL_RAD = 0.35
LED_RAD = 0.5
#: Radius of a button's top, metres.
BUTTON_RADIUS = 0.02


def hand_has(state: TwinState, fixture: Fixture, slot: int) -> Bool:
    """Return whether the hand is at a handle and could lead it, shape (B,)."""
    stands = state.fixtures[:, slot], state.fixture_yaws[:, slot], state.joints[:, slot]
    handle = handle_position(fixture, *stands)
    along, across, up = to_local(state.tcp, state.yaw, handle)
    turn = np.abs(wrap(handle_yaw(fixture, *stands[1:]) - state.yaw, np.pi))
    near = (np.abs(along) < HAS_ALONG) & (np.abs(across) < HAS_ACROSS) & (np.abs(up) < HAS_UP)
    return near & (turn < HAS_TURN) & (state.in_hand == NOTHING)


def is_led(state: TwinState, fixture: Fixture, slot: int) -> Bool:
    """Return whether the hand leads a handle: at it, and shut on it where it must be gripped."""
    at = hand_has(state, fixture, slot)
    if fixture.handle is not None and fixture.handle.grip:
        at &= state.opening < LEADS
    return at


def button_floor(state: TwinState, task: Task, tcp: Float64) -> Float64:
    """Return the lowest height of the hand over buttons, shape (B,)."""
    floor = np.zeros(len(tcp))
    for slot, fixture in enumerate(task.fixtures):
        if fixture.kind == 'button' and fixture.joint is not None:
            top = _button_top(state, fixture, slot)
            over = _is_over(top, tcp)
            floor = np.where(over, top[:, 2] - fixture.joint.limit, floor)
    return floor


def move_joints(
    state: TwinState,
    task: Task,
    settings: TwinSettings,
    *,
    led: dict[int, Bool],
    moved: Float64,
    turned: Float64,
) -> None:
    """Bring all joints to where the hand's motion of this step brings them.

    Args:
        state: After the motion of the hand; joints as before.
        task: What is played.
        settings: For the chance to slip off a handle.
        led: For each fixture with a joint, whether the hand led it before the motion, (B,).
        moved: Displacement of the hand, (B, 3).
        turned: Of the hand about z, (B,).
    """
    for slot, fixture in enumerate(task.fixtures):
        joint = fixture.joint
        if joint is None:
            continue
        value = state.joints[:, slot]
        if fixture.kind == 'button':
            top = _button_top(state, fixture, slot)
            depth = np.where(_is_over(top, state.tcp), top[:, 2] - state.tcp[:, 2], 0.0)
            state.joints[:, slot] = np.clip(depth, 0.0, joint.limit)
            continue
        rest = value
        if fixture.kind == 'lidded_box':
            lead = _lid_angle(state, fixture, slot)
            lead = value + np.clip(lead - value, -LED_RAD, LED_RAD)
            rest = value + np.where(value < TIPS_RAD, -FALL_RAD, FALL_RAD)
        elif fixture.kind == 'drawer':
            yaw = state.fixture_yaws[:, slot]
            lead = value - np.cos(yaw) * moved[:, 0] - np.sin(yaw) * moved[:, 1]
        else:
            lead = value + turned
        lead = np.clip(lead, 0.0, joint.limit)
        held = led[slot] & _keeps(state, fixture, slot, lead, settings)
        state.joints[:, slot] = np.where(held, lead, np.clip(rest, 0.0, joint.limit))


def _keeps(
    state: TwinState, fixture: Fixture, slot: int, lead: Float64, settings: TwinSettings
) -> Bool:
    """Return whether the hand keeps a handle that it leads to a joint value, shape (B,)."""
    stands = state.fixtures[:, slot], state.fixture_yaws[:, slot]
    off = handle_position(fixture, *stands, lead) - state.tcp
    far = np.sqrt(off[:, 0] ** 2 + off[:, 1] ** 2 + off[:, 2] ** 2)
    keeps = far < GONE
    chance = settings.slip * np.clip((far - SAFE) / (GONE - SAFE), 0.0, 1.0)
    rows = np.flatnonzero(keeps & (chance > 0.0))
    if len(rows):
        keeps[rows] = draw(state, rows, Stream.HANDLE + slot) >= chance[rows]
    return keeps


def _lid_angle(state: TwinState, fixture: Fixture, slot: int) -> Float64:
    """Return the angle of a lid whose handle is where the hand is, shape (B,)."""
    assert fixture.joint is not None and fixture.joint.hinge is not None
    assert fixture.handle is not None
    hinge = fixture.joint.hinge
    out, up = hinge[0] - fixture.handle.offset[0], fixture.handle.offset[2] - hinge[2]
    x, _, z = to_local(state.fixtures[:, slot], state.fixture_yaws[:, slot], state.tcp)
    angle = np.arctan2(z - hinge[2], hinge[0] - x) - np.arctan2(up, out)
    return np.where(angle < -np.pi / 2.0, angle + 2.0 * np.pi, angle)


def _button_top(state: TwinState, fixture: Fixture, slot: int) -> Float64:
    """Return the top of a button that is not pressed, shape (B, 3)."""
    free = np.zeros(len(state))
    return handle_position(fixture, state.fixtures[:, slot], state.fixture_yaws[:, slot], free)


def _is_over(top: Float64, tcp: Float64) -> Bool:
    off = tcp - top
    return off[:, 0] ** 2 + off[:, 1] ** 2 < BUTTON_RADIUS**2
