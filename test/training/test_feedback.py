"""Failure feedback in GRPO: rules, event models that fail, and what is counted."""

import threading
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip('torch')

from drawn_rollouts import draw_rollouts
from drawn_rollouts import small_flow

from structrl_ros.errors import ParameterError
from structrl_ros.errors import PlannerUnavailableError
from structrl_ros.learning.eligibility import LOW_CONFIDENCE
from structrl_ros.learning.eligibility import RECOVERED
from structrl_ros.learning.failure_feedback import FeedbackTally
from structrl_ros.training.event_desk import NO_ANSWER
from structrl_ros.training.event_desk import TOO_SLOW
from structrl_ros.training.event_desk import EventDesk
from structrl_ros.training.failed_rollouts import RolloutViews
from structrl_ros.training.feedback import EventRule
from structrl_ros.training.feedback import FailureFeedback
from structrl_ros.training.feedback import RandomPrefixRule
from structrl_ros.training.feedback import ScaleRule
from structrl_ros.training.feedback import full_rule
from structrl_ros.training.settings import GrpoSettings
from structrl_ros.training.settings_document import make_settings
from structrl_ros.types import EventReview

pytestmark = pytest.mark.torch

ADVANTAGES = np.array([3.0, -2.0, 1.0, -1.0])
LENGTHS, SUCCESS = (3, 2, 4, 1), (True, False, True, False)
LOST = EventReview(
    outcome='failure',
    error_type='dropped',
    interval=(1, 1),
    recovery='not_observed',
    confidence=0.9,
    first_interval=(1, 1),
)


class Reviewer:
    """Port EventModel that gives what it is told, and remembers what it was asked."""

    name = 'told'

    def __init__(self, answer):
        self.answer, self.asked = answer, []

    def review(self, rollout):
        self.asked.append(rollout)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer(rollout) if callable(self.answer) else self.answer


@pytest.fixture(scope='module')
def rollouts():
    return draw_rollouts(small_flow(), LENGTHS, SUCCESS)


def weigh(rollouts, rule, *, teaching=(True,) * 4, advantages=ADVANTAGES, feedback=None):
    feedback = feedback or FailureFeedback(rule)
    return feedback.weigh(rollouts, advantages, np.array(teaching), 0)


def events(answer, *, limit_s=60.0, **options):
    return EventRule(EventDesk(Reviewer(answer), limit_s=limit_s), RolloutViews(), **options)


def test_full_feedback_shares_an_advantage_over_the_chunks_of_its_rollout(rollouts):
    weights, told = weigh(rollouts, full_rule)
    assert weights.tolist() == [
        [1.0, 1.0, 1.0, 0.0],
        [-1.0, -1.0, 0.0, 0.0],
        [0.25, 0.25, 0.25, 0.25],
        [-1.0, 0.0, 0.0, 0.0],
    ]
    assert (told['feedback/retained_mass'], told['feedback/fallbacks']) == (1.0, 0.0)


def test_feedback_ends_at_the_event_and_denominators_stay(rollouts):
    weights, told = weigh(rollouts, events(LOST))
    assert weights.tolist() == [
        [1.0, 1.0, 1.0, 0.0],
        [-1.0, 0.0, 0.0, 0.0],
        [0.25, 0.25, 0.25, 0.25],
        [-1.0, 0.0, 0.0, 0.0],
    ]
    assert told['feedback/retained_mass'] == pytest.approx(2 / 3)
    assert (told['feedback/failures'], told['feedback/shortened']) == (2.0, 1.0)


def test_only_failures_that_teach_are_asked_about(rollouts):
    model = Reviewer(LOST)
    rule = EventRule(EventDesk(model, limit_s=60.0), RolloutViews())
    weights, _ = weigh(rollouts, rule, teaching=(True, True, False, False))
    assert [seen.chunks for seen in model.asked] == [2]
    assert not weights[2:].any()


def test_where_nothing_failed_nobody_is_asked(rollouts):
    model = Reviewer(LOST)
    won = replace(rollouts, success=np.ones(4, dtype=bool))
    rule = EventRule(EventDesk(model, limit_s=60.0), RolloutViews())
    weights, told = weigh(won, rule)
    assert model.asked == []
    assert told['feedback/retained_mass'] == 1.0
    assert weights.sum(axis=1) == pytest.approx(ADVANTAGES)


def test_where_all_failed_all_are_cut(rollouts):
    lost = replace(rollouts, success=np.zeros(4, dtype=bool))
    weights, told = weigh(lost, events(LOST))
    assert (weights != 0.0).sum(axis=1).tolist() == [1, 1, 1, 1]
    assert told['feedback/shortened'] == 3.0  # one is a chunk long


def test_an_event_beyond_the_end_keeps_all(rollouts):
    beyond = replace(LOST, interval=(1, 9))
    weights, told = weigh(rollouts, events(beyond))
    assert weights.tolist() == weigh(rollouts, full_rule)[0].tolist()
    assert told['feedback/fallbacks'] == 2.0


def test_a_recovery_keeps_all_but_the_prefix_rule_cuts(rollouts):
    mended = replace(LOST, recovery='observed')
    feedback = FailureFeedback(events(mended))
    weights, _ = weigh(rollouts, None, feedback=feedback)
    assert weights[1].tolist() == [-1.0, -1.0, 0.0, 0.0]
    assert feedback.pooled.fallbacks == {RECOVERED: 2}
    first, _ = weigh(rollouts, events(mended, first=True))
    assert first[1].tolist() == [-1.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize('confidence', [float('nan'), 0.2])
def test_a_confidence_that_is_low_or_no_number_keeps_all(rollouts, confidence):
    doubtful = replace(LOST, confidence=confidence)
    feedback = FailureFeedback(events(doubtful, least_confidence=0.5))
    weights, _ = weigh(rollouts, None, feedback=feedback)
    assert weights[1].tolist() == [-1.0, -1.0, 0.0, 0.0]
    assert feedback.pooled.fallbacks == {LOW_CONFIDENCE: 2}
    assert weigh(rollouts, events(doubtful))[1]['feedback/shortened'] == 1.0


@pytest.mark.parametrize('fault', [PlannerUnavailableError('is down'), OSError('no route')])
def test_an_event_model_that_is_down_leaves_full_feedback_and_says_so(rollouts, fault, caplog):
    feedback = FailureFeedback(events(fault))
    weights, _ = weigh(rollouts, None, feedback=feedback)
    assert weights.tolist() == weigh(rollouts, full_rule)[0].tolist()
    assert feedback.pooled.fallbacks == {NO_ANSWER: 2}
    assert 'full feedback' in caplog.text
    assert str(fault) in caplog.text


def test_a_slow_event_model_leaves_full_feedback_and_is_not_asked_again_meanwhile(
    rollouts, caplog
):
    release = threading.Event()

    def wait(rollout):
        release.wait(30.0)
        return LOST

    model = Reviewer(wait)
    feedback = FailureFeedback(EventRule(EventDesk(model, limit_s=0.05), RolloutViews()))
    try:
        for _ in range(2):
            weights, _ = weigh(rollouts, None, feedback=feedback)
            assert weights.tolist() == weigh(rollouts, full_rule)[0].tolist()
        assert len(model.asked) == 1
        assert feedback.pooled.fallbacks == {TOO_SLOW: 4}
        assert 'not within 0.05 s' in caplog.text
    finally:
        release.set()


def test_uniform_scaling_keeps_the_given_mass(rollouts):
    weights, told = weigh(rollouts, ScaleRule(0.25))
    assert weights[1].tolist() == [-0.25, -0.25, 0.0, 0.0]
    assert weights[0].tolist() == [1.0, 1.0, 1.0, 0.0]
    assert told['feedback/retained_mass'] == 0.25


def test_random_prefixes_depend_on_seed_and_iteration_alone(rollouts):
    many = draw_rollouts(small_flow(), (9,) * 40, (False,) * 40)
    observed = FeedbackTally(boundaries={1: 1, 5: 1})
    advantages = -np.ones(40)

    def drawn(seed, iteration):
        rule = FailureFeedback(RandomPrefixRule(observed, seed))
        weights, _ = rule.weigh(many, advantages, np.ones(40, dtype=bool), iteration)
        return (weights != 0.0).sum(axis=1).tolist()

    assert set(drawn(0, 0)) == {1, 5}
    assert drawn(0, 0) == drawn(0, 0)
    assert drawn(0, 0) != drawn(0, 1)
    assert drawn(0, 0) != drawn(1, 0)


def test_the_account_is_pooled_over_updates_and_goes_on(rollouts):
    feedback = FailureFeedback(events(LOST))
    weigh(rollouts, None, feedback=feedback)
    again = FailureFeedback(events(LOST))
    again.restore(feedback.document())
    told = weigh(rollouts, None, feedback=again)[1]
    assert told['feedback/pooled_retained_mass'] == pytest.approx(2 / 3)
    assert again.pooled.failures == 4


@pytest.mark.parametrize(
    ('given', 'line'),
    [
        ({'failure_feedback': 'uniform'}, 'needs feedback_scale or feedback_from'),
        ({'failure_feedback': 'random_prefix'}, 'needs feedback_from'),
        ({'events': 'openai', 'events_model': 'm'}, 'needs events_url and events_model'),
        ({'failure_feedback': 'half'}, 'failure_feedback'),
        ({'feedback_scale': 1.5}, 'feedback_scale'),
        ({'least_confidence': 2.0}, 'least_confidence'),
    ],
)
def test_a_control_without_what_it_copies_is_one_line(given, line):
    with pytest.raises(ParameterError, match=line):
        make_settings(GrpoSettings, given)
