"""Scores of localised failure events (MART-GRPO, Section 4.1), against numbers by hand."""

from __future__ import annotations

import pytest

from structrl_ros.errors import ParameterError
from structrl_ros.evaluation.event_scores import EventCase
from structrl_ros.evaluation.event_scores import interval_iou
from structrl_ros.evaluation.event_scores import score_events


@pytest.mark.parametrize(
    ('first', 'second', 'iou'),
    [((4, 5), (4, 5), 1.0), ((4, 5), (5, 5), 0.5), ((4, 5), (6, 8), 0.0), ((1, 4), (3, 6), 1 / 3)],
)
def test_iou_counts_chunks_of_both_ends(
    first: tuple[int, int], second: tuple[int, int], iou: float
) -> None:
    assert interval_iou(first, second) == pytest.approx(iou)
    assert interval_iou(second, first) == pytest.approx(iou)


def test_scores_average_within_tasks_then_over_tasks() -> None:
    cases = [
        EventCase('a', 10, (4, 5), (4, 5)),
        EventCase('a', 10, (4, 5), (6, 6)),
        EventCase('a', 10, (2, 2), None),
        EventCase('a', 10, (2, 2), (9, 9)),
        EventCase('b', 10, (3, 3), (3, 3)),
        EventCase('b', 10, None, (1, 2)),
        EventCase('b', 10, None, None),
    ]
    scores = score_events(cases)
    assert (scores.eligible, scores.tasks, scores.others) == (5, 2, 2)
    assert scores.iou.value == pytest.approx((1 / 4 + 1) / 2)
    assert scores.exact.value == pytest.approx((1 / 4 + 1) / 2)
    assert scores.within_one.value == pytest.approx((2 / 4 + 1) / 2)
    assert scores.answered.value == pytest.approx((3 / 4 + 1) / 2)
    assert scores.wrongly_cut == pytest.approx(0.5)
    assert scores.retained == pytest.approx((5 + 6 + 10 + 9 + 3 + 2 + 10) / 70)
    assert scores.iou.low <= scores.iou.value <= scores.iou.high


def test_the_interval_of_a_perfect_model_has_no_width() -> None:
    scores = score_events([EventCase('a', 3, (1, 1), (1, 1))] * 5)
    assert (scores.iou.low, scores.iou.high) == pytest.approx((1.0, 1.0))
    assert scores.wrongly_cut is None


def test_without_an_eligible_rollout_nothing_is_scored() -> None:
    with pytest.raises(ParameterError, match='none of which'):
        score_events([EventCase('a', 3, None, None)])
