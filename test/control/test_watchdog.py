"""Claims of the watchdog: when the body holds, and what ends it."""

import pytest

from structrl_ros.control.watchdog import Watchdog
from structrl_ros.errors import ParameterError
from structrl_ros.types import SafetyState

PERIOD = 50_000_000
SECOND = 1_000_000_000


@pytest.fixture
def dog():
    return Watchdog(control_period_s=0.05, max_observation_age_s=0.2)


def test_body_holds_before_the_first_chunk(dog):
    assert dog.state is SafetyState.HOLD
    assert 'no chunk yet' in dog.reason
    dog.admit(0, 0)
    assert dog.state is SafetyState.OK
    assert dog.reason == ''


def test_no_chunk_for_two_control_periods_is_a_hold(dog):
    dog.admit(0, 0)
    assert dog.tick(0, 0, has_row=True) is SafetyState.OK
    assert dog.tick(PERIOD, PERIOD, has_row=False) is SafetyState.OK
    assert dog.tick(2 * PERIOD, 2 * PERIOD, has_row=False) is SafetyState.HOLD
    assert dog.reason == 'no chunk for 0.10 s, limit 0.10 s: holding position'


def test_a_row_in_between_starts_the_count_again(dog):
    dog.admit(0, 0)
    for has_row in (False, True, False, True, False):
        assert dog.tick(0, 0, has_row=has_row) is SafetyState.OK


def test_old_observation_is_a_hold_with_both_numbers(dog):
    dog.admit(0, 0)
    assert dog.tick(SECOND // 5, 0, has_row=True) is SafetyState.OK
    assert dog.tick(310_000_000, 0, has_row=True) is SafetyState.HOLD
    assert dog.reason == 'chunk 0.31 s old, limit 0.20 s: holding position'


def test_latency_is_that_of_the_chunk_that_runs_not_the_worst_ever(dog):
    """LeRobot #4223: the latency estimate kept its maximum after the slow chunk was gone."""
    dog.admit(0, 0)
    dog.tick(7 * PERIOD, 7 * PERIOD, has_row=True)
    assert dog.state is SafetyState.HOLD
    dog.admit(7 * PERIOD, 7 * PERIOD)
    for k in range(100):
        at = (8 + 2 * k) * PERIOD
        dog.admit(at - PERIOD, at)
        assert dog.tick(at, at, has_row=True) is SafetyState.OK


@pytest.mark.parametrize('body_runs', [True, False])
def test_wall_stamp_under_simulation_time_times_out_by_receipt(dog, body_runs):
    """moveit2 #772, ros2_control #570: a stamp 1.6e9 s ahead never timed out."""
    dog.admit(1_600_000_000 * SECOND, SECOND)
    body = 2 * SECOND if body_runs else 0
    assert dog.tick(body, SECOND + PERIOD, has_row=True) is SafetyState.OK
    assert dog.tick(body, 2 * SECOND, has_row=True) is SafetyState.HOLD
    assert dog.reason.startswith('chunk 1.00 s old')


def test_hold_ends_with_the_next_good_chunk(dog):
    dog.admit(0, 0)
    dog.tick(SECOND, SECOND, has_row=True)
    assert dog.state is SafetyState.HOLD
    dog.admit(SECOND, SECOND)
    assert dog.tick(SECOND, SECOND, has_row=True) is SafetyState.OK


@pytest.mark.parametrize(
    ('latch', 'state'),
    [(Watchdog.stop, SafetyState.STOPPED), (Watchdog.emergency, SafetyState.EMERGENCY)],
)
def test_stop_and_emergency_are_latched_until_an_operator_resets(dog, latch, state):
    dog.admit(0, 0)
    latch(dog, 'button pressed')
    assert dog.is_latched
    dog.admit(0, 0)
    dog.open_episode()
    dog.hold('anything')
    assert dog.tick(0, 0, has_row=True) is state
    assert 'button pressed' in dog.reason
    dog.operator_reset()
    assert dog.state is SafetyState.HOLD
    dog.admit(0, 0)
    assert dog.state is SafetyState.OK


def test_stop_does_not_weaken_an_emergency(dog):
    dog.emergency('button')
    dog.stop('takeover')
    assert dog.state is SafetyState.EMERGENCY


def test_new_episode_forgets_the_chunk_before(dog):
    dog.admit(0, 0)
    dog.open_episode()
    assert dog.state is SafetyState.HOLD
    assert 'no chunk yet' in dog.reason


@pytest.mark.parametrize('bad', [0.0, -1.0, float('nan')])
def test_limits_must_be_above_zero(bad):
    with pytest.raises(ParameterError, match='allowed: above 0'):
        Watchdog(control_period_s=0.05, max_observation_age_s=bad)
