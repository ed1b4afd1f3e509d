"""One finished episode of an evaluation: a line of `episodes.jsonl`."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

from structrl_ros.errors import ParameterError
from structrl_ros.evaluation.failures import CAUSES
from structrl_ros.evaluation.failures import ENDS
from structrl_ros.evaluation.paired import EpisodeKey
from structrl_ros.types import JsonObject

#: Who says whether an episode was a success: the body, the paid subtasks, or a person.
SUCCESS_RULES = ('truth', 'subtasks', 'person')


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeRecord:
    """What is kept of an episode; times are seconds of the body's clock, never wall time.

    Attributes:
        number: Place in the schedule, from 0.
        code: Code name of the policy ('A', 'B', ...), or its name where nothing is blinded.
        task: Name of the task.
        seed: Of the scene.
        initial_state: Index of the initial state, or of the placement card.
        repetition: How often this start was planned before, from 0.
        success: By the rule of the protocol.
        judged_by: The rule, one of `SUCCESS_RULES`.
        end: How it ended, one of `failures.ENDS`.
        reason: The same in words.
        cause: Of a failure, one of `failures.CAUSES`; '' at a success.
        cause_detail: Thing or subtask that the cause is about, or ''.
        subtasks: Names in the order of the plan, and whether each was done.
        steps: Low-level steps that chunks moved.
        chunks: Chunks that ran.
        duration_s: From the start of the episode to its end.
        interventions: Takeovers by an operator.
        safety_stops: Times that the body was stopped.
        replans: New plans after the first.
        episode_return: Sum of the structured reward.
    """

    number: int
    code: str
    task: str
    seed: int
    initial_state: int
    repetition: int
    success: bool
    judged_by: str
    end: str
    reason: str
    cause: str
    cause_detail: str
    subtasks: tuple[tuple[str, bool], ...]
    steps: int
    chunks: int
    duration_s: float
    interventions: int
    safety_stops: int
    replans: int
    episode_return: float

    @property
    def key(self) -> EpisodeKey:
        """What a paired comparison pairs by."""
        return self.task, self.seed, self.initial_state, self.repetition

    def to_json(self) -> JsonObject:
        """Return plain JSON that `record_from_json` takes back."""
        document = dataclasses.asdict(self)
        document['subtasks'] = [[name, done] for name, done in self.subtasks]
        return document


def record_from_json(document: Any) -> EpisodeRecord:
    """Return a record of `EpisodeRecord.to_json`.

    Raises:
        ParameterError: If a field is missing, unknown or of a wrong type.
    """
    if not isinstance(document, dict):
        raise ParameterError(f'episode: must be an object, got {type(document).__name__}')
    fields = {field.name: field.type for field in dataclasses.fields(EpisodeRecord)}
    wrong = [name for name in (*fields, *document) if (name in fields) != (name in document)]
    if wrong:
        word = 'missing' if wrong[0] in fields else 'unknown'
        raise ParameterError(f'episode: {wrong[0]!r} is {word}; fields: {", ".join(fields)}')
    values = dict(document)
    try:
        values['subtasks'] = tuple((_text(n), _bool(done)) for n, done in document['subtasks'])
    except (TypeError, ValueError):
        raise ParameterError('episode: subtasks must be pairs of name and true or false') from None
    for name, kind in fields.items():
        if name != 'subtasks':
            _check(name, document[name], str(kind))
    _check_words(values)
    values['duration_s'] = float(values['duration_s'])
    values['episode_return'] = float(values['episode_return'])
    return EpisodeRecord(**values)


def _check(name: str, value: Any, kind: str) -> None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    fits = {
        'int': is_number and isinstance(value, int) and value >= 0,
        'float': is_number and math.isfinite(value),
        'bool': isinstance(value, bool),
        'str': isinstance(value, str),
    }[kind]
    if not fits:
        raise ParameterError(f'episode: {name} is {value!r}; allowed: {kind}')


def _check_words(values: JsonObject) -> None:
    words = {'judged_by': SUCCESS_RULES, 'end': ENDS, 'cause': ('', *CAUSES)}
    for name, allowed in words.items():
        if values[name] not in allowed:
            raise ParameterError(
                f'episode: {name} is {values[name]!r}; allowed: {", ".join(filter(None, allowed))}'
            )


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _bool(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value
