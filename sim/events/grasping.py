"""Errors of the hand: missed grasps, drops, things that were taken or put down wrongly."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from structrl_ros.sim.events.event import Event
from structrl_ros.sim.events.event import runs
from structrl_ros.sim.events.track import Track
from structrl_ros.world_types import Bool

#: A thing that rose by this much while it was held was lifted, m.
LIFTED_M = 0.02
#: A thing that came to rest this much below where it was let go fell, m.
FALL_M = 0.03
#: Fingers nearer than this to each other hold nothing, as share of wide open.
SHUT = 0.15
#: Fingers wider than this had been open.
OPEN = 0.35
#: A closing is meant for what is nearer than this to the tool, m.
REACH_M = 0.08
#: A thing moves while it is faster than this, m a moment.
AT_REST_M = 0.004
#: Share of a joint's range by which a handle that was missed must move to be had after all.
MOVED = 0.15


def goal_objects(track: Track) -> frozenset[int]:
    """Return the slots of the objects that the goal is about."""
    task = track.task
    return frozenset(task.bind(name).target for name in task.goal) - {-1}


def placed(track: Track, slot: int) -> Bool:
    """Return whether an object is where the goal wants it, (T,); False if it wants nothing."""
    task = track.task
    columns = [
        i
        for i, predicate in enumerate(task.predicates)
        if predicate.name in task.goal and predicate.target == slot
    ]
    return np.asarray(track.truth[:, columns].all(axis=1) & bool(columns), dtype=np.bool_)


def releases(track: Track) -> Iterator[Event]:
    """Yield what went wrong when the hand lost a thing: it slipped, fell, or lies elsewhere.

    Losing it is made good when it is held again, or lies where the goal wants it.
    """
    for slot, thing in enumerate(track.task.objects):
        where, good, name = track.objects[:, slot], placed(track, slot), thing.name
        is_wanted = slot in goal_objects(track)
        for begin, end in runs(track.held[:, slot]):
            is_lifted = bool((where[begin:end, 2] - where[max(begin - 1, 0), 2]).max() >= LIFTED_M)
            if not is_wanted and is_lifted:
                later = _holds_wanted(track, end)
                yield Event('wrong_object', name, begin, end - 1, later, f'{name} was taken')
            if end >= len(track) or not is_wanted:
                continue
            rest = _rest(where, end)
            if good[end : rest + track.brief + 1].any():
                continue
            later = bool(track.held[end + 1 :, slot].any() or good[end:].any())
            if not is_lifted:
                yield Event('missed_grasp', name, begin, end, later, f'{name} slipped')
            elif where[end - 1, 2] - where[rest, 2] > FALL_M:
                yield Event('dropped', name, end, rest, later, f'{name} fell')
            else:
                yield Event('misplaced', name, end, rest, later, f'{name} was put elsewhere')


def misses(track: Track) -> Iterator[Event]:
    """Yield the closings of the hand on nothing, near a thing or a handle that it should get.

    Having missed a thing is made good when it is held, a handle when its joint moves.
    """
    for end, until in runs(track.opening < SHUT):
        is_brief = until < len(track) and until - end < track.brief
        if is_brief or track.held[end:until].any():
            continue
        opened = np.flatnonzero(track.opening[:end] > OPEN)
        if not len(opened):
            continue
        begin = int(opened[-1]) + 1
        found = _meant(track, begin)
        if found is not None and not track.held[begin:end].any():
            name, later = found
            yield Event('missed_grasp', name, begin, end, later, f'the hand closed beside {name}')


def _meant(track: Track, moment: int) -> tuple[str, bool] | None:
    """Return what the hand closes for, and whether it gets it later; None if nothing is near."""
    task, tcp = track.task, track.tcp[moment]
    near: list[tuple[float, str, bool]] = []
    for slot in sorted(goal_objects(track)):
        if not placed(track, slot)[moment]:
            later = bool(track.held[moment + 1 :, slot].any())
            away = float(np.linalg.norm(track.objects[moment, slot] - tcp))
            near.append((away, task.objects[slot].name, later))
    for slot, fixture in enumerate(task.fixtures):
        if fixture.handle is not None and fixture.handle.grip:
            if _is_open(track, slot, moment):
                continue
            moves = np.abs(track.joints[moment:, slot] - track.joints[moment, slot])
            away = float(np.linalg.norm(track.handles[moment, slot] - tcp))
            near.append((away, fixture.name, bool((moves > MOVED).any())))
    away, name, later = min(near, default=(np.inf, '', False))
    return (name, later) if away < REACH_M else None


def _is_open(track: Track, slot: int, moment: int) -> bool:
    predicates = track.task.predicates
    opened = [i for i, p in enumerate(predicates) if (p.kind, p.fixture) == ('open', slot)]
    return bool(track.truth[moment, opened].any())


def _holds_wanted(track: Track, moment: int) -> bool:
    wanted = sorted(goal_objects(track))
    return bool(track.held[moment:, wanted].any())


def _rest(where: np.ndarray, moment: int) -> int:
    """Return the first moment from which on, for one moment, a thing stays where it is."""
    moves = np.linalg.norm(np.diff(where[moment:], axis=0), axis=1)
    still = np.flatnonzero(moves < AT_REST_M)
    return moment + (int(still[0]) if len(still) else len(moves))
