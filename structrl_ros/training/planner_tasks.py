"""Which questions of the training split a run trains on, and which it only measures on.

A task is a plan in a scene, or the demonstration that completion pictures are of. Tasks are held
out whole: however its sentence is put, no plan that is measured was trained on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from structrl_ros.errors import ParameterError
from structrl_ros.training.leap_rows import LeapRow
from structrl_ros.training.planner_settings import PlannerSettings


@dataclass(frozen=True, slots=True)
class TaskSplit:
    """Rows by what they are for."""

    training: tuple[LeapRow, ...]
    held_out: tuple[LeapRow, ...]


def split_tasks(rows: Sequence[LeapRow], settings: PlannerSettings) -> TaskSplit:
    """Return the rows that are trained on, and those of held-out tasks.

    Tasks of each kind are shuffled by `split_seed`; the first share is held out, the rest is two
    halves. The draw does not depend on `part`, so two runs with one seed have disjoint halves.

    Raises:
        ParameterError: If no row is left to train on.
    """
    known = [row for row in rows if row.kind in settings.kinds]
    training: set[tuple[str, ...]] = set()
    held_out: set[tuple[str, ...]] = set()
    for kind in settings.kinds:
        tasks = sorted({_task(row) for row in known if row.kind == kind})
        order = np.random.default_rng([settings.split_seed, *kind.encode()]).permutation(
            len(tasks)
        )
        shuffled = [tasks[i] for i in order.tolist()]
        count = round(settings.held_out * len(tasks))
        held_out.update(shuffled[:count])
        rest = shuffled[count:]
        middle = (len(rest) + 1) // 2
        parts = {'all': rest, 'first': rest[:middle], 'second': rest[middle:]}
        training.update(parts[settings.part])
    chosen = tuple(row for row in known if _task(row) in training)
    if not chosen:
        raise ParameterError(
            f'no question of {", ".join(settings.kinds)} is left to train on in the '
            f'{settings.part} part; allowed: a larger set, or a smaller held_out'
        )
    return TaskSplit(chosen, tuple(row for row in known if _task(row) in held_out))


def _task(row: LeapRow) -> tuple[str, ...]:
    if row.kind == 'completion':
        return (row.kind, row.episode)
    return (row.kind, row.scene, *row.plan)
