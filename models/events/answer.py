"""The answer of an event model as JSON: its schema, how it is read, and how it is written."""

from __future__ import annotations

import json
import math
from typing import Any

from structrl_ros.errors import AnswerError
from structrl_ros.types import ERROR_TYPES
from structrl_ros.types import OUTCOMES
from structrl_ros.types import RECOVERIES
from structrl_ros.types import EventReview
from structrl_ros.types import JsonObject

#: Most frames that an answer may name as evidence.
MOST_EVIDENCE = 4
#: Longest reason that is asked of a local model, characters.
REASON_CHARACTERS = 120
_SHOWN = 80
#: What can be seen: that a potential stalled cannot.
_VISIBLE = tuple(kind for kind in ERROR_TYPES if kind != 'stalled')
_WORDS = {'outcome': OUTCOMES, 'error_type': _VISIBLE, 'recovery': RECOVERIES}


def answer_schema(*, chunks: int | None = None, frames: int | None = None) -> JsonObject:
    """Return the JSON schema of an answer; without arguments the one that every server takes.

    Args:
        chunks: N; given, the interval is held to 1 ... N, for decoders that understand bounds.
        frames: How many were shown; given, evidence is held to 0 ... frames - 1 likewise.
    """
    chunk: JsonObject = {'type': 'integer'}
    frame: JsonObject = {'type': 'integer'}
    interval: JsonObject = {'type': 'array', 'items': chunk}
    evidence: JsonObject = {'type': 'array', 'items': frame}
    reason: JsonObject = {'type': 'string'}
    confidence: JsonObject = {'type': 'number'}
    if chunks is not None:
        chunk |= {'minimum': 1, 'maximum': chunks}
        interval |= {'minItems': 2, 'maxItems': 2}
        reason['pattern'] = f'^[ !#-\\[\\]-~]{{1,{REASON_CHARACTERS}}}$'
        confidence = {'type': 'string', 'pattern': '^(0\\.[0-9]{1,2}|1\\.0)$'}
    if frames is not None:
        frame |= {'minimum': 0, 'maximum': max(frames - 1, 0)}
        evidence['maxItems'] = MOST_EVIDENCE
    words = {name: {'type': 'string', 'enum': list(allowed)} for name, allowed in _WORDS.items()}
    properties = {
        'reason': reason,
        'outcome': words['outcome'],
        'error_type': words['error_type'],
        'interval': {'anyOf': [interval, {'type': 'null'}]},
        'recovery': words['recovery'],
        'evidence': evidence,
        'confidence': confidence,
    }
    return {
        'type': 'object',
        'properties': properties,
        'required': list(properties),
        'additionalProperties': False,
    }


def read_answer(text: str, *, chunks: int, frames: int) -> EventReview:
    """Return the review that an answer holds.

    Args:
        text: Of the model.
        chunks: N of the rollout.
        frames: Of the rollout.

    Raises:
        AnswerError: If it is no JSON object of the schema, or a number is outside the rollout;
            a confidence that is not a number counts as such.
    """
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict):
        raise AnswerError(f'the event model answered {_shown(text)}; allowed: one JSON object')
    interval = _interval(answer.get('interval'), chunks)
    evidence = answer.get('evidence', [])
    if not isinstance(evidence, list) or not all(_is_int(f, 0, frames - 1) for f in evidence):
        raise _wrong('evidence', evidence, f'frames 0 to {frames - 1}')
    reason = answer.get('reason', '')
    return EventReview(
        outcome=_word(answer, 'outcome'),
        error_type=_word(answer, 'error_type'),
        interval=interval,
        recovery=_word(answer, 'recovery'),
        evidence=tuple(sorted(set(evidence))),
        confidence=_confidence(answer.get('confidence')),
        reason=' '.join(reason.split()) if isinstance(reason, str) else '',
    )


def write_answer(review: EventReview) -> str:
    """Return the answer that a model should give, the keys in the order of the schema.

    The confidence is written as text, as local decoders write it, so that its form is bounded.
    """
    share = review.confidence if math.isfinite(review.confidence) else 0.5
    document = {
        'reason': review.reason[:REASON_CHARACTERS] or 'nothing',
        'outcome': review.outcome,
        'error_type': review.error_type,
        'interval': None if review.interval is None else list(review.interval),
        'recovery': review.recovery,
        'evidence': list(review.evidence[:MOST_EVIDENCE]),
        'confidence': '1.0' if share >= 1.0 else f'{max(share, 0.0):.2f}',
    }
    return json.dumps(document, separators=(', ', ': '))


def _word(answer: dict[str, Any], name: str) -> str:
    word = answer.get(name)
    if word not in _WORDS[name]:
        raise _wrong(name, word, ', '.join(_WORDS[name]))
    return str(word)


def _interval(value: Any, chunks: int) -> tuple[int, int] | None:
    if value is None:
        return None
    is_pair = isinstance(value, list) and len(value) == 2
    if not is_pair or not all(_is_int(v, 1, chunks) for v in value) or value[0] > value[1]:
        raise _wrong('interval', value, f'null, or two chunks from 1 to {chunks} in order')
    return value[0], value[1]


def _confidence(value: Any) -> float:
    try:
        found = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        found = math.nan
    if not 0.0 <= found <= 1.0:
        raise _wrong('confidence', value, 'a number from 0 to 1')
    return found


def _is_int(value: Any, least: int, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _wrong(name: str, got: Any, allowed: str) -> AnswerError:
    return AnswerError(f'{name} of the event model is {_shown(repr(got))}; allowed: {allowed}')


def _shown(text: str) -> str:
    return ' '.join(text.split())[:_SHOWN]
