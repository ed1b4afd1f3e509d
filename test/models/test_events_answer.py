"""The answer of an event model: what is read, what is refused, and that both agree."""

from __future__ import annotations

import json
import math

import pytest

from structrl_ros.errors import AnswerError
from structrl_ros.models.events.answer import answer_schema
from structrl_ros.models.events.answer import read_answer
from structrl_ros.models.events.answer import write_answer
from structrl_ros.types import EventReview

REVIEW = EventReview(
    outcome='failure',
    error_type='dropped',
    interval=(3, 4),
    recovery='not_observed',
    evidence=(2, 5),
    confidence=0.75,
    reason='apple_1 fell',
)


def changed(**changes: object) -> str:
    return json.dumps({**json.loads(write_answer(REVIEW)), **changes})


def test_a_review_is_read_as_it_was_written() -> None:
    assert read_answer(write_answer(REVIEW), chunks=4, frames=6) == REVIEW


def test_keys_come_in_the_order_of_the_schema() -> None:
    schema = answer_schema(chunks=4, frames=6)
    assert list(json.loads(write_answer(REVIEW))) == schema['required']


@pytest.mark.parametrize(
    ('text', 'said'),
    [
        ('the apple fell', 'one JSON object'),
        ('[1, 2]', 'one JSON object'),
        ('{"outcome": "failure"', 'one JSON object'),
        (changed(outcome='lost'), 'outcome'),
        (changed(error_type=None), 'error_type'),
        (changed(interval=[4, 3]), 'in order'),
        (changed(interval=[1, 5]), 'from 1 to 4'),
        (changed(interval=[1.5, 2]), 'interval'),
        (changed(interval=[True, 2]), 'interval'),
        (changed(evidence=[6]), 'frames 0 to 5'),
        (changed(confidence=math.nan), 'confidence'),
        (changed(confidence='NaN'), 'confidence'),
        (changed(confidence=1.5), 'confidence'),
        (changed(confidence=None), 'confidence'),
    ],
)
def test_anything_else_is_refused_in_one_line(text: str, said: str) -> None:
    with pytest.raises(AnswerError, match=said) as caught:
        read_answer(text, chunks=4, frames=6)
    assert '\n' not in str(caught.value)


def test_null_is_an_error_that_cannot_be_localised() -> None:
    assert read_answer(changed(interval=None), chunks=4, frames=6).interval is None
