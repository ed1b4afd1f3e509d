"""The account of an episode from the messages of the contract."""

import dataclasses

import numpy as np
import pytest

from structrl_ros.evaluation.episode_account import EpisodeAccount
from structrl_ros.evaluation.protocol import PlannedStart
from structrl_ros.evaluation.protocol import Trial
from structrl_ros.types import ChunkDone
from structrl_ros.types import Episode
from structrl_ros.types import Intervention
from structrl_ros.types import Plan
from structrl_ros.types import Predicates
from structrl_ros.types import Reward
from structrl_ros.types import Safety
from structrl_ros.types import SafetyState
from structrl_ros.types import Subtask
from structrl_ros.types import Verdict

NAMES = ('grasp(apple_1)', 'in(apple_1, bowl_1)')
STEPS = (
    Subtask('grasp(apple)', '', 'grasp', ('apple',), 0),
    Subtask('place(apple, bowl)', '', 'place', ('apple', 'bowl'), 1),
)
GROUNDED = dict(zip((s.id for s in STEPS), NAMES, strict=True))
START = Episode(1_000, 5, False, 'twin', 't', 'do it', 3, 0)
TRIAL = Trial(7, 'A', PlannedStart(task='t', seed=3, initial_state=0, repetition=0))
PLAN = Plan(1_000, 1, 'do it', STEPS)


def ground(subtasks, names):
    return {s.id: GROUNDED[s.id] if GROUNDED[s.id] in names else None for s in subtasks}


def account(judged_by='truth'):
    return EpisodeAccount(TRIAL, START, judged_by=judged_by, ground=ground)


def chunk(number, truth=(), *, success=False, end=False, episode=5):
    stamp = 1_000 + number * 500_000_000
    rows = np.zeros((4, 7), np.float32)
    values = tuple(name in truth for name in NAMES)
    return [
        Predicates(stamp, episode, number, 4 * number, NAMES, values, success),
        ChunkDone(stamp, episode, number, 4, success, end and not success, success, rows),
    ]


def reward(number, *terms, total=0.0, episode=5):
    return Reward(1_000, episode, number, 0.0, tuple((t, 0.5) for t in terms), total, False, False)


def ended(reason):
    return dataclasses.replace(
        START, stamp_ns=1_000 + 10**9, ended=True, success=reason == 'success', end_reason=reason
    )


def tell(told, *messages):
    for message in messages:
        told.take(message)
    return told


def closed(told, success=False, reason='', **more):
    return told.record(success=success, reason=reason, replans=0, **more)


def test_success_is_the_bodys_and_subtasks_are_what_was_paid():
    told = tell(account(), PLAN, *chunk(1, NAMES[:1]), reward(1, NAMES[0], total=0.5))
    tell(told, *chunk(2, NAMES[1:], success=True), reward(2, NAMES[1], 'success', total=3.0))
    assert not told.is_settled
    tell(told, ended('success'))
    assert told.is_settled
    record = closed(told, True, 'all 2 steps verified')
    assert (record.success, record.end, record.cause) == (True, 'success', '')
    assert record.subtasks == (('grasp(apple)', True), ('place(apple, bowl)', True))
    assert (record.steps, record.chunks, record.duration_s) == (8, 2, 1.0)
    assert (record.episode_return, record.number, record.key) == (3.0, 7, ('t', 3, 0, 0))


@pytest.mark.parametrize(
    ('messages', 'reason', 'end', 'cause'),
    [
        ([PLAN, *chunk(1), ended('horizon')], '', 'horizon', 'never_grasped'),
        ([PLAN, *chunk(1, NAMES[:1]), *chunk(2), ended('horizon')], '', 'horizon', 'not_done'),
        ([PLAN, *chunk(1)], 'time limit of 5 s reached', 'horizon', 'never_grasped'),
        ([PLAN, *chunk(1)], 'not done within 15 s', 'gave_up', 'never_grasped'),
        ([PLAN], 'cancelled', 'cancelled', 'cancelled'),
        ([], 'planner rules gave no plan', 'no_plan', 'no_plan'),
        ([PLAN, ended('simulation failed: x')], '', 'body_error', 'body_error'),
        ([PLAN, ended('reset')], '', 'body_error', 'body_error'),
        ([PLAN, Safety(2_000, SafetyState.STOPPED, 'x')], '', 'safety_stop', 'safety_stop'),
    ],
)
def test_end_and_cause_of_a_failure(messages, reason, end, cause):
    record = closed(tell(account(), *messages), reason=reason)
    assert (record.success, record.end, record.cause) == (False, end, cause)


def test_a_thing_that_was_let_go_before_its_place_was_dropped():
    told = tell(account(), PLAN, *chunk(1, NAMES[:1]), reward(1, NAMES[0]), *chunk(2))
    record = closed(tell(told, ended('horizon')))
    assert (record.cause, record.cause_detail) == ('dropped', 'apple')


def test_a_broken_episode_says_so_whatever_was_missing():
    assert closed(tell(account(), PLAN, *chunk(1)), broken='policy_error').cause == 'policy_error'


def test_messages_of_other_episodes_do_not_count():
    told = tell(
        account(), *chunk(1, NAMES, success=True, episode=4), reward(1, episode=4, total=9)
    )
    tell(
        told, Plan(999, 1, 'before', STEPS), Verdict(10, 1, 0, 'grasp(apple)', True, 1.0, 0.0, 'm')
    )
    record = closed(told)
    assert (record.chunks, record.episode_return, record.subtasks) == (0, 0.0, ())


def test_takeovers_and_stops_are_counted_once_each():
    hand = [Intervention(2_000, 5, on, 'm', np.zeros(7, np.float32)) for on in (1, 1, 0, 1, 0)]
    states = [SafetyState.HOLD, SafetyState.STOPPED, SafetyState.EMERGENCY, SafetyState.OK]
    stops = [Safety(2_000 + k, state, '') for k, state in enumerate([*states, *states])]
    record = closed(tell(account(), PLAN, *hand, *stops))
    assert (record.interventions, record.safety_stops) == (2, 2)


def test_other_judges():
    done = [PLAN, *chunk(1), reward(1, *NAMES)]
    assert closed(tell(account('subtasks'), *done)).success
    assert not closed(tell(account('subtasks'), PLAN, *chunk(1), reward(1, NAMES[0]))).success
    assert not closed(tell(account('subtasks'))).success
    assert closed(tell(account('person'), PLAN, *chunk(1)), mark=True).success
    refused = closed(tell(account('person'), *done), success=True, mark=False)
    assert (refused.success, refused.cause) == (False, 'not_judged')


def test_without_predicates_what_the_monitor_verified_is_done():
    verdict = Verdict(2_000, 1, 0, 'grasp(apple)', True, 1.0, 0.0, 'm')
    record = closed(tell(account('subtasks'), PLAN, verdict), reason='not done within 15 s')
    assert record.subtasks == (('grasp(apple)', True), ('place(apple, bowl)', False))
    assert (record.cause, record.cause_detail) == ('not_done', '2 of 2: place(apple, bowl)')
