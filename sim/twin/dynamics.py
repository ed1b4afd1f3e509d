"""One control period of the twin: the hand moves, and the world follows."""

from __future__ import annotations

import numpy as np

from structrl_ros.sim.tabletop.task_data import Task
from structrl_ros.sim.twin.joints import ON_HANDLE
from structrl_ros.sim.twin.joints import button_floor
from structrl_ros.sim.twin.joints import hand_has
from structrl_ros.sim.twin.joints import is_led
from structrl_ros.sim.twin.joints import move_joints
from structrl_ros.sim.twin.noise import draw_normal
from structrl_ros.sim.twin.settings import TwinSettings
from structrl_ros.sim.twin.state import NOTHING
from structrl_ros.sim.twin.state import TwinState
from structrl_ros.sim.twin.support import support_height
from structrl_ros.sim.twin.things import WIDTH
from structrl_ros.sim.twin.things import can_hold
from structrl_ros.sim.twin.things import centre_in_hand
from structrl_ros.sim.twin.things import drop
from structrl_ros.sim.twin.things import fall
from structrl_ros.sim.twin.things import in_hand_frame
from structrl_ros.sim.twin.things import knock
from structrl_ros.sim.twin.things import slip
from structrl_ros.types import Float32
from structrl_ros.types import Float64
from structrl_ros.world_types import Bool

#: Seconds of a step, and the rate that follows.
PERIOD_S = 0.1
RATE_HZ = 10.0
#: Displacement of an action entry of 1 in one step, and the share of it that the arm follows.
TRANSLATION_M = 0.05
ROTATION_RAD = 0.5
FOLLOWING = 0.7
#: Reach of the tool centre point, metres, and of its yaw, radians.
REACH_LOW = np.array([0.25, -0.5, 0.008])
REACH_HIGH = np.array([0.75, 0.5, 0.5])
YAW_LIMIT = 2.2
#: Fingers move by this share of their way in a step.
FINGER_STEP = 0.34
#: Height that a held thing may be lifted by an edge that it is pushed against, metres.
STEP_UP = 0.004
#: Shut fingers push out what they have by its edge, this near across and up, by so much, metres.
SQUEEZED_ACROSS = 0.03
SQUEEZED_UP = 0.02
SQUEEZED = 0.008


def step(state: TwinState, task: Task, settings: TwinSettings, actions: Float32) -> None:
    """Advance all lanes by 0.1 s, in place.

    Args:
        state: Of lanes that all play the task.
        task: What is played.
        settings: How things go wrong.
        actions: `ee_delta_pose`, shape (B, 7); turns about x and y are ignored.
    """
    wish = np.clip(actions[:, [0, 1, 2, 5]].astype(np.float64), -1.0, 1.0)
    if settings.action_noise > 0.0:
        wish = np.clip(wish + settings.action_noise * draw_normal(state, 4), -1.0, 1.0)
    led = {
        slot: is_led(state, fixture, slot)
        for slot, fixture in enumerate(task.fixtures)
        if fixture.joint is not None
    }
    tcp, yaw = state.tcp, state.yaw
    aim = np.clip(tcp + FOLLOWING * TRANSLATION_M * wish[:, :3], REACH_LOW, REACH_HIGH)
    aim[:, 2] = np.maximum(aim[:, 2], button_floor(state, task, aim))
    state.yaw = np.clip(yaw + FOLLOWING * ROTATION_RAD * wish[:, 3], -YAW_LIMIT, YAW_LIMIT)
    _carry(state, task, aim, state.yaw - yaw)
    moved = aim - tcp
    state.tcp, state.velocity = aim, moved / PERIOD_S
    drawers = state.joints.copy()
    move_joints(state, task, settings, led=led, moved=moved, turned=state.yaw - yaw)
    _carry_along(state, task, drawers)
    knock(state, task, settings, moved)
    _push_bowls(state, task, moved)
    _move_fingers(state, task, np.sign(actions[:, 6].astype(np.float64)))
    slip(state, task, settings)
    fall(state, task)
    for slot, fixture in enumerate(task.fixtures):
        if fixture.joint is not None:
            state.reached[:, slot] |= state.joints[:, slot] >= fixture.joint.done
    state.step = state.step + 1


def _carry(state: TwinState, task: Task, aim: Float64, turned: Float64) -> None:
    """Move what is held with the hand; what it runs into stops or lifts the hand."""
    for slot in range(len(task.objects)):
        held = state.in_hand == slot
        if not held.any():
            continue
        at = state.objects[:, slot]
        off = at - state.tcp
        cos, sin = np.cos(turned), np.sin(turned)
        goal = aim.copy()
        goal[:, 0] += cos * off[:, 0] - sin * off[:, 1]
        goal[:, 1] += sin * off[:, 0] + cos * off[:, 1]
        goal[:, 2] += off[:, 2]
        state.object_yaws[:, slot] += np.where(held, turned, 0.0)
        rest = support_height(state, task, slot, goal)
        is_blocked = held & (at[:, 2] + STEP_UP < rest) & (goal[:, 2] < rest)
        goal[:, :2] = np.where(is_blocked[:, None], at[:, :2], goal[:, :2])
        aim[:, :2] = np.where(is_blocked[:, None], state.tcp[:, :2], aim[:, :2])
        rest = np.where(is_blocked, support_height(state, task, slot, goal), rest)
        lift = np.where(held, np.maximum(rest - goal[:, 2], 0.0), 0.0)
        aim[:, 2] += lift
        goal[:, 2] += lift
        state.objects[:, slot] = np.where(held[:, None], goal, at)


def _carry_along(state: TwinState, task: Task, before: Float64) -> None:
    """Let drawers take along what lies in them, and lids throw off what lies on them."""
    for i, fixture in enumerate(task.fixtures):
        region = fixture.region
        if not fixture.has_lid or region is None or fixture.joint is None:
            continue
        moved = state.joints[:, i] - before[:, i]
        yaw = state.fixture_yaws[:, i]
        cos, sin = np.cos(yaw), np.sin(yaw)
        for slot, thing in enumerate(task.objects):
            off = state.objects[:, slot] - state.fixtures[:, i]
            x, y = cos * off[:, 0] + sin * off[:, 1], cos * off[:, 1] - sin * off[:, 0]
            free = (state.in_hand != slot) & (np.abs(y - region.centre[1]) < region.half[1])
            out = before[:, i] if fixture.kind == 'drawer' else 0.0
            free &= np.abs(x + out - region.centre[0]) < region.half[0]
            foot = off[:, 2] - thing.half_height
            if fixture.kind == 'drawer':
                shift = np.where(free & (foot < region.height), -moved, 0.0)
            else:
                assert fixture.joint.hinge is not None
                is_thrown = free & (foot >= fixture.joint.hinge[2] - 1e-6) & (moved > 0.05)
                beyond = fixture.joint.hinge[0] + thing.size[0] + 0.01
                shift = np.where(is_thrown, beyond - x, 0.0)
            state.objects[:, slot, 0] += cos * shift
            state.objects[:, slot, 1] += sin * shift


def _push_bowls(state: TwinState, task: Task, moved: Float64) -> None:
    """Let the hand push free bowls whose rim it runs into, with what lies in them."""
    for i, bowl in enumerate(task.fixtures):
        if not bowl.free:
            continue
        off = state.tcp - state.fixtures[:, i]
        far = np.sqrt(off[:, 0] ** 2 + off[:, 1] ** 2)
        radius = bowl.size[0] / 2.0
        touched = (off[:, 2] < bowl.size[2]) & (np.abs(far - radius) < 0.012)
        if not touched.any():
            continue
        push = np.where(touched[:, None], moved[:, :2], 0.0)
        for slot in range(len(task.objects)):
            aside = state.objects[:, slot, :2] - state.fixtures[:, i, :2]
            inside = (aside[:, 0] ** 2 + aside[:, 1] ** 2 < radius**2) & (state.in_hand != slot)
            state.objects[:, slot, :2] += np.where(inside[:, None], push, 0.0)
        state.fixtures[:, i, :2] += push


def _move_fingers(state: TwinState, task: Task, sign: Float64) -> None:
    """Open or shut the fingers; they stop on what they hold."""
    state.command = np.where(sign == 0.0, state.command, sign)
    is_opening = state.command < 0.0
    drop(state, task, is_opening & (state.in_hand != NOTHING))
    wide = np.minimum(state.opening + FINGER_STEP, 1.0)
    shut = np.where(state.in_hand == NOTHING, state.opening - FINGER_STEP, state.opening)
    shut = np.maximum(shut, 0.0)
    for slot, fixture in enumerate(task.fixtures):
        if fixture.handle is not None and fixture.handle.grip and fixture.kind != 'button':
            on = hand_has(state, fixture, slot) & (state.opening >= ON_HANDLE)
            shut = np.where(on, np.maximum(shut, ON_HANDLE), shut)
    for slot, thing in enumerate(task.objects):
        width = thing.size[0] / WIDTH
        is_empty = ~is_opening & (state.in_hand == NOTHING)
        if is_empty.any():
            between = is_empty & can_hold(state, thing, slot)
            if between.any():
                taken = centre_in_hand(state, thing, slot, between, shut)
                shut = np.where(taken, width, shut)
        _squeeze_out(state, slot, width, ~is_opening & (shut < width))
    state.opening = np.where(is_opening, wide, shut)


def _squeeze_out(state: TwinState, slot: int, width: float, is_shut: Bool) -> None:
    """Push out what shut fingers have only by its edge."""
    up = np.abs(state.objects[:, slot, 2] - state.tcp[:, 2])
    rows = np.flatnonzero(is_shut & (state.in_hand != slot) & (up < SQUEEZED_UP))
    if not len(rows):
        return
    some = state.take(rows)
    along, across, _ = in_hand_frame(some, slot)
    edge = (np.abs(along) < width * WIDTH / 2.0) & (np.abs(across) < SQUEEZED_ACROSS)
    push = np.where(edge, np.sign(across) * SQUEEZED, 0.0)
    state.objects[rows, slot, 0] -= np.sin(some.yaw) * push
    state.objects[rows, slot, 1] += np.cos(some.yaw) * push
