"""Rewards of held-out questions before and after practice, paired and resampled by plan."""

import pytest

pytest.importorskip('torch')
pytest.importorskip('trl', reason='needs requirements/planner.txt')

from structrl_ros.cli.bench_planner import change_lines
from structrl_ros.training.planner_grades import change
from structrl_ros.training.planner_grades import mean_change
from structrl_ros.training.planner_grades import plan_names

pytestmark = pytest.mark.torch

BEFORE = {'drawn': [0.0, 0.2, 0.4, 0.4], 'likeliest': [1.0, 1.0, 1.0, 1.0]}
AFTER = {'drawn': [0.4, 0.6, 0.4, 0.2], 'likeliest': [1.0, 1.0, 1.0, 1.0]}
PLANS = ['a', 'a', 'b', 'b']


def test_the_change_is_the_mean_over_questions_and_its_interval_that_of_plans():
    mean, low, high = change(BEFORE, AFTER, PLANS, 'drawn')
    assert mean == pytest.approx((0.4 + 0.4 + 0.0 - 0.2) / 4)
    assert (low, high) == (pytest.approx(-0.1), pytest.approx(0.4))  # two plans: one or the other


def test_no_change_has_no_width():
    assert change(BEFORE, AFTER, PLANS, 'likeliest') == (0.0, 0.0, 0.0)


def test_seeds_are_pooled_and_a_plan_of_both_is_one():
    seed = {'grades': {'plans': PLANS, 'before': BEFORE, 'after': AFTER}}
    once, twice = mean_change([seed], 'drawn'), mean_change([seed, seed], 'drawn')
    assert once == pytest.approx(twice)


def test_results_without_grades_have_no_interval_and_say_nothing():
    assert mean_change([{'seed': 0}], 'drawn') is None
    assert mean_change([], 'drawn') is None
    assert change_lines([{'seed': 0}]) == []


def test_lines_tell_the_change_with_its_interval():
    seed = {'grades': {'plans': PLANS, 'before': BEFORE, 'after': AFTER}}
    lines = change_lines([seed])
    assert lines[0] == 'reward, mean of 4 drawn answers: +0.150 [-0.100, +0.400], by plan'
    assert lines[1] == 'reward, likeliest: +0.000 [+0.000, +0.000], by plan'


def test_plans_are_told_apart_by_scene_and_steps():
    class Row:
        scene, plan = 'table', ('grasp apple', 'place apple in bowl')

    class Other(Row):
        scene = 'drawer'

    assert plan_names([Row, Row]) == ['table: grasp apple, place apple in bowl'] * 2
    assert plan_names([Other]) != plan_names([Row])
