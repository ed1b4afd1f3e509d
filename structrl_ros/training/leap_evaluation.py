"""A backend behind `ports.Planner` and `ports.Monitor` on a LEAP test set.

What it can be asked is what its parts are: a planner open plans, a chooser the choices, a monitor
that looks at pictures the completion. What it has no part for is not answered.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol
from typing import TypeVar

import numpy as np

from structrl_ros.errors import AnswerError
from structrl_ros.errors import ParameterError
from structrl_ros.errors import PlannerUnavailableError
from structrl_ros.errors import PlanSyntaxError
from structrl_ros.evaluation.planner_results import ChoiceAnswer
from structrl_ros.evaluation.planner_results import CompletionAnswer
from structrl_ros.evaluation.planner_results import PlanAnswer
from structrl_ros.plan.grammar import Step
from structrl_ros.plan.grammar import parse_phrase
from structrl_ros.ports import Monitor
from structrl_ros.ports import Planner
from structrl_ros.training.leap_episode import picture_pixels
from structrl_ros.training.leap_rows import LeapRow
from structrl_ros.training.leap_scoring import matching_option
from structrl_ros.training.leap_scoring import read_choice
from structrl_ros.training.leap_scoring import read_plan
from structrl_ros.training.leap_scoring import refused_plan
from structrl_ros.training.leap_scoring import score_plan
from structrl_ros.types import Observation
from structrl_ros.types import PlanRequest
from structrl_ros.types import Subtask

Answer = TypeVar('Answer')

#: Calls in a row without an answer after which a backend is taken for gone.
LOST_CALLS = 3


class Chooser(Protocol):
    """A model that picks one of four plans."""

    def choose(
        self,
        instruction: str,
        objects: Sequence[str],
        options: Sequence[Sequence[str]],
        observation: Observation | None,
    ) -> str:
        """Return its answer as text, blocking.

        Raises:
            PlannerUnavailableError: If it cannot be reached or answers with an error.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedBackend:
    """What is asked; a part that a backend does not have is None.

    Attributes:
        name: For the results.
        planner: Writes plans.
        chooser: Picks an option.
        monitor: Judges completion from pictures.
        sees: Whether pictures go with the questions for plans and choices.
    """

    name: str
    planner: Planner
    chooser: Chooser | None = None
    monitor: Monitor | None = None
    sees: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """All that was answered, and how many questions of each kind were not.

    `by_plan` are choices decided by the backend's own plan for the same question: the only option
    that equals it. It is no answer in words and is reported apart.
    """

    plans: tuple[PlanAnswer, ...]
    choices: tuple[ChoiceAnswer, ...]
    completion: tuple[CompletionAnswer, ...]
    by_plan: tuple[ChoiceAnswer, ...]
    unanswered: dict[str, int]


def ask_all(
    backend: AskedBackend,
    rows: Sequence[LeapRow],
    examples: Sequence[LeapRow] = (),
    heard: Callable[[LeapRow], None] = lambda row: None,
) -> Answers:
    """Put every question to a backend.

    Args:
        backend: Whom to ask.
        rows: Of the test split.
        examples: Plans shown before each open question, in words alone (REVER, Fig. 6).
        heard: Told after each question.

    Raises:
        PlannerUnavailableError: If it gave no answer `LOST_CALLS` times in a row.
        ParameterError: If a picture is cut, or an example is no plan of the training split.
    """
    wrong = [row.id for row in examples if row.kind != 'plan' or row.split != 'train']
    if wrong:
        raise ParameterError(f'example {wrong[0]!r}; allowed: plans of the training split')
    inquiry = _Inquiry(backend, examples)
    asks = {
        'plan': inquiry.ask_plan,
        'choice': inquiry.ask_choice,
        'completion': inquiry.ask_completion,
    }
    for row in rows:
        asks[row.kind](row)
        heard(row)
    return inquiry.answers()


def pick_examples(rows: Sequence[LeapRow], count: int, seed: int) -> list[LeapRow]:
    """Return plans of different demonstrations to show as examples, drawn once for all questions.

    Raises:
        ParameterError: If there are not so many.
    """
    one_each = {row.episode: row for row in reversed(rows) if row.kind == 'plan'}
    found = [one_each[name] for name in sorted(one_each)]
    if count > len(found):
        raise ParameterError(f'{count} examples; the training split has plans of {len(found)}')
    order = np.random.default_rng(seed).permutation(len(found))[:count]
    return [found[i] for i in order.tolist()]


def with_examples(instruction: str, examples: Sequence[LeapRow]) -> str:
    """Return an instruction behind worked examples, in the form that planners answer in."""
    if not examples:
        return instruction
    lines = ['Here are examples of other scenes.']
    for row in examples:
        plan = json.dumps({'stages': [[phrase] for phrase in row.plan]})
        things = ', '.join(row.objects)
        lines.append(f'Instruction: {row.instruction}\nIn the scene: {things}\nPlan: {plan}')
    return '\n\n'.join([*lines, f'Now plan for this.\nInstruction: {instruction}'])


class _Inquiry:
    """Questions and answers on the way."""

    def __init__(self, backend: AskedBackend, examples: Sequence[LeapRow]) -> None:
        self._backend = backend
        self._examples = examples
        self._lost = 0
        self._plans: list[PlanAnswer] = []
        self._choices: list[ChoiceAnswer] = []
        self._completion: list[CompletionAnswer] = []
        self._by_plan: list[ChoiceAnswer] = []
        self._steps: dict[str, tuple[Step, ...]] = {}
        self._unanswered = {'plan': 0, 'choice': 0, 'completion': 0, 'choice by plan': 0}

    def answers(self) -> Answers:
        return Answers(
            plans=tuple(self._plans),
            choices=tuple(self._choices),
            completion=tuple(self._completion),
            by_plan=tuple(self._by_plan),
            unanswered=dict(self._unanswered),
        )

    def ask_plan(self, row: LeapRow) -> None:
        sentence = with_examples(row.instruction, self._examples)
        request = PlanRequest(sentence, row.objects, self._observation(row, 0))
        try:
            text = self._call(lambda: self._backend.planner.propose(request))
        except PlanSyntaxError as error:
            self._plans.append(refused_plan(row, str(error)))
            return
        if text is None:
            self._plans.append(refused_plan(row, 'no answer'))
            return
        answer = score_plan(row, text)
        self._plans.append(answer)
        if answer.is_readable:
            self._steps[row.id] = read_plan(text, row.objects).steps

    def ask_choice(self, row: LeapRow) -> None:
        self._compare(row)
        chooser = self._backend.chooser
        if chooser is None:
            self._unanswered['choice'] += 1
            return
        seen = self._observation(row, 0)
        text = self._call(lambda: chooser.choose(row.instruction, row.objects, row.options, seen))
        self._choices.append(_chosen(row, None if text is None else read_choice(text)))

    def ask_completion(self, row: LeapRow) -> None:
        monitor = self._backend.monitor
        if monitor is None:
            self._unanswered['completion'] += 1
            return
        step = parse_phrase(row.instruction)
        subtask = Subtask(step.id, row.instruction, step.action, step.objects, 0)
        start, now = _look(row, 0), _look(row, 1)
        said = self._call(lambda: monitor.verify(subtask, start, now))
        done = None if said is None else said.done
        self._completion.append(CompletionAnswer(row.id, done, bool(row.done)))

    def _compare(self, row: LeapRow) -> None:
        """Decide a choice by the plan that was written for the same question."""
        steps = self._steps.get(row.id.removesuffix('-choice'))
        picked = None if steps is None else matching_option(row, steps)
        if picked is None:
            self._unanswered['choice by plan'] += 1
        else:
            self._by_plan.append(_chosen(row, picked))

    def _observation(self, row: LeapRow, moment: int) -> Observation | None:
        return _look(row, moment) if self._backend.sees else None

    def _call(self, ask: Callable[[], Answer]) -> Answer | None:
        """Return an answer, None for one that cannot be read or did not come."""
        try:
            answer = ask()
        except AnswerError:
            self._lost = 0
            return None
        except PlannerUnavailableError as error:
            self._lost += 1
            if self._lost >= LOST_CALLS:
                raise PlannerUnavailableError(
                    f'{self._backend.name} gave no answer {self._lost} times in a row: {error}'
                ) from None
            return None
        self._lost = 0
        return answer


def _look(row: LeapRow, moment: int) -> Observation:
    """Return what is to be seen at a moment of a row: 0 is the start, 1 is now."""
    first = moment * len(row.roles)
    files = row.images[first : first + len(row.roles)]
    images = {role: picture_pixels(file) for role, file in zip(row.roles, files, strict=True)}
    return Observation(stamp_ns=moment, episode=0, images=images)


def _chosen(row: LeapRow, picked: int | None) -> ChoiceAnswer:
    kind = '' if picked is None else row.distractors[picked]
    return ChoiceAnswer(row.id, picked, row.correct, kind)
