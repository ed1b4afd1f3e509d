"""The expert of a task: what is to be done next in each lane, and the skill that does it."""

from __future__ import annotations

import numpy as np

from structrl_ros.sim.tabletop.experts.drawer import close_drawer
from structrl_ros.sim.tabletop.experts.drawer import open_drawer
from structrl_ros.sim.tabletop.experts.insert import insert
from structrl_ros.sim.tabletop.experts.lid import close_lid
from structrl_ros.sim.tabletop.experts.lid import open_lid
from structrl_ros.sim.tabletop.experts.motion import DIMENSION
from structrl_ros.sim.tabletop.experts.motion import OPEN
from structrl_ros.sim.tabletop.experts.pick_and_place import pick
from structrl_ros.sim.tabletop.experts.pick_and_place import pick_and_place
from structrl_ros.sim.tabletop.experts.pick_and_place import put_down
from structrl_ros.sim.tabletop.experts.press import press
from structrl_ros.sim.tabletop.experts.retreat import retreat
from structrl_ros.sim.tabletop.experts.turn_knob import turn_knob
from structrl_ros.sim.tabletop.task_data import Predicate
from structrl_ros.sim.tabletop.task_data import Task
from structrl_ros.sim.tabletop.view import WorldView
from structrl_ros.types import Float64
from structrl_ros.world_types import Bool
from structrl_ros.world_types import Int

#: Nothing is left to do.
NOTHING = -1


def expert_moves(view: WorldView, task: Task) -> Float64:
    """Return the wanted displacement of one control period (0.1 s) in every lane, shape (B, 5).

    dx, dy, dz in metres in the base frame, from the measured tool centre point; dyaw in radians;
    grip -1 (open) or +1 (close). At most `motion.STEP_M` and `motion.STEP_RAD` a step. A function
    of the view alone.
    """
    return moves_for(view, task, next_predicates(view, task))


def moves_for(view: WorldView, task: Task, wanted: Int) -> Float64:
    """Return the moves that make given predicates true, shape (B, 5).

    Args:
        view: Of the lanes.
        task: What is played.
        wanted: Index into `task.predicates` for each lane, or `NOTHING`, shape (B,).
    """
    moves = np.zeros((len(view.tcp), DIMENSION))
    moves[:, 4] = OPEN
    for index in np.unique(wanted):
        if index == NOTHING:
            continue
        rows = np.flatnonzero(wanted == index)
        some = view if len(rows) == len(wanted) else view.take(rows)
        moves[rows] = _skill(some, task, task.predicates[index])
    return retreat(view, task, wanted, moves)


def next_predicates(view: WorldView, task: Task) -> Int:
    """Return which predicate is pursued in each lane, as index into `task.predicates`, (B,).

    It is the first that is not done in the order of the stages; a thing in the fingers comes
    first, as long as it can be put in its place.
    """
    wanted = np.full(len(view.tcp), NOTHING, dtype=np.intp)
    names = task.predicate_names
    order = [names.index(name) for stage in task.stages for name in stage]
    for index in reversed(order):
        wanted[~_is_done(view, task, index)] = index
    for index, predicate in enumerate(task.predicates):
        if predicate.kind in ('in', 'on'):
            in_hand = view.held[:, predicate.target] & _is_accessible(view, task, predicate)
            wanted[in_hand] = index
    return wanted


def _is_done(view: WorldView, task: Task, index: int) -> Bool:
    """Return whether a predicate needs no more work, shape (B,).

    A grasp is part of the placing that follows; what was opened may be shut again once
    everything that belongs in it is in.
    """
    predicate = task.predicates[index]
    truth = view.truth[:, index]
    placings = [i for i, p in enumerate(task.predicates) if p.kind in ('in', 'on')]
    if predicate.kind == 'grasp':
        moved = {task.predicates[i].target for i in placings}
        return truth | (predicate.target in moved)
    if predicate.kind == 'open':
        done = view.reached[:, predicate.fixture].copy()
        for i in placings:
            if task.predicates[i].fixture == predicate.fixture:
                done &= view.truth[:, i]
        return truth | done
    return truth


def _is_accessible(view: WorldView, task: Task, placing: Predicate) -> Bool:
    """Return whether the place of a placing is not shut, shape (B,)."""
    fixture = task.fixtures[placing.fixture]
    if not fixture.has_lid or fixture.joint is None:
        return np.ones(len(view.tcp), dtype=np.bool_)
    return view.joints[:, placing.fixture] >= fixture.joint.done


def _skill(view: WorldView, task: Task, predicate: Predicate) -> Float64:
    """Return the moves of the skill that makes a predicate true, shape (B, 5)."""
    slot = predicate.fixture
    if predicate.kind == 'grasp':
        return pick(view, task, predicate.target)
    kind = task.fixtures[slot].kind
    if predicate.kind in ('in', 'on'):
        place = insert if kind == 'peg' else pick_and_place
        return place(view, task, predicate.target, slot)
    is_lid = kind == 'lidded_box'
    if predicate.kind == 'open':
        moves = open_lid(view, task, slot) if is_lid else open_drawer(view, task, slot)
    elif predicate.kind == 'close':
        moves = close_lid(view, task, slot) if is_lid else close_drawer(view, task, slot)
    elif predicate.kind == 'press':
        moves = press(view, task, slot)
    else:
        moves = turn_knob(view, task, slot)
    for thing in range(len(task.objects)):
        if view.held[:, thing].any():
            free = put_down(view, task, thing)
            moves = np.where(view.held[:, thing, None], free, moves)
    return moves
