"""Comparisons over seeds, by hand-worked numbers and against known tables."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
from scipy import stats

from structrl_ros.errors import ParameterError
from structrl_ros.evaluation.comparison import Estimate
from structrl_ros.evaluation.comparison import detectable_difference
from structrl_ros.evaluation.comparison import difference_estimate
from structrl_ros.evaluation.comparison import fisher_p
from structrl_ros.evaluation.comparison import mean_estimate
from structrl_ros.evaluation.comparison import overlaps
from structrl_ros.evaluation.comparison import paired_p
from structrl_ros.evaluation.comparison import permutation_p


def test_interval_of_a_mean_is_students():
    # 1, 2, 3: deviation 1, error 1 / sqrt(3), t(.975, 2) = 4.3027.
    estimate = mean_estimate([1.0, 2.0, 3.0])
    assert estimate.mean == 2.0
    assert estimate.high == pytest.approx(2.0 + 4.302652730 / math.sqrt(3.0))
    assert estimate.low == pytest.approx(2.0 - 4.302652730 / math.sqrt(3.0))


def test_one_seed_has_no_interval():
    assert mean_estimate([0.4]) == Estimate(0.4, None, None)
    assert difference_estimate([0.4], [0.1, 0.2]).low is None


def test_interval_of_a_difference_is_welchs():
    first, second = [1.0, 2.0, 3.5], [0.0, 2.0, 4.0, 9.0]
    estimate = difference_estimate(first, second)
    wanted = stats.ttest_ind(first, second, equal_var=False).confidence_interval()
    assert (estimate.low, estimate.high) == pytest.approx((wanted.low, wanted.high))


def test_equal_values_differ_without_width():
    estimate = difference_estimate([0.5, 0.5], [0.0, 0.0])
    assert (estimate.low, estimate.mean, estimate.high) == (0.5, 0.5, 0.5)


def test_groups_of_eight_that_do_not_overlap_have_the_smallest_p_there_is():
    low, high = [0.0] * 7 + [0.01], [0.3 + 0.01 * i for i in range(8)]
    assert permutation_p(high, low) == pytest.approx(2 / 12870)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 9), min_size=5, max_size=7), st.integers(2, 3))
def test_p_is_the_share_of_divisions_that_differ_as_much(values, cut):
    found = permutation_p(values[:cut], values[cut:])
    total, wanted, count, all_of = sum(values), None, 0, 0
    for chosen in itertools.combinations(range(len(values)), cut):
        own = sum(values[i] for i in chosen)
        far = abs(own / cut - (total - own) / (len(values) - cut))
        wanted = far if wanted is None else wanted  # the first division is the one observed
        count += far >= wanted - 1e-9
        all_of += 1
    assert found == pytest.approx(count / all_of)


def test_many_seeds_are_drawn_and_still_reproducible():
    random = np.random.default_rng(0)
    a, b = random.normal(size=15).tolist(), random.normal(0.3, size=15).tolist()
    assert permutation_p(a, b) == permutation_p(a, b)
    assert permutation_p(a, b) == pytest.approx(permutation_p(b, a), abs=0.03)


def test_fisher_gives_the_p_of_the_lady_tasting_tea():
    assert fisher_p(4, 4, 0, 4) == pytest.approx(2 / 70)
    assert fisher_p(3, 4, 1, 4) == pytest.approx(34 / 70)


def test_ranges_that_touch_overlap():
    assert overlaps([0.1, 0.2], [0.2, 0.3])
    assert not overlaps([0.21, 0.3], [0.0, 0.2])


@pytest.mark.parametrize(
    ('call', 'line'),
    [
        (lambda: mean_estimate([]), '1 finite numbers or more'),
        (lambda: permutation_p([1.0], [float('nan')]), '2 finite numbers or more'),
        (lambda: fisher_p(3, 2, 0, 1), '3 successes of 2'),
        (lambda: mean_estimate([1.0], confidence=1.0), 'confidence 1.0'),
    ],
)
def test_what_cannot_be_compared_is_refused_in_a_line(call, line):
    with pytest.raises(ParameterError, match=line):
        call()


def test_pairs_are_compared_within_their_seed():
    first, second = [0.2, 0.6, 1.0, 0.4], [0.1, 0.5, 0.9, 0.3]
    assert paired_p(first, second) == pytest.approx(2 / 16)
    assert permutation_p(first, second) > 0.5
    assert paired_p([1.0, 2.0], [2.0, 1.0]) == 1.0
    with pytest.raises(ParameterError, match='pairs of 3 and 2 values'):
        paired_p([1.0, 2.0, 3.0], [1.0, 2.0])


def test_what_four_seeds_find_in_four_of_five_tries_by_hand():
    # Differences 0, 0, 2, 2: deviation 2 / sqrt(3), of the mean 1 / sqrt(3).
    # t(.975; 3) = 3.182 and t(.8; 3) = .978.
    found = detectable_difference([0.0, 0.0, 2.0, 2.0], [0.0] * 4)
    assert found == pytest.approx((3.182446 + 0.978472) / 3**0.5, abs=1e-5)


def test_a_paired_t_test_finds_that_difference_in_about_four_of_five_tries():
    from scipy import stats

    random = np.random.default_rng(0)
    drawn = random.standard_normal((400, 12))
    unit = float(stats.t.ppf(0.975, 11) + stats.t.ppf(0.8, 11)) / 12**0.5
    found = stats.ttest_1samp(drawn + unit, 0.0, axis=1).pvalue < 0.05
    assert 0.74 <= found.mean() <= 0.90
