"""Errors of the scene: things that fell off the table or over, progress that was lost again."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from structrl_ros.sim.events.event import Event
from structrl_ros.sim.events.event import runs
from structrl_ros.sim.events.grasping import goal_objects
from structrl_ros.sim.events.grasping import placed
from structrl_ros.sim.events.track import Track

#: A thing whose centre is lower than this is off the table, m.
OFF_TABLE_M = -0.02
#: A thing that leans by more than this lies, by less than the second stands again, rad.
LYING_RAD, STANDING_RAD = 0.8, 0.35


def falls(track: Track) -> Iterator[Event]:
    """Yield the things of the goal that left the table; nobody brings them back."""
    for slot in sorted(goal_objects(track)):
        off = np.flatnonzero(track.objects[:, slot, 2] < OFF_TABLE_M)
        if len(off):
            seen = int(off[0])
            name = track.task.objects[slot].name
            yield Event('fell_off_table', name, max(seen, 1), max(seen, 1), False, f'{name} fell')


def topples(track: Track) -> Iterator[Event]:
    """Yield the things of the goal that came to lie; standing again makes it good."""
    for slot in sorted(goal_objects(track)):
        thing = track.task.objects[slot]
        tilts = track.tilts[:, slot]
        if np.isnan(tilts).any():
            continue
        good = placed(track, slot)
        for begin, end in runs((tilts > LYING_RAD) & ~track.held[:, slot] & ~good):
            if not begin:
                continue
            later = bool((tilts[end:] < STANDING_RAD).any() or good[begin:].any())
            yield Event('knocked_over', thing.name, begin, begin, later, f'{thing.name} lies')


def losses(track: Track) -> Iterator[Event]:
    """Yield predicates that were true and became false while they were needed.

    Those of the goal are needed to the end; an opened box or drawer until all that belongs in it
    is. Shutting one too early loses it, opening it again makes that good.
    """
    task = track.task
    wanted = [i for i, p in enumerate(task.predicates) if p.name in task.goal]
    for column, predicate in enumerate(task.predicates):
        true = track.truth[:, column]
        is_goal = predicate.name in task.goal
        if predicate.kind == 'grasp' or (not is_goal and predicate.kind != 'open'):
            continue
        others = [i for i in wanted if i != column and task.predicates[i].kind != 'close']
        for _, end in runs(true):
            if end >= len(track):
                continue
            is_complete = bool(track.truth[end, others].all())
            # A box that is shut may be opened again for what is not in it yet; one that is full
            # may be shut.
            if is_complete != (predicate.kind == 'close') and predicate.kind in ('open', 'close'):
                continue
            later = bool(true[end:].any())
            name = predicate.name
            yield Event('lost_progress', name, end, end, later, f'{name} was lost')
