"""Claims about the numbers of planner evaluations: by hand, and what is counted apart."""

import pytest

from structrl_ros.evaluation.planner_results import ChoiceAnswer
from structrl_ros.evaluation.planner_results import CompletionAnswer
from structrl_ros.evaluation.planner_results import PlanAnswer
from structrl_ros.evaluation.planner_results import mean_over_episodes
from structrl_ros.evaluation.planner_results import summarise_choices
from structrl_ros.evaluation.planner_results import summarise_completion
from structrl_ros.evaluation.planner_results import summarise_plans
from structrl_ros.evaluation.statistics import wilson_interval


def test_completion_by_hand():
    said = [(True, True)] * 6 + [(True, False)] * 2 + [(False, True)] * 3 + [(False, False)] * 4
    said += [(None, True)]
    answers = [CompletionAnswer(str(i), s, d) for i, (s, d) in enumerate(said)]
    summary = summarise_completion(answers, unanswered=5)
    assert (summary.asked, summary.unanswered, summary.unreadable) == (21, 5, 1)
    assert summary.accuracy.value == 10 / 16  # the unreadable one is wrong
    assert summary.precision.value == 6 / 8
    assert summary.recall.value == 6 / 10
    assert summary.precision.interval == wilson_interval(6, 8)


def test_what_was_not_answered_is_in_no_rate():
    summary = summarise_choices([ChoiceAnswer('a', 1, 1), ChoiceAnswer('b', None, 2)], 8)
    assert (summary.asked, summary.unanswered, summary.unreadable) == (10, 8, 1)
    assert (summary.accuracy.count, summary.accuracy.n) == (1, 2)
    nothing = summarise_choices([], 8)
    assert nothing.accuracy.value is None and nothing.accuracy.interval == (0.0, 1.0)


def test_wrong_choices_are_counted_by_what_misled():
    answers = [
        ChoiceAnswer('a', 0, 1, 'dropped'),
        ChoiceAnswer('b', 2, 1, 'dropped'),
        ChoiceAnswer('c', 3, 1, 'reordered'),
        ChoiceAnswer('d', 1, 1, 'right'),
    ]
    assert summarise_choices(answers, 0).misled == {'dropped': 2, 'reordered': 1}


def test_plans_by_hand():
    answers = [
        PlanAnswer('a', 'one', 'own', 1.0, 1.0, True, True, True),
        PlanAnswer('b', 'two', 'own', 0.5, 0.4, False, True, False),
        PlanAnswer('c', 'two', 'own', 0.0, -0.2, False, False, False, 'no step'),
    ]
    summary = summarise_plans(answers, 1)
    assert summary.asked == 4
    assert summary.matching.value == pytest.approx(0.5)
    assert summary.content.value == pytest.approx(0.4)
    assert (summary.exact.count, summary.readable.count, summary.template.count) == (1, 2, 1)
    assert summary.exact.n == 3


def test_interval_of_a_mean_takes_episodes_whole():
    values = [0.0] * 50 + [1.0] * 50
    together = mean_over_episodes(values, ['a'] * 50 + ['b'] * 50)
    apart = mean_over_episodes(values, [str(i) for i in range(100)])
    assert together.value == apart.value == 0.5
    assert together.interval == (0.0, 1.0)
    assert 0.35 < apart.interval[0] < apart.interval[1] < 0.65
    assert mean_over_episodes([], []).value is None
