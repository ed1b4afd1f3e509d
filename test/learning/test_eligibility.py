"""Which reviews bound the feedback of a failed rollout (MART-GRPO, Section 3.2)."""

from __future__ import annotations

import dataclasses
import math

import pytest

from structrl_ros.learning import eligibility
from structrl_ros.learning.eligibility import select_feedback
from structrl_ros.learning.eligibility import select_prefix
from structrl_ros.types import EventReview

GOOD = EventReview(
    outcome='failure',
    error_type='dropped',
    interval=(4, 5),
    recovery='not_observed',
    confidence=0.8,
    first_interval=(2, 2),
)


def test_feedback_of_a_qualifying_review_ends_with_its_interval() -> None:
    assert select_feedback(GOOD, 9) == eligibility.Feedback(5)


@pytest.mark.parametrize(
    ('change', 'reason'),
    [
        ({'outcome': 'success'}, eligibility.NOT_A_FAILURE),
        ({'outcome': 'uncertain'}, eligibility.UNCERTAIN_OUTCOME),
        ({'error_type': 'none'}, eligibility.UNCLEAR_ERROR),
        ({'error_type': 'unclear'}, eligibility.UNCLEAR_ERROR),
        ({'error_type': 'sneezed'}, eligibility.UNCLEAR_ERROR),
        ({'interval': None}, eligibility.NOT_LOCALISED),
        ({'recovery': 'observed'}, eligibility.RECOVERED),
        ({'recovery': 'uncertain'}, eligibility.UNCERTAIN_RECOVERY),
        ({'interval': (0, 3)}, eligibility.BAD_INTERVAL),
        ({'interval': (5, 4)}, eligibility.BAD_INTERVAL),
        ({'interval': (4, 10)}, eligibility.BAD_INTERVAL),
        ({'outcome': 'so-so'}, eligibility.BAD_WORD),
        ({'recovery': 'perhaps'}, eligibility.BAD_WORD),
    ],
)
def test_any_other_review_keeps_full_feedback_and_says_why(
    change: dict[str, object], reason: str
) -> None:
    review = dataclasses.replace(GOOD, **change)  # type: ignore[arg-type]
    assert select_feedback(review, 9) == eligibility.Feedback(None, reason)


def test_boundary_of_a_rollout_of_one_chunk_is_that_chunk() -> None:
    assert select_feedback(dataclasses.replace(GOOD, interval=(1, 1)), 1).boundary == 1


@pytest.mark.parametrize('confidence', [0.79, math.nan])
def test_least_confidence_refuses_a_lower_one_and_one_that_is_no_number(confidence: float) -> None:
    review = dataclasses.replace(GOOD, confidence=confidence)
    assert select_feedback(review, 9).boundary == 5
    found = select_feedback(review, 9, least_confidence=0.8)
    assert found.fallback == eligibility.LOW_CONFIDENCE


def test_prefix_rule_stops_at_the_first_error_even_if_it_was_made_good() -> None:
    review = dataclasses.replace(GOOD, recovery='observed')
    assert select_prefix(review, 9).boundary == 2
    untold = dataclasses.replace(GOOD, first_interval=None)
    assert select_prefix(untold, 9).fallback == eligibility.NOT_LOCALISED
    assert select_prefix(GOOD, 1).fallback == eligibility.BAD_INTERVAL
