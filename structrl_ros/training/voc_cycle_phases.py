"""Phases of look-alike cycles, and in which of them an operator edits an episode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from structrl_ros.progress.manipulation import Primitive
from structrl_ros.progress.manipulation import parse_manipulation
from structrl_ros.progress.operators import Edit
from structrl_ros.progress.operators import Operator
from structrl_ros.progress.operators import admitted_operators
from structrl_ros.progress.operators import plan_edit
from structrl_ros.sim.counterfactual.stage import Take
from structrl_ros.training.source_trajectory import Phase


def cycle_phases(takes: Sequence[Take], target: str) -> tuple[Phase, ...]:
    """Return the phase of each frame: putting the block on, or taking it off.

    Each begins where the one before has let go, after half of the frames up to the next contact,
    which are its release; after the last one all of them are.
    """
    held = [take.held == target for take in takes]
    phases: list[Phase] = []
    primitive = Primitive.PLACE_TRANSFER
    while len(phases) < len(held):
        i = len(phases)
        if held[i]:
            phases.append(Phase(primitive, target, False))
            continue
        contact = next((j for j in range(i, len(held)) if held[j]), len(held))
        released = 0
        if i:
            is_last = contact == len(held)
            released = contact - i if is_last else (contact - i + 1) // 2
        phases += [Phase(primitive, target, True)] * released
        if i and contact < len(held):
            is_on = primitive is Primitive.PLACE_TRANSFER
            primitive = Primitive.GRASP_LIFT if is_on else Primitive.PLACE_TRANSFER
        phases += [Phase(primitive, target, False)] * (contact - i - released)
    return tuple(phases)


def count_phases(phases: Sequence[Phase]) -> int:
    """Return how often the block is put on or taken off."""
    return 1 + sum(before.primitive != after.primitive for before, after in pairwise(phases))


def plan_cycle_edits(
    instruction: str, phases: Sequence[Phase], rng: np.random.Generator
) -> list[tuple[Edit, str]]:
    """Return every edit that the sentence admits, each in a phase that is drawn.

    By the paper's onset rule all failures would be in the first cycle; here each may be in any.
    It lasts to the end of its phase (single-segment restriction), then the source goes on.
    """
    parsed = parse_manipulation(instruction)
    active = [phase.primitive for phase in phases]
    released = [phase.is_release for phase in phases]
    starts = [i for i in range(len(active)) if i == 0 or active[i] != active[i - 1]]
    found = []
    for operator in admitted_operators(parsed):
        drawn = [int(i) for i in rng.permutation(starts)]
        plans = (plan_edit(operator, parsed, active, released, earliest=i) for i in [*drawn, 0])
        edit = next((plan for plan in plans if plan is not None), None)
        if edit is not None:
            if operator is Operator.EMPTY_GRASP:
                edit = _until_release(edit, released)
            found.append((edit, phases[edit.start].target if operator.is_negative else ''))
    return found


def _until_release(edit: Edit, released: Sequence[bool]) -> Edit:
    """End an empty grasp where the source lets go: the block lies at its place in both then."""
    stop = next((i for i in edit.frames if i > edit.start and released[i]), edit.stop)
    return replace(edit, stop=stop)
