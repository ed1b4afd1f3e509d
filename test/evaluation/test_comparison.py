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
from structrl_ros.evaluation.comparison import difference_estimate
from structrl_ros.evaluation.comparison import fisher_p
from structrl_ros.evaluation.comparison import mean_estimate
from structrl_ros.evaluation.comparison import overlaps
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
