"""Ids of subtasks over a whole task: a replan goes on counting where the last plan stopped.

'place(moka pot, stove)#2' is the second moka pot, whichever revision lists it. A new plan for what
is left names its steps from the start again; here they get the numbers that they have in the task,
so that grounding does not take the pot that already stands on the stove for the one in question.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable
from collections.abc import Sequence

from structrl_ros.types import Subtask


def renumber(subtasks: Sequence[Subtask], completed: Iterable[Subtask]) -> tuple[Subtask, ...]:
    """Return the steps of a new plan with ids that count on from those already done.

    A grasp is numbered by how often its thing was put or poured somewhere: one that has to be
    repeated, because the thing was dropped, is still about the same thing.

    Args:
        subtasks: Steps of the new plan, ids as `to_plan` gives them.
        completed: Steps of the task that were verified, in any revision.
    """
    done = list(completed)
    used = Counter(_base(s.id) for s in done if s.verb != 'grasp')
    for step in done:
        if step.verb in {'place', 'pour'}:
            used[f'grasp({step.arguments[0]})'] += 1
    numbered = []
    for step in subtasks:
        base = _base(step.id)
        used[base] += 1
        unique = base if used[base] == 1 else f'{base}#{used[base]}'
        numbered.append(dataclasses.replace(step, id=unique))
    return tuple(numbered)


def _base(identity: str) -> str:
    """Return the id without its number."""
    base, mark, number = identity.rpartition('#')
    return base if mark and number.isdecimal() else identity
