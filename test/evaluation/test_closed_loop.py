"""The closed-loop suite in pure numbers: what satisfies, which plans are right, causes, tables."""

import dataclasses
import json

import pytest
from episode_records import episode_record

from structrl_ros.errors import ParameterError
from structrl_ros.evaluation.closed_loop import LoopEvidence
from structrl_ros.evaluation.closed_loop import TruePlan
from structrl_ros.evaluation.closed_loop import is_satisfied
from structrl_ros.evaluation.closed_loop import loop_cause
from structrl_ros.evaluation.closed_loop import step_success
from structrl_ros.evaluation.closed_loop import wrong_about
from structrl_ros.evaluation.closed_loop_results import LoopRecord
from structrl_ros.evaluation.closed_loop_results import loop_record_from_json
from structrl_ros.evaluation.closed_loop_results import summarise_loop
from structrl_ros.evaluation.closed_loop_results import summary_to_json
from structrl_ros.evaluation.closed_loop_tables import markdown_tables

APPLE, BALL = 'in(apple_1, basket_1)', 'in(ball_1, basket_1)'
OPEN, CLOSE = 'open(box_1)', 'close(box_1)'
PLANS = (TruePlan((('place apple in basket',),), (APPLE, f'not {BALL}')),)
LUNCH = [[OPEN], ['grasp(apple_1)', APPLE, 'grasp(ball_1)', BALL], [CLOSE]]
RIGHT = LoopEvidence(success=False, end='gave_up', answer='plan', wrong=None)
ACCOUNT = episode_record(
    False, code='rules', task='fruit', end='gave_up', cause='not_done',
    subtasks=(('place(apple, basket)', False),), steps=8, chunks=1, duration_s=0.8,
)  # fmt: skip
RECORD = LoopRecord(
    planner='rules', instruction='fruit', episode=0, success=False, steps_done=1, steps=4,
    answer='plan', plan=('place apple in basket',), plan_is_right=True, seen='', lies=0,
    cause='control', record=ACCOUNT,
)  # fmt: skip


def test_a_goal_holds_only_without_the_wrong_thing():
    assert is_satisfied(PLANS, {APPLE: True, BALL: False})
    assert not is_satisfied(PLANS, {APPLE: True, BALL: True})
    assert not is_satisfied(PLANS, {APPLE: False, BALL: False})


def test_a_goal_of_another_scene_is_refused():
    with pytest.raises(ParameterError, match='is not published here'):
        is_satisfied(PLANS, {APPLE: True})


def test_steps_count_against_the_true_plan_that_was_done_best():
    assert step_success([[APPLE, BALL], [OPEN, APPLE, CLOSE]], frozenset({OPEN, CLOSE})) == (2, 3)
    assert step_success([[APPLE, BALL], [OPEN]], frozenset()) == (0, 2)


@pytest.mark.parametrize(
    'effects', [[OPEN, BALL, APPLE, CLOSE], [OPEN, 'grasp(apple_1)', APPLE, BALL, BALL, CLOSE]]
)
def test_any_order_within_a_stage_is_right(effects):
    assert wrong_about(effects, [LUNCH]) is None


@pytest.mark.parametrize(
    ('effects', 'wrong'),
    [
        ([OPEN, APPLE, CLOSE], {BALL}),
        ([OPEN, APPLE, BALL, CLOSE, 'on(x_1, y_1)'], {'on(x_1, y_1)'}),
        ([OPEN, APPLE, BALL, CLOSE, None], {''}),
        ([CLOSE, OPEN, APPLE, BALL], {''}),
        ([], {OPEN, APPLE, BALL, CLOSE}),
    ],
)
def test_what_is_left_out_added_or_out_of_order_is_told(effects, wrong):
    assert wrong_about(effects, [LUNCH]) == wrong


def test_a_plan_is_told_against_the_nearest_true_one():
    assert wrong_about([APPLE, BALL], [[[OPEN], [CLOSE]], [[APPLE]]]) == {BALL}


@pytest.mark.parametrize(
    ('changes', 'cause'),
    [
        ({'success': True}, ''),
        ({}, 'control'),
        ({'end': 'policy_error'}, 'control'),
        ({'lies': 1}, 'perception'),
        ({'wrong': frozenset({APPLE})}, 'reasoning'),
        ({'wrong': frozenset({APPLE}), 'unseen': ('apple_1',)}, 'perception'),
        ({'wrong': frozenset({APPLE}), 'unseen': ('ball_1',)}, 'reasoning'),
        ({'wrong': frozenset({APPLE}), 'lies': 1}, 'reasoning'),
        ({'unseen': ('apple_1',)}, 'control'),
        ({'answer': 'refused', 'end': 'no_plan'}, 'reasoning'),
        ({'answer': 'refused', 'end': 'no_plan', 'unseen': ('apple_1',)}, 'perception'),
        ({'answer': 'unreadable', 'end': 'no_plan'}, 'other'),
        ({'answer': 'down', 'end': 'no_plan'}, 'other'),
        ({'end': 'body_error'}, 'other'),
    ],
)
def test_the_cause_is_the_first_thing_that_went_wrong(changes, cause):
    assert loop_cause(dataclasses.replace(RIGHT, **changes)) == cause


def test_records_go_through_json_unchanged():
    text = json.dumps(RECORD.to_json())
    assert loop_record_from_json(json.loads(text)) == RECORD


def test_a_record_with_another_field_is_refused():
    with pytest.raises(ParameterError, match='fields must be'):
        loop_record_from_json({**RECORD.to_json(), 'more': 1})


def test_totals_pool_episodes_and_steps_and_count_causes():
    good = dataclasses.replace(RECORD, episode=1, success=True, steps_done=4, cause='')
    other = dataclasses.replace(RECORD, instruction='round', steps=2, cause='reasoning',
                                plan_is_right=False)  # fmt: skip
    bare = dataclasses.replace(RECORD, planner='none', plan_is_right=None, cause='')
    rows = summarise_loop([RECORD, good, other, bare])
    assert [(r.planner, r.instruction) for r in rows] == [
        ('rules', 'fruit'), ('rules', 'round'), ('rules', 'all'), ('none', 'fruit'),
        ('none', 'all'),
    ]  # fmt: skip
    total = rows[2]
    assert (total.success.count, total.success.n) == (1, 3)
    assert total.steps.value == pytest.approx(6 / 10)
    assert (total.right_plans.count, total.right_plans.n) == (2, 3)
    assert total.causes == {'reasoning': 1, 'control': 1}
    assert rows[4].causes == {'unplanned': 1}
    table = markdown_tables({'rows': [summary_to_json(row) for row in rows]})
    assert '| fruit | 1/2 [0.09, 0.91] |' in table
    assert '| rules | 2 | 2/3 [0.21, 0.94] | 0 | 1 | 1 | 0 |' in table
