"""Correlation of success rates between two evaluations, against scipy, by hand and by coverage."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from structrl_ros.errors import ParameterError
from structrl_ros.evaluation.sim_to_real import compare_sim_to_real
from structrl_ros.evaluation.sim_to_real_measures import mean_maximum_rank_violation
from structrl_ros.evaluation.sim_to_real_measures import pearson
from structrl_ros.evaluation.sim_to_real_measures import spearman

SIM = {'a': (9, 10), 'b': (5, 10), 'c': (2, 10), 'd': (7, 10), 'e': (0, 10)}
REAL = {'a': (16, 20), 'b': (11, 20), 'c': (3, 20), 'd': (10, 20), 'e': (1, 20)}

rates = st.lists(st.tuples(st.integers(0, 10), st.integers(0, 10)), min_size=3, max_size=8).filter(
    lambda rows: len({a for a, _ in rows}) > 1 and len({b for _, b in rows}) > 1
)


def row(values):
    return np.array([values], dtype=np.float64) / 10.0


@given(rates)
def test_correlations_are_those_of_scipy(rows):
    sim, real = row([a for a, _ in rows]), row([b for _, b in rows])
    assert pearson(sim, real)[0] == pytest.approx(stats.pearsonr(sim[0], real[0])[0], abs=1e-12)
    assert spearman(sim, real)[0] == pytest.approx(stats.spearmanr(sim[0], real[0])[0], abs=1e-12)


@given(rates)
def test_rank_violation_is_bounded_and_zero_where_the_order_is_kept(rows):
    sim, real = row([a for a, _ in rows]), row([b for _, b in rows])
    assert 0.0 <= mean_maximum_rank_violation(sim, real)[0] <= np.ptp(real) + 1e-12
    assert mean_maximum_rank_violation(real**2, real)[0] == 0.0


def test_rank_violation_by_hand():
    # Simulation swaps b and c, which are 0.3 apart in reality: (0 + 0.3 + 0.3) / 3.
    found = mean_maximum_rank_violation(row([1, 6, 4]), row([1, 5, 8]))
    assert found[0] == pytest.approx(0.2)
    # A tie in simulation violates the order of the pair once.
    assert mean_maximum_rank_violation(row([5, 5]), row([2, 8]))[0] == pytest.approx(0.3)


def test_a_comparison_tells_rates_intervals_and_the_difference():
    found = compare_sim_to_real(SIM, {**REAL, 'f': (1, 2)})
    x, y = ([v[0] / v[1] for v in side.values()] for side in (SIM, REAL))
    assert found.pearson.value == pytest.approx(stats.pearsonr(x, y)[0])
    assert found.spearman.value == pytest.approx(stats.spearmanr(x, y)[0])
    assert found.difference == pytest.approx(np.mean(x) - np.mean(y))
    assert found.difference_interval[0] < found.difference < found.difference_interval[1]
    assert found.pearson.interval[0] < found.pearson.value
    assert found.left_out == ('f',)
    first = found.to_json()['tasks'][0]
    assert first['p_value'] == pytest.approx(stats.fisher_exact([[9, 1], [16, 4]])[1])
    low, middle, high = found.pearson.alike
    assert low < middle < high <= 1.0


def test_the_same_seed_gives_the_same_intervals():
    assert compare_sim_to_real(SIM, REAL, seed=3) == compare_sim_to_real(SIM, REAL, seed=3)
    assert compare_sim_to_real(SIM, REAL, seed=3) != compare_sim_to_real(SIM, REAL, seed=4)


def test_more_episodes_narrow_the_interval_and_raise_what_one_world_would_show():
    def times(side, factor):
        return {t: (k * factor, n * factor) for t, (k, n) in side.items()}

    few = compare_sim_to_real(SIM, REAL)
    many = compare_sim_to_real(times(SIM, 50), times(REAL, 50))
    assert np.ptp(many.difference_interval) < np.ptp(few.difference_interval)
    assert np.ptp(many.pearson.alike) < np.ptp(few.pearson.alike)
    assert many.pearson.alike[1] > few.pearson.alike[1]


def test_the_interval_of_the_difference_covers_the_truth():
    random = np.random.default_rng(5)
    hits, trials, n = 0, 60, 25
    for trial in range(trials):
        true_sim, true_real = random.uniform(0.1, 0.9, 12), random.uniform(0.1, 0.9, 12)
        sim, real = (
            {str(t): (int(random.binomial(n, p)), n) for t, p in enumerate(side)}
            for side in (true_sim, true_real)
        )
        low, high = compare_sim_to_real(sim, real, seed=trial, resamples=1000).difference_interval
        hits += low <= 0.0 <= high  # tasks are drawn from a world without a difference
    assert hits >= 51  # 95 % would be 57


@pytest.mark.parametrize(
    ('sim', 'real', 'line'),
    [
        ({'a': (1, 2)}, {'a': (1, 2)}, '1 common task(s); pearson needs 3 and more'),
        (
            {'a': (1, 2), 'b': (2, 2)},
            {'a': (1, 2), 'b': (1, 2)},
            '2 common task(s); pearson needs 3 and more',
        ),
        (
            {'a': (4, 5), 'b': (8, 10), 'c': (4, 5)},
            {'a': (1, 5), 'b': (2, 5), 'c': (3, 5)},
            'every task has the success rate 0.8 in simulation: no pearson',
        ),
        (
            {'a': (1, 5), 'b': (2, 5), 'c': (3, 5)},
            {'a': (5, 5), 'b': (5, 5), 'c': (5, 5)},
            'every task has the success rate 1 in the real side: no pearson',
        ),
    ],
)
def test_what_defines_no_correlation_is_told_in_one_line(sim, real, line):
    found = compare_sim_to_real(sim, real)
    assert (found.pearson.value, found.pearson.interval) == (None, None)
    assert found.pearson.note == line
    assert (found.mmrv.value is None) == (len(sim) < 2)


def test_all_failures_but_one_give_a_value_without_an_interval():
    sim = {t: (int(t == 'a'), 1) for t in 'abcdefgh'}
    found = compare_sim_to_real(sim, sim)
    assert found.pearson.value == pytest.approx(1.0)
    single = compare_sim_to_real(
        {t: (int(t == 'a'), 20) for t in 'abc'}, {t: (int(t == 'a'), 20) for t in 'abc'}
    )
    assert single.pearson.interval is None
    assert 'no interval' in single.pearson.note


@pytest.mark.parametrize(
    ('sim', 'real', 'line'),
    [
        ({}, {}, 'no task is in both evaluations'),
        ({'a': (1, 2)}, {'b': (1, 2)}, 'no task is in both evaluations: a and b'),
        ({'a': (0, 0)}, {'a': (1, 2)}, 'a: 0 successes of 0; allowed'),
        ({'a': (3, 2)}, {'a': (1, 2)}, 'a: 3 successes of 2; allowed'),
    ],
)
def test_what_cannot_be_compared_is_refused(sim, real, line):
    with pytest.raises(ParameterError) as error:
        compare_sim_to_real(sim, real)
    assert str(error.value).startswith(line)
