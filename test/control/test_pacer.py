"""Claims of the pacer: deadlines on a grid, catching up, an honest factor."""

import pytest

from structrl_ros.control.pacer import Pacer
from structrl_ros.errors import ParameterError


def drive(pacer, costs):
    """Return the times at which periods begin, where each then costs some seconds."""
    now, begun = 0.0, []
    for cost in costs:
        now += pacer.wait_s(now)
        pacer.ticked(now)
        begun.append(round(now, 6))
        now += cost
    return begun


def test_periods_begin_on_the_grid():
    assert drive(Pacer(period_s=0.1), [0.03] * 4) == [0.0, 0.1, 0.2, 0.3]


def test_slow_period_is_caught_up_by_the_next_ones():
    begun = drive(Pacer(period_s=0.1), [0.25, 0.01, 0.01, 0.01, 0.01])
    assert begun == [0.0, 0.25, 0.26, 0.3, 0.4]


def test_debt_beyond_the_limit_is_dropped():
    begun = drive(Pacer(period_s=0.1, max_debt_s=0.5), [1.0, 0.01, 0.01])
    assert begun == [0.0, 1.0, 1.1]


def test_real_time_factor_is_one_when_held_and_a_half_when_too_slow():
    held, slow = Pacer(period_s=0.1), Pacer(period_s=0.1)
    drive(held, [0.05] * 30)
    drive(slow, [0.2] * 30)
    assert held.real_time_factor == pytest.approx(1.0)
    assert slow.real_time_factor == pytest.approx(0.5, abs=0.02)


def test_restart_forgets_debt_and_measurements():
    pacer = Pacer(period_s=0.1)
    drive(pacer, [0.2] * 5)
    pacer.restart()
    assert pacer.real_time_factor == 0.0
    assert pacer.wait_s(100.0) == 0.0


def test_periods_must_be_positive():
    with pytest.raises(ParameterError, match='above 0'):
        Pacer(period_s=0.0)
