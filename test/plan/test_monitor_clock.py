"""The monitor's grid of 0.2 s under fast, slow and late calls."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structrl_ros.errors import ParameterError
from structrl_ros.plan.monitor_clock import MonitorClock
from structrl_ros.plan.monitor_clock import monitor_health

MS = 1_000_000


def _run(latency_ms, duration_ms, step_ms=1):
    """Simulate a monitor of fixed latency over body time; return the clock and its starts."""
    clock, starts, ends_at = MonitorClock(), [], None
    for now in range(1000, 1000 + duration_ms + 1, step_ms):
        if ends_at is not None and now >= ends_at:
            clock.end(latency_ms / 1000)
            ends_at = None
        if clock.is_due(now * MS):
            clock.begin(now * MS)
            starts.append(now)
            ends_at = now + latency_ms
    return clock, starts


@pytest.mark.parametrize('latency_ms', [1, 40, 150, 199])
def test_fast_monitor_holds_five_hertz_on_the_grid(latency_ms):
    clock, starts = _run(latency_ms, 4000)
    held = clock.statistics()
    assert starts == list(range(1000, 5001, 200))
    assert held.rate_hz == pytest.approx(5.0)
    assert held.period_p99_s == pytest.approx(0.2)
    assert held.dropped == 0


def test_monitor_of_350_ms_holds_2_8_hertz_and_counts_what_it_drops():
    clock, starts = _run(350, 7000)
    held = clock.statistics()
    assert held.rate_hz == pytest.approx(1 / 0.35, rel=0.01)
    assert held.due == 36
    assert held.dropped == 36 - len(starts)
    assert held.latency_p99_s == pytest.approx(0.35)


def test_slow_call_leaves_no_queue_behind():
    clock = MonitorClock()
    assert clock.is_due(1000 * MS)
    clock.begin(1000 * MS)
    assert not clock.is_due(3000 * MS)
    clock.end(2.0)
    assert clock.is_due(3010 * MS)
    clock.begin(3010 * MS)
    clock.end(0.01)
    assert not clock.is_due(3199 * MS)
    assert clock.is_due(3200 * MS)


def test_tick_that_is_seen_late_starts_at_once_and_the_grid_stays():
    clock = MonitorClock()
    clock.is_due(1150 * MS)
    assert clock.is_due(1250 * MS)
    clock.begin(1250 * MS)
    clock.end(0.0)
    assert not clock.is_due(1399 * MS)
    assert clock.is_due(1400 * MS)


def test_pause_is_no_period():
    clock = MonitorClock()
    for now in (1000, 1200, 9000, 9200):
        if now == 9000:
            clock.pause()
        assert clock.is_due(now * MS)
        clock.begin(now * MS)
        clock.end(0.0)
    assert clock.statistics().period_p99_s == pytest.approx(0.2)
    assert clock.statistics().dropped == 0


def test_statistics_of_nothing_are_not_numbers():
    held = MonitorClock().statistics()
    assert held.calls == held.due == held.dropped == 0
    assert math.isnan(held.rate_hz)
    assert math.isnan(held.period_p99_s)


def test_lockstep_runs_the_grid_and_the_end_of_the_chunk():
    clock = MonitorClock()
    assert clock.lockstep_ticks(1000 * MS, 1800 * MS) == tuple(
        t * MS for t in (1200, 1400, 1600, 1800)
    )
    assert clock.lockstep_ticks(1000 * MS, 1500 * MS) == tuple(t * MS for t in (1200, 1400, 1500))
    assert clock.lockstep_ticks(1050 * MS, 1150 * MS) == (1150 * MS,)


@pytest.mark.parametrize('period', [0, -1])
def test_period_must_be_positive(period):
    with pytest.raises(ParameterError, match='positive'):
        MonitorClock(period)


@given(st.integers(1, 900), st.integers(1, 97))
def test_never_faster_than_the_grid_and_never_two_calls_at_once(latency_ms, step_ms):
    clock, starts = _run(latency_ms, 3000, step_ms)
    gaps = [b - a for a, b in itertools.pairwise(starts)]
    assert all(g >= latency_ms for g in gaps)
    assert len(starts) <= 3000 // 200 + 1
    held = clock.statistics()
    assert held.calls + held.dropped == held.due


@given(st.integers(0, 10**10), st.integers(1, 10**9))
def test_lockstep_ticks_rise_and_end_at_the_chunk(before, length):
    ticks = MonitorClock().lockstep_ticks(before, before + length)
    assert list(ticks) == sorted(set(ticks))
    assert ticks[-1] == before + length
    assert all(before < t for t in ticks)


def test_health_tells_a_rate_that_is_held_from_one_that_is_not():
    is_well, text, numbers = monitor_health(_run(10, 4000)[0].statistics(), 5.0)
    assert is_well
    assert text == '5.00 Hz, period p99 200 ms'
    assert numbers['dropped'] == '0'
    is_well, text, numbers = monitor_health(_run(350, 7000)[0].statistics(), 5.0)
    assert not is_well
    assert text.startswith('2.86 Hz, period p99 350 ms, wanted 5 Hz: 15 of 36 ticks dropped')
    assert float(numbers['rate_hz']) == pytest.approx(1 / 0.35, rel=1e-3)
    assert monitor_health(MonitorClock().statistics(), 5.0)[:2] == (True, '0 calls')
