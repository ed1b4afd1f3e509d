"""Comparisons of two ways to train over several seeds: intervals, permutations, overlap."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from structrl_ros.errors import ParameterError
from structrl_ros.types import Float64

#: Above this many divisions of the values into two groups, a permutation test draws some of them.
MOST_DIVISIONS = 200_000


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over seeds, or a difference of two, with its confidence interval.

    `low` and `high` are None where there are too few values to tell.
    """

    mean: float
    low: float | None
    high: float | None


def mean_estimate(values: Sequence[float], confidence: float = 0.95) -> Estimate:
    """Return the mean with the interval of Student's t.

    Args:
        values: One a seed, at least one; with one there is no interval, and equal ones give an
            interval of no width, which says nothing of other seeds.
        confidence: Two-sided level, in (0, 1).

    Raises:
        ParameterError: If there is no value, one is not finite, or the level is out of range.
    """
    found = _checked(values)
    _check_confidence(confidence)
    mean = float(found.mean())
    if len(found) == 1:
        return Estimate(mean, None, None)
    error = float(found.std(ddof=1)) / math.sqrt(len(found))
    from scipy import stats

    half = error * float(stats.t.ppf(0.5 + confidence / 2.0, len(found) - 1))
    return Estimate(mean, mean - half, mean + half)


def difference_estimate(
    first: Sequence[float], second: Sequence[float], confidence: float = 0.95
) -> Estimate:
    """Return mean(first) - mean(second) with the interval of Welch's t.

    Welch, "The generalization of 'Student's' problem when several different population variances
    are involved", Biometrika 34 (1947): the variances may differ.

    Raises:
        ParameterError: As for `mean_estimate`.
    """
    a, b = _checked(first), _checked(second)
    _check_confidence(confidence)
    difference = float(a.mean() - b.mean())
    if min(len(a), len(b)) == 1:
        return Estimate(difference, None, None)
    parts = [float(v.var(ddof=1)) / len(v) for v in (a, b)]
    error = math.sqrt(sum(parts))
    if error == 0.0:
        return Estimate(difference, difference, difference)
    freedom = error**4 / sum(p**2 / (len(v) - 1) for p, v in zip(parts, (a, b), strict=True))
    from scipy import stats

    half = error * float(stats.t.ppf(0.5 + confidence / 2.0, freedom))
    return Estimate(difference, difference - half, difference + half)


def permutation_p(first: Sequence[float], second: Sequence[float], *, seed: int = 0) -> float:
    """Return the two-sided p of a difference of means, from the divisions of all values.

    Under the null hypothesis the labels mean nothing, so every division of the values into two
    groups of these sizes is as likely. p is the share of divisions whose difference of means is at
    least as large; all of them are looked at up to `MOST_DIVISIONS` (8 and 8 seeds have 12,870).

    Args:
        first: Values of one way, at least two.
        second: Of the other.
        seed: Of the divisions that are drawn, where there are too many.

    Raises:
        ParameterError: If a group has fewer than two values, or one is not finite.
    """
    a, b = _checked(first, 2), _checked(second, 2)
    divisions = math.comb(len(a) + len(b), len(a))

    def difference(x: Float64, y: Float64, axis: int = -1) -> Float64:
        return np.asarray(np.abs(x.mean(axis=axis) - y.mean(axis=axis)))

    from scipy import stats

    found = stats.permutation_test(
        (a, b),
        difference,
        permutation_type='independent',
        alternative='greater',
        n_resamples=divisions if divisions <= MOST_DIVISIONS else 10_000,
        vectorized=True,
        rng=np.random.default_rng(seed),
    )
    return float(found.pvalue)


def paired_p(first: Sequence[float], second: Sequence[float], *, seed: int = 0) -> float:
    """Return the two-sided p of a mean difference of pairs, by exchanging the values of pairs.

    Under the null hypothesis either value of a pair could be the first's, so that each of the 2^n
    exchanges is as likely; all are looked at up to `MOST_DIVISIONS`.

    Args:
        first: Values of one way, at least two.
        second: Of the other, with the same seeds in the same order.
        seed: Of the exchanges that are drawn, where there are too many.

    Raises:
        ParameterError: If there are fewer than two pairs, or a value is not finite.
    """
    differences = _differences(first, second)
    from scipy import stats

    def size(x: Float64, axis: int = -1) -> Float64:
        return np.asarray(np.abs(x.mean(axis=axis)))

    exchanges = 2 ** len(differences)
    found = stats.permutation_test(
        (differences,),
        size,
        permutation_type='samples',
        alternative='greater',
        n_resamples=exchanges if exchanges <= MOST_DIVISIONS else 10_000,
        vectorized=True,
        rng=np.random.default_rng(seed),
    )
    return float(found.pvalue)


def detectable_difference(
    first: Sequence[float], second: Sequence[float], *, power: float = 0.8, level: float = 0.05
) -> float:
    """Return the mean difference of pairs that so many seeds find with some chance.

    (t(1 - level / 2) + t(power)) s / sqrt(n) of Student's t with n - 1 degrees of freedom, where s
    is the standard deviation of the n differences: the usual approximation for a paired t test.

    Args:
        first: Values of one way, at least two.
        second: Of the other, with the same seeds in the same order.
        power: The chance, in (0, 1).
        level: Of the two-sided test, in (0, 1).

    Raises:
        ParameterError: If there are fewer than two pairs, or a number is out of range.
    """
    differences = _differences(first, second)
    _check_confidence(power)
    _check_confidence(level)
    from scipy import stats

    freedom = len(differences) - 1
    quantiles = float(stats.t.ppf(1.0 - level / 2.0, freedom)) + float(stats.t.ppf(power, freedom))
    error = float(differences.std(ddof=1)) / math.sqrt(len(differences))
    return quantiles * error


def fisher_p(first: int, first_of: int, second: int, second_of: int) -> float:
    """Return the two-sided p of Fisher's exact test that two rates are the same.

    Args:
        first: Successes, in [0, `first_of`].
        first_of: Trials, one or more.
        second: Successes of the other.
        second_of: Its trials.

    Raises:
        ParameterError: If a count is out of range.
    """
    for count, trials in ((first, first_of), (second, second_of)):
        if trials < 1 or not 0 <= count <= trials:
            raise ParameterError(f'{count} successes of {trials}; allowed: 0 <= successes <= n')
    table = np.array([[first, first_of - first], [second, second_of - second]])
    from scipy import stats

    return float(stats.fisher_exact(table).pvalue)


def overlaps(first: Sequence[float], second: Sequence[float]) -> bool:
    """Return whether the ranges of two groups of values have a point in common.

    Raises:
        ParameterError: If a group is empty or a value is not finite.
    """
    a, b = _checked(first), _checked(second)
    return bool(a.min() <= b.max() and b.min() <= a.max())


def _differences(first: Sequence[float], second: Sequence[float]) -> Float64:
    a, b = _checked(first, 2), _checked(second, 2)
    if len(a) != len(b):
        raise ParameterError(f'pairs of {len(a)} and {len(b)} values; allowed: as many of both')
    return a - b


def _checked(values: Sequence[float], least: int = 1) -> Float64:
    found = np.asarray(values, dtype=np.float64)
    if found.ndim != 1 or len(found) < least or not np.isfinite(found).all():
        raise ParameterError(f'values {list(values)}; allowed: {least} finite numbers or more')
    return found


def _check_confidence(confidence: float) -> None:
    if not 0.0 < confidence < 1.0:
        raise ParameterError(f'confidence {confidence}; allowed: between 0 and 1')
