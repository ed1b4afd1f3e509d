"""Paired comparison and stopping rules, against scipy and by simulation."""

import numpy as np
import pytest
from scipy.stats import binomtest

from structrl_ros.errors import ParameterError
from structrl_ros.evaluation.paired import bootstrap_interval
from structrl_ros.evaluation.paired import compare_paired
from structrl_ros.evaluation.paired import mcnemar_exact
from structrl_ros.evaluation.sequential import SequentialTest
from structrl_ros.evaluation.sequential import required_episodes


def results(values, task='t'):
    return {(task, 0, i, 0): bool(v) for i, v in enumerate(values)}


@pytest.mark.parametrize(('a', 'b'), [(0, 0), (1, 0), (3, 9), (10, 10), (0, 6)])
def test_mcnemar_is_the_binomial_test_of_the_discordant_pairs(a, b):
    expected = binomtest(min(a, b), a + b).pvalue if a + b else 1.0
    assert mcnemar_exact(a, b) == pytest.approx(expected)
    assert mcnemar_exact(a, b) == mcnemar_exact(b, a)


def test_counts_and_difference_by_hand():
    found = compare_paired(results([1, 1, 0, 0, 0]), results([1, 0, 1, 1, 1]))
    assert (found.n, found.both, found.only_a, found.only_b) == (5, 1, 1, 3)
    assert found.difference == pytest.approx(0.4)
    assert found.p_value == pytest.approx(0.625)
    assert found.interval[0] < 0.4 < found.interval[1]


def test_all_success_and_all_failure_say_nothing_or_all():
    same = compare_paired(results([1] * 20), results([1] * 20))
    assert (same.difference, same.p_value, same.interval) == (0.0, 1.0, (0.0, 0.0))
    far = compare_paired(results([0] * 20), results([1] * 20))
    assert far.difference == 1.0
    assert far.p_value == pytest.approx(2 * 0.5**20)


def test_unequal_protocols_are_refused_naming_an_episode():
    with pytest.raises(
        ParameterError, match=r'second evaluation lacks 2 episodes.*seed 0 state 3'
    ):
        compare_paired(results([1] * 5), results([1] * 3))
    with pytest.raises(ParameterError, match='empty'):
        compare_paired({}, {})


def test_bootstrap_covers_the_true_difference_about_as_often_as_it_says():
    random = np.random.default_rng(1)
    hits = 0
    for trial in range(200):
        sample = random.choice([-1.0, 0.0, 1.0], p=[0.2, 0.5, 0.3], size=60)
        low, high = bootstrap_interval(sample, ['t'] * 60, seed=trial)
        hits += low <= 0.1 <= high
    assert 0.90 <= hits / 200 <= 0.985


def test_bootstrap_keeps_the_share_of_each_task():
    values = [1.0] * 10 + [0.0] * 30
    low, high = bootstrap_interval(values, ['easy'] * 10 + ['hard'] * 30)
    assert (low, high) == (0.25, 0.25)


@pytest.mark.parametrize(
    ('values', 'groups', 'confidence'),
    [([], [], 0.95), ([1.0], ['a', 'b'], 0.95), ([1.0], ['a'], 1.0)],
)
def test_bootstrap_of_bad_input_is_refused(values, groups, confidence):
    with pytest.raises(ParameterError, match='allowed'):
        bootstrap_interval(values, groups, confidence=confidence)


def test_required_episodes_give_the_power_that_is_asked_for():
    n = required_episodes(0.5, 0.7)
    assert n == required_episodes(0.7, 0.5)
    random = np.random.default_rng(0)
    a, b = random.binomial(n, 0.5, 4000) / n, random.binomial(n, 0.7, 4000) / n
    pooled = (a + b) / 2
    z = (b - a) / np.sqrt(2 * pooled * (1 - pooled) / n)
    assert np.mean(np.abs(z) > 1.96) == pytest.approx(0.8, abs=0.03)


@pytest.mark.parametrize('rates', [(0.5, 0.5), (-0.1, 0.5), (0.5, 1.1)])
def test_required_episodes_of_bad_rates_are_refused(rates):
    with pytest.raises(ParameterError, match=r'allowed|cannot be told apart'):
        required_episodes(*rates)


@pytest.mark.parametrize(('rate', 'wrong'), [(0.4, 'higher'), (0.6, 'lower')])
def test_sequential_test_is_wrong_no_more_often_than_it_says_and_stops_early(rate, wrong):
    test = SequentialTest(low=0.4, high=0.6, error=0.05)
    random = np.random.default_rng(2)
    mistakes, lengths = 0, []
    for _ in range(400):
        successes = n = 0
        while (decision := test.decide(successes, n)) == 'go on':
            n += 1
            successes += int(random.random() < rate)
        mistakes += decision == wrong
        lengths.append(n)
    assert mistakes / 400 <= 0.07
    assert np.mean(lengths) < required_episodes(0.4, 0.6, error=0.1, power=0.95)


def test_sequential_test_of_bad_numbers_is_refused():
    for options in ({'low': 0.6, 'high': 0.4}, {'low': 0.0, 'high': 0.4}):
        with pytest.raises(ParameterError, match='0 < low < high < 1'):
            SequentialTest(**options)
    with pytest.raises(ParameterError, match='between 0 and'):
        SequentialTest(low=0.4, high=0.6, error=0.5)
    with pytest.raises(ParameterError, match='0 <= successes'):
        SequentialTest(low=0.4, high=0.6).decide(3, 2)
