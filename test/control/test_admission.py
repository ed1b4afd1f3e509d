"""Claims of admission: what must not move the body, and the reason given."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structrl_ros.control.admission import AdmissionRules
from structrl_ros.control.admission import ChunkAdmission
from structrl_ros.types import ActionChunk

NOW = 10_000_000_000
SECOND = 1_000_000_000
RULES = AdmissionRules(
    action_space='ee_delta_pose', action_dimension=7, step_period_s=0.05, max_age_s=1.0
)
GOOD = ActionChunk(NOW, 3, 1, 'policy', 'ee_delta_pose', 0.05, np.zeros((8, 7), np.float32))


@pytest.fixture
def door():
    door = ChunkAdmission(RULES)
    door.open_episode(3)
    return door


def spoiled(value):
    actions = np.zeros((8, 7), np.float32)
    actions[2, 4] = value
    return actions


def test_good_chunk_is_admitted(door):
    assert door.reject(GOOD, NOW) == ''


@pytest.mark.parametrize(
    ('change', 'reason'),
    [
        ({'actions': spoiled(np.nan)}, 'nan in row 2, dimension 4'),
        ({'actions': spoiled(-np.inf)}, '-inf in row 2, dimension 4'),
        ({'actions': np.zeros((8, 6), np.float32)}, 'shape (8, 6); allowed: (K, 7)'),
        ({'actions': np.zeros(7, np.float32)}, 'shape (7,)'),
        ({'actions': np.zeros((1001, 7), np.float32)}, '1001 rows; allowed: at most 1000'),
        ({'action_space': 'joint'}, "'joint'; this body takes 'ee_delta_pose'"),
        ({'episode': 2}, 'chunk of episode 2; running: 3'),
        ({'episode': 4}, 'chunk of episode 4; running: 3'),
        ({'source': 'hacker'}, "source 'hacker' is not allowed"),
        ({'stamp_ns': NOW + SECOND}, 'stamp 1 s in the future'),
        ({'stamp_ns': NOW - 2 * SECOND}, 'chunk 2.00 s old, limit 1.00 s'),
        ({'stamp_ns': 1_600_000_000 * SECOND}, 'in the future'),
        ({'step_period': 0.1}, 'step period 0.1 s; this body steps every 0.05 s'),
        ({'step_period': float('nan')}, 'step period nan s'),
        ({'chunk': 0}, 'chunk number 0 does not rise (last 0)'),
    ],
)
def test_bad_chunk_is_rejected_with_its_reason(door, change, reason):
    assert reason in door.reject(replace(GOOD, **change), NOW)
    assert door.reject(GOOD, NOW) == ''


def test_stamp_within_the_tolerance_is_no_future_stamp(door):
    assert door.reject(replace(GOOD, stamp_ns=NOW + SECOND // 25), NOW) == ''


def test_nothing_is_admitted_before_an_episode_and_after_its_end(door):
    assert 'no episode yet' in ChunkAdmission(RULES).reject(GOOD, NOW)
    door.close_episode('episode 3 has ended (success): call reset_episode')
    assert 'has ended (success)' in door.reject(GOOD, NOW)
    door.open_episode(4)
    assert door.reject(replace(GOOD, episode=4), NOW) == ''


def test_repeated_number_is_rejected_and_third_time_names_two_publishers(door):
    assert door.reject(GOOD, NOW) == ''
    first = door.reject(GOOD, NOW + SECOND // 10)
    assert 'chunk number 1 does not rise (last 1)' in first
    assert 'two publishers' not in first
    door.reject(GOOD, NOW + SECOND // 5)
    third = door.reject(GOOD, NOW + SECOND // 4, publishers=lambda: ('/policy_node', '/rogue'))
    assert '3 times in 2 s: two publishers (/policy_node, /rogue)' in third


def test_repeats_long_ago_do_not_count_as_two_publishers(door):
    door.reject(GOOD, NOW)
    for i in range(4):
        late = replace(GOOD, stamp_ns=NOW + 3 * i * SECOND)
        assert 'two publishers' not in door.reject(late, NOW + 3 * i * SECOND)


def test_restarted_policy_is_admitted_once_the_body_is_idle(door):
    door.reject(replace(GOOD, chunk=7), NOW)
    restarted = replace(GOOD, chunk=6, stamp_ns=NOW + SECOND)
    assert 'does not rise' in door.reject(restarted, NOW + SECOND)
    assert door.reject(restarted, NOW + SECOND, is_idle=True) == ''
    assert door.reject(replace(restarted, chunk=7), NOW + SECOND) == ''


def test_an_old_chunk_sent_again_is_no_restart(door):
    door.reject(GOOD, NOW)
    assert 'does not rise' in door.reject(GOOD, NOW + SECOND // 2, is_idle=True)


def test_numbers_may_start_again_in_a_new_episode(door):
    door.reject(replace(GOOD, chunk=9), NOW)
    door.open_episode(4)
    assert door.reject(replace(GOOD, episode=4), NOW) == ''


def test_empty_chunk_is_a_drop_in_real_time_and_refused_in_lockstep():
    empty = replace(GOOD, actions=np.zeros((0, 7), np.float32))
    for allow, expected in ((True, ''), (False, 'chunk without rows')):
        door = ChunkAdmission(replace(RULES, allow_empty=allow))
        door.open_episode(3)
        assert door.reject(empty, NOW).startswith(expected)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(-3, 3), st.integers(2, 4)), max_size=30))
def test_admitted_numbers_rise_within_an_episode_while_the_body_runs(arrivals):
    door = ChunkAdmission(RULES)
    door.open_episode(3)
    admitted = []
    for number, seconds, episode in arrivals:
        c = replace(GOOD, chunk=number, episode=episode, stamp_ns=NOW + seconds * SECOND)
        if not door.reject(c, NOW):
            assert episode == 3
            assert -1 <= seconds <= 0
            admitted.append(number)
    assert admitted == sorted(set(admitted))
