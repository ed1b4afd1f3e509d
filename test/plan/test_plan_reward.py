"""REVER's plan reward: golden cases, hand-worked numbers and properties."""

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structrl_ros.errors import ParameterError
from structrl_ros.plan.grammar import Step
from structrl_ros.plan.reward import completion_reward
from structrl_ros.plan.reward import plan_reward
from structrl_ros.plan.reward import total_reward

GOLDEN = json.loads((Path(__file__).parents[1] / 'golden' / 'plan_reward.json').read_text())
ONTOLOGY = (('cup', 'mug'), ('apple', 'fruit'))


def _steps(items):
    return [Step(i['action'], tuple(i['objects'])) for i in items]


@pytest.mark.parametrize('case', GOLDEN['cases'], ids=lambda c: c['name'])
def test_golden_case_gives_expected_content(case):
    given_ = dict(case['input'])
    generated, truth = _steps(given_.pop('generated')), _steps(given_.pop('truth'))
    content = plan_reward(generated, truth, **given_)
    assert content == pytest.approx(case['expected']['content'], abs=1e-9)


def test_three_against_two_steps_by_hand():
    truth = [Step('grasp', ('cup',)), Step('place', ('cup', 'table'))]
    wrong_place = [Step('grasp', ('mug',)), Step('place', ('cup', 'box')), Step('open', ('cup',))]
    # grasp mug ~ grasp cup 1.0; place cup box ~ place cup table 0.3; max(M, N) 3, one too many.
    expected = (1.0 + 0.3) / 3 - 0.1
    assert plan_reward(wrong_place, truth, ONTOLOGY) == pytest.approx(expected, abs=1e-12)


def test_matching_is_of_maximum_weight_where_greedy_fails():
    generated = [Step('grasp', ('cup',)), Step('grasp', ('red cup',))]
    truth = [Step('grasp', ('cup', 'x')), Step('grasp', ('cup',))]
    assert plan_reward(generated, truth) == pytest.approx((1.0 + 0.3) / 2, abs=1e-12)


def test_object_without_arguments_matches_only_its_like():
    none, cup = [Step('open', ())], [Step('open', ('cup',))]
    assert plan_reward(none, none) == pytest.approx(1.0)
    assert plan_reward(none, cup) == pytest.approx(0.3)


def test_order_of_arguments_matters():
    there, back = [Step('pour', ('milk', 'cup'))], [Step('pour', ('cup', 'milk'))]
    assert plan_reward(there, back) == pytest.approx(0.3)


def test_two_empty_plans_give_nothing():
    assert plan_reward([], []) == 0.0


def test_total_weighs_format_and_content():
    assert total_reward(1.0, 0.5) == pytest.approx(0.1 + 0.45)
    assert total_reward(0.0, -0.5, 0.2, 0.8) == pytest.approx(-0.4)


@pytest.mark.parametrize('weight', [math.nan, math.inf, -0.1])
def test_bad_weight_is_named(weight):
    with pytest.raises(ParameterError, match='w_length'):
        plan_reward([], [], w_length=weight)
    with pytest.raises(ParameterError, match='w_content'):
        total_reward(1.0, 1.0, 0.1, weight)


@pytest.mark.parametrize(
    ('answer', 'label', 'reward'),
    [
        ('True', True, 1.0),
        (' False\n', False, 1.0),
        ('True', False, 0.0),
        ('true', True, 0.0),
        ('True.', True, 0.0),
        ('', False, 0.0),
    ],
)
def test_completion_is_rewarded_for_the_exact_label(answer, label, reward):
    assert completion_reward(answer, label) == reward


WORDS = st.sampled_from(['cup', 'mug', 'red cup', 'apple', 'fruit', 'box'])
STEPS = st.builds(
    Step,
    st.sampled_from(['grasp', 'put', 'place', 'open', 'wave']),
    st.lists(WORDS, max_size=2).map(tuple),
)
PLANS = st.lists(STEPS, max_size=6)


@given(PLANS, PLANS, st.randoms(use_true_random=False))
def test_order_of_steps_does_not_change_the_reward(generated, truth, random):
    before = plan_reward(generated, truth, ONTOLOGY)
    random.shuffle(generated)
    random.shuffle(truth)
    assert plan_reward(generated, truth, ONTOLOGY) == pytest.approx(before, abs=1e-12)


@given(PLANS, PLANS)
def test_reward_is_symmetric_in_the_two_plans(generated, truth):
    there = plan_reward(generated, truth, ONTOLOGY)
    assert there == pytest.approx(plan_reward(truth, generated, ONTOLOGY), abs=1e-12)


@given(PLANS, PLANS)
def test_reward_lies_between_the_length_penalty_and_one(generated, truth):
    penalty = 0.1 * abs(len(generated) - len(truth))
    assert -penalty - 1e-12 <= plan_reward(generated, truth, ONTOLOGY) <= 1.0 - penalty + 1e-12


@given(st.lists(STEPS, min_size=1, max_size=6))
def test_a_plan_matches_itself_fully(plan):
    assert plan_reward(plan, plan, ONTOLOGY) == pytest.approx(1.0, abs=1e-12)


@given(PLANS, PLANS)
def test_without_length_penalty_the_reward_falls_by_it(generated, truth):
    free = plan_reward(generated, truth, ONTOLOGY, w_length=0.0)
    penalty = 0.1 * abs(len(generated) - len(truth))
    assert plan_reward(generated, truth, ONTOLOGY) == pytest.approx(free - penalty, abs=1e-12)
