"""Wilson intervals against scipy and by hand; periods of streams with rests and faults."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from structrl_ros.errors import ParameterError
from structrl_ros.evaluation.statistics import Rate
from structrl_ros.evaluation.statistics import percentile
from structrl_ros.evaluation.statistics import period_statistics
from structrl_ros.evaluation.statistics import wilson_interval


def test_wilson_interval_matches_hand_worked_numbers():
    # n = 10, p = 0.8, z = 1.959964: centre (0.8 + 0.192073) / 1.384146, half 0.226541.
    assert wilson_interval(8, 10) == pytest.approx((0.490162, 0.943318), abs=1e-6)
    # p = 0: the upper bound is z^2 / (n + z^2) = 3.841459 / 23.841459.
    assert wilson_interval(0, 20) == pytest.approx((0.0, 0.161125), abs=1e-6)


def test_wilson_interval_of_nothing_tells_nothing():
    assert wilson_interval(0, 0) == (0.0, 1.0)


@given(st.integers(1, 3000), st.data(), st.floats(0.01, 0.999))
def test_wilson_interval_equals_scipy(n, data, confidence):
    k = data.draw(st.integers(0, n))
    expected = binomtest(k, n).proportion_ci(confidence, method='wilson')
    assert wilson_interval(k, n, confidence) == pytest.approx(tuple(expected), abs=1e-12)


@given(st.integers(1, 500), st.data())
def test_wilson_interval_holds_the_rate_and_mirrors(n, data):
    k = data.draw(st.integers(0, n))
    low, high = wilson_interval(k, n)
    assert 0.0 <= low <= k / n <= high <= 1.0
    assert wilson_interval(n - k, n) == pytest.approx((1.0 - high, 1.0 - low), abs=1e-12)


@pytest.mark.parametrize('bad', [(-1, 3, 0.95), (4, 3, 0.95), (0, -1, 0.95), (1, 2, 1.0)])
def test_wilson_interval_refuses_impossible_counts(bad):
    with pytest.raises(ParameterError, match='allowed'):
        wilson_interval(*bad)


def test_percentile_is_linear_between_ranks():
    assert percentile([4.0, 1.0, 2.0, 3.0], 50.0) == 2.5
    assert percentile([], 99.0) is None


def test_a_rate_of_no_trials_has_no_value_and_the_widest_interval():
    assert Rate(0, 0).to_json() == {'count': 0, 'n': 0, 'value': None, 'interval': [0.0, 1.0]}
    assert Rate(3, 4).to_json() == {
        'count': 3,
        'n': 4,
        'value': 0.75,
        'interval': list(wilson_interval(3, 4)),
    }


def test_period_statistics_of_a_steady_stream():
    found = period_statistics([1_000_000_000 + 200_000_000 * i for i in range(51)])
    assert (found.count, found.rate_hz, found.backwards) == (50, 5.0, 0)
    assert (found.p50_s, found.p99_s, found.max_s) == (0.2, 0.2, 0.2)


def test_period_statistics_see_one_late_tick():
    found = period_statistics([0, 200_000_000, 400_000_000, 1_000_000_000])
    assert found.max_s == 0.6
    assert found.rate_hz == 3.0
    assert found.p99_s == pytest.approx(0.592)


def test_rest_between_runs_is_no_period():
    found = period_statistics([0, 200_000_000, 9_000_000_000, 9_200_000_000], [1, 1, 2, 2])
    assert (found.count, found.max_s) == (2, 0.2)


@pytest.mark.parametrize('stamps', [[], [7]])
def test_too_few_stamps_give_no_figures(stamps):
    found = period_statistics(stamps)
    assert (found.count, found.rate_hz, found.p99_s) == (0, None, None)


def test_clock_that_goes_back_is_counted():
    assert period_statistics([0, 200, 100, 300]).backwards == 1


def test_runs_of_another_length_are_refused():
    with pytest.raises(ParameterError, match='runs'):
        period_statistics([1, 2, 3], [1])
