"""Event models and baselines against labels: who is right, and what a review that fails costs."""

from __future__ import annotations

import pytest
from event_episodes import event_episode

from structrl_ros.errors import DatasetError
from structrl_ros.errors import PlannerUnavailableError
from structrl_ros.training.event_episode import EventEpisode
from structrl_ros.training.event_evaluation import NO_REVIEW
from structrl_ros.training.event_evaluation import evaluate_backend
from structrl_ros.training.event_evaluation import first_error
from structrl_ros.training.event_evaluation import last_chunk
from structrl_ros.training.event_evaluation import usual_chunk
from structrl_ros.types import EventReview

pytestmark = pytest.mark.torch


def episode(interval: tuple[int, int], **changes: object) -> EventEpisode:
    return event_episode(interval=interval, first_interval=(2, 2), **changes)


SPLIT = [episode((4, 4)), episode((8, 8)), episode((3, 3), recovery='observed')]


def test_the_label_itself_scores_one_and_cuts_nothing_wrongly() -> None:
    result = evaluate_backend('label', lambda e: e.label, SPLIT)
    assert (result.scores.iou.value, result.scores.wrongly_cut) == (1.0, 0.0)
    assert sum(result.fallbacks.values()) == 1


def test_baselines_are_what_they_say() -> None:
    last = evaluate_backend('last', last_chunk, SPLIT).scores
    assert (last.exact.value, last.retained) == (0.5, 1.0)
    first = evaluate_backend('first', first_error, SPLIT).scores
    assert first.exact.value == 0.0
    assert first.retained == pytest.approx(2 / 8)
    training = [episode((n, n)) for n in (3, 4, 4, 5)]
    usual = evaluate_backend('usual', usual_chunk(training), SPLIT).scores
    assert usual.exact.value == 0.5
    unknown = usual_chunk(training)(episode((1, 1), task='two_in_basket'))
    assert unknown.error_type == 'unclear'


def test_a_review_that_cannot_be_had_is_full_feedback_and_is_told() -> None:
    def fails(asked: EventEpisode) -> EventReview:
        raise PlannerUnavailableError('connection refused')

    result = evaluate_backend('server', fails, SPLIT)
    assert result.problem == 'connection refused'
    assert result.fallbacks[NO_REVIEW] == 3
    assert (result.scores.answered.value, result.scores.retained) == (0.0, 1.0)


def test_a_split_without_a_boundary_is_refused() -> None:
    with pytest.raises(DatasetError, match='none with a boundary'):
        evaluate_backend('label', lambda e: e.label, [SPLIT[2]])
