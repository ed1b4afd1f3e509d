"""Abstract instructions in the closed loop: what satisfies them, and why an episode failed.

REVER (Section IV-C, Table I and Fig. 8) counts whole tasks and subtasks, and puts failures in four
groups:

    cause        when
    perception   the plan is wrong about a thing that the planner saw wrongly, or the monitor's
                 verdict was not the truth
    reasoning    the plan is wrong, or refused, about things that were seen as they are
    control      the plan is right and every verdict was true, and the arm did not do it
    other        no plan that can be read, a planner that is down, a body that broke

The paper's authors looked at every episode; here the record decides. Where several hold, the first
of other, plan, verdicts, control is the cause, in the order in which they happen.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass

from structrl_ros.errors import ParameterError

CAUSES = ('perception', 'reasoning', 'control', 'other')

#: How a planner answered: a plan, a refusal, text that nobody can read, or not at all.
ANSWERS = ('plan', 'refused', 'unreadable', 'down')

_NOT = 'not '
_BROKEN = ('body_error', 'cancelled', 'safety_stop')


@dataclass(frozen=True, slots=True)
class TruePlan:
    """One plan that satisfies an instruction.

    Attributes:
        stages: Steps in the controlled forms; those of a stage are done in any order, and steps
            that move one thing after another are two of one stage.
        goal: What must be true at the end, as the body names it; 'not X' must be false.
    """

    stages: tuple[tuple[str, ...], ...]
    goal: tuple[str, ...]

    @property
    def phrases(self) -> tuple[str, ...]:
        """All steps in order."""
        return tuple(phrase for stage in self.stages for phrase in stage)


@dataclass(frozen=True, slots=True, kw_only=True)
class AbstractInstruction:
    """One row of Table I.

    Attributes:
        name: Short, for options and tables.
        kind: What is abstract in it: category, shape, colour, wish or preference.
        instruction: The sentence.
        body: Who acts, a body of the registry.
        task: Scene, as that body's `reset` takes it.
        plans: What satisfies it; the first is the reference planner's.
    """

    name: str
    kind: str
    instruction: str
    body: str
    task: str
    plans: tuple[TruePlan, ...]


def is_satisfied(plans: Sequence[TruePlan], truth: Mapping[str, bool]) -> bool:
    """Return whether the goal of one of the plans holds.

    Args:
        plans: Of the instruction.
        truth: Of every name that the body publishes, now.

    Raises:
        ParameterError: If a goal names what the body does not publish.
    """
    return any(all(_holds(literal, truth) for literal in plan.goal) for plan in plans)


def _holds(literal: str, truth: Mapping[str, bool]) -> bool:
    name = literal.removeprefix(_NOT)
    if name not in truth:
        raise ParameterError(
            f'goal {name!r} is not published here; published: {", ".join(truth) or "nothing"}'
        )
    return truth[name] is not literal.startswith(_NOT)


def step_success(plans: Sequence[Sequence[str]], seen_true: frozenset[str]) -> tuple[int, int]:
    """Return how many steps of the best true plan were done, and of how many.

    Args:
        plans: The predicate of every step of each true plan.
        seen_true: Predicates that held in some chunk of the episode.
    """
    done = [(sum(name in seen_true for name in plan), len(plan)) for plan in plans]
    return max(done, key=lambda pair: (pair[0] / max(pair[1], 1), pair[0]))


def wrong_about(
    effects: Sequence[str | None], plans: Sequence[Sequence[Sequence[str]]]
) -> frozenset[str] | None:
    """Return what a plan brings about wrongly or leaves out, None if it is right.

    Right is a plan whose effects are those of a true plan, each at least once, in the order of its
    stages. Grasps are means and do not count. Wrong ones are told against the nearest true plan;
    '' stands for a step that brings about nothing that the body knows, or for a wrong order.

    Args:
        effects: Predicate of every step of the plan, None for none; grasps are left out here.
        plans: Predicates of the stages of every true plan.
    """
    ours = [name or '' for name in effects if name is None or not _is_grasp(name)]
    differences = []
    for stages in plans:
        wanted = [[n for n in stage if not _is_grasp(n)] for stage in stages]
        asked = {name for stage in wanted for name in stage}
        different = asked.symmetric_difference(ours)
        if not different and _is_in_order(ours, wanted):
            return None
        differences.append(frozenset(different or {''}))
    return min(differences, key=len)


def _is_grasp(name: str) -> bool:
    return name.startswith('grasp(')


def _is_in_order(ours: Sequence[str], stages: Sequence[Sequence[str]]) -> bool:
    stage_of = {name: number for number, stage in enumerate(stages) for name in stage}
    numbers = [stage_of[name] for name in ours]
    return numbers == sorted(numbers)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopEvidence:
    """What a run knows of an episode with a planner.

    Attributes:
        success: Whether the instruction was satisfied.
        end: How the episode ended, one of `failures.ENDS`.
        answer: How the planner answered first, one of `ANSWERS`.
        wrong: Of `wrong_about`, for the first plan; None for a right one.
        unseen: Handles of things that the planner was not shown as they are.
        lies: Verdicts that were not the truth.
    """

    success: bool
    end: str
    answer: str
    wrong: frozenset[str] | None
    unseen: tuple[str, ...] = ()
    lies: int = 0


def loop_cause(evidence: LoopEvidence) -> str:
    """Return the cause of a failure, one of `CAUSES`; '' of a success."""
    if evidence.success:
        return ''
    if evidence.end in _BROKEN or evidence.answer in ('unreadable', 'down'):
        return 'other'
    if evidence.answer == 'refused':
        return 'perception' if evidence.unseen else 'reasoning'
    if evidence.wrong is not None:
        return 'perception' if _concerns(evidence.wrong, evidence.unseen) else 'reasoning'
    return 'perception' if evidence.lies else 'control'


def _concerns(names: frozenset[str], things: Sequence[str]) -> bool:
    """Whether one of the predicates is about one of the things."""
    words = {word for name in names for word in re.findall(r'\w+', name)}
    return not words.isdisjoint(things)
