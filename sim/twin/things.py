"""Objects of the twin: gripped, carried, slipping, dropped, knocked about, lost."""

from __future__ import annotations

import numpy as np

from structrl_ros.sim.tabletop.geometry import wrap
from structrl_ros.sim.tabletop.task_data import FreeObject
from structrl_ros.sim.tabletop.task_data import Task
from structrl_ros.sim.twin.noise import Stream
from structrl_ros.sim.twin.noise import draw
from structrl_ros.sim.twin.settings import TwinSettings
from structrl_ros.sim.twin.state import NOTHING
from structrl_ros.sim.twin.state import TwinState
from structrl_ros.sim.twin.support import is_held_by_walls
from structrl_ros.sim.twin.support import support_height
from structrl_ros.types import Float64
from structrl_ros.world_types import Bool

#: Inner width of the open fingers, metres.
WIDTH = 0.08
#: What the fingers can hold: its centre this near across (along y of the hand), as a share of its
#: half extent there, and this near up, metres, and turned by less than this.
HOLD_ACROSS = 0.55
HOLD_UP = 0.020
HOLD_TURN = 0.30
#: Half of the thickness and of the breadth of a finger, and how far it reaches below the tool.
FINGER_HALF = 0.006
FINGER_BREADTH = 0.010
FINGER_BELOW = 0.008
#: A thing falls by this much in a step, metres.
FALL = 0.08
#: A thing dropped from higher than this jumps aside, by at most this much, metres.
SAFE_DROP = 0.04
JUMP = 0.06
#: A thing on which a finger lands jumps this far, from and to, metres.
LANDED = (0.015, 0.035)
#: A ball that is pushed rolls on by this share of the push.
ROLL = 0.3
#: Where a lost thing lies, out of reach.
LOST_XY = (0.2, 1.0)
#: Edge of the table that things can be pushed to.
TABLE_LOW = np.array([0.05, -0.9])
TABLE_HIGH = np.array([1.0, 0.9])


def in_hand_frame(state: TwinState, slot: int) -> tuple[Float64, Float64, Float64]:
    """Return an object seen from the hand: along the fingers' way, across, and up, each (B,)."""
    off = state.objects[:, slot] - state.tcp
    cos, sin = np.cos(state.yaw), np.sin(state.yaw)
    return cos * off[:, 0] + sin * off[:, 1], cos * off[:, 1] - sin * off[:, 0], off[:, 2]


def can_hold(state: TwinState, thing: FreeObject, slot: int) -> Bool:
    """Return whether shutting the fingers would hold an object, shape (B,)."""
    along, across, up = in_hand_frame(state, slot)
    holds = np.abs(along) < (WIDTH * state.opening - thing.size[0]) / 2.0 + FINGER_HALF
    holds &= (np.abs(across) < HOLD_ACROSS * thing.size[1] / 2.0) & (np.abs(up) < HOLD_UP)
    if thing.symmetry:
        turn = wrap(state.object_yaws[:, slot] - state.yaw, 2.0 * np.pi / thing.symmetry)
        holds &= np.abs(turn) < HOLD_TURN
    return holds & (state.opening * WIDTH >= thing.size[0] - 1e-9)


def centre_in_hand(
    state: TwinState, thing: FreeObject, slot: int, between: Bool, shut: Float64
) -> Bool:
    """Let shutting fingers bring what is between them to their middle; return what they take.

    Args:
        state: Before the fingers move.
        thing: The object.
        slot: Of the object.
        between: Lanes in which the fingers shut around it, (B,).
        shut: Opening that the fingers come to if nothing stops them, (B,).
    """
    along, _, _ = in_hand_frame(state, slot)
    room = np.maximum((WIDTH * shut - thing.size[0]) / 2.0, 0.0)
    push = np.where(between, np.clip(along, -room, room) - along, 0.0)
    state.objects[:, slot, 0] += np.cos(state.yaw) * push
    state.objects[:, slot, 1] += np.sin(state.yaw) * push
    taken = between & (WIDTH * shut <= thing.size[0])
    if thing.symmetry:
        turn = wrap(state.object_yaws[:, slot] - state.yaw, 2.0 * np.pi / thing.symmetry)
        state.object_yaws[:, slot] -= np.where(taken, turn, 0.0)
    state.in_hand = np.where(taken, slot, state.in_hand)
    return taken


def slip(state: TwinState, task: Task, settings: TwinSettings) -> None:
    """Let held things slip out, the more likely the nearer to the edge of the hold."""
    if settings.slip == 0.0:
        return
    for slot, thing in enumerate(task.objects):
        held = state.in_hand == slot
        if not held.any():
            continue
        _, across, up = in_hand_frame(state, slot)
        widest = HOLD_ACROSS * thing.size[1] / 2.0
        edge = np.maximum(np.abs(across) / widest, np.abs(up) / HOLD_UP)
        chance = settings.slip * np.clip(2.0 * edge - 1.0, 0.0, 1.0)
        rows = np.flatnonzero(held & (chance > 0.0))
        if len(rows):
            gone = draw(state, rows, Stream.SLIP) < chance[rows]
            state.in_hand[rows[gone]] = NOTHING


def drop(state: TwinState, task: Task, released: Bool) -> None:
    """Let go: what falls far jumps aside when it lands."""
    for slot in range(len(task.objects)):
        rows = np.flatnonzero(released & (state.in_hand == slot))
        if not len(rows):
            continue
        some = state.take(rows)
        at = some.objects[:, slot]
        height = at[:, 2] - support_height(some, task, slot, at)
        jump = np.clip(height - SAFE_DROP, 0.0, JUMP) * draw(state, rows, Stream.DROP_FAR)
        way = 2.0 * np.pi * draw(state, rows, Stream.DROP_WAY)
        state.objects[rows, slot, 0] += jump * np.cos(way)
        state.objects[rows, slot, 1] += jump * np.sin(way)
        state.in_hand[rows] = NOTHING


def knock(state: TwinState, task: Task, settings: TwinSettings, moved: Float64) -> None:
    """Push what the fingers run into, and throw aside what a finger lands on.

    Args:
        state: After the motion of the hand.
        task: What is played.
        settings: For the chance that a thing is lost.
        moved: Displacement of the hand in this step, shape (B, 3).
    """
    lowest = state.tcp[:, 2] - FINGER_BELOW
    for slot, thing in enumerate(task.objects):
        top = state.objects[:, slot, 2] + thing.half_height
        low = (lowest < top) & (state.in_hand != slot)
        if not low.any():
            continue
        along, across, _ = in_hand_frame(state, slot)
        finger = state.opening * WIDTH / 2.0 + FINGER_HALF
        touched = low & (np.abs(across) < thing.size[1] / 2.0 + FINGER_BREADTH)
        touched &= np.abs(np.abs(along) - finger) < thing.size[0] / 2.0 + FINGER_HALF
        touched &= ~can_hold(state, thing, slot)
        rows = np.flatnonzero(touched)
        if len(rows):
            was_above = (lowest - moved[:, 2] >= top)[rows]
            _throw(state.take(rows), state, task, slot, settings, rows, was_above, moved[rows])


def _throw(
    some: TwinState,
    state: TwinState,
    task: Task,
    slot: int,
    settings: TwinSettings,
    rows: np.ndarray,
    landed: Bool,
    moved: Float64,
) -> None:
    """Displace an object in some lanes of the state."""
    before = some.objects[:, slot]
    push = moved[:, :2] * (1.0 + (ROLL if task.objects[slot].shape == 'sphere' else 0.0))
    way = 2.0 * np.pi * draw(state, rows, Stream.KNOCK_WAY + slot)
    far = LANDED[0] + (LANDED[1] - LANDED[0]) * draw(state, rows, Stream.KNOCK_FAR + slot)
    jump = np.stack([far * np.cos(way), far * np.sin(way)], axis=1)
    after = before.copy()
    after[:, :2] += np.where(landed[:, None], jump, push)
    after[:, :2] = np.clip(after[:, :2], TABLE_LOW, TABLE_HIGH)
    stopped = is_held_by_walls(some, task, before, after)
    after = np.where(stopped[:, None], before, after)
    if settings.loss > 0.0:
        lost = (draw(state, rows, Stream.LOSS + slot) < settings.loss) & ~stopped
        after[:, :2] = np.where(lost[:, None], LOST_XY, after[:, :2])
    state.objects[rows, slot] = after


def fall(state: TwinState, task: Task) -> None:
    """Let all that is not held fall towards what carries it."""
    for slot in range(len(task.objects)):
        at = state.objects[:, slot]
        rest = support_height(state, task, slot, at)
        free = state.in_hand != slot
        fallen = np.maximum(at[:, 2] - FALL, np.minimum(rest, at[:, 2]))
        fallen = np.maximum(fallen, task.objects[slot].half_height)
        state.objects[:, slot, 2] = np.where(free, fallen, at[:, 2])
