"""One line of a mismatch report, and how two samples of a quantity become one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field
from dataclasses import replace

import numpy as np

from structrl_ros.evaluation.comparison import fisher_p
from structrl_ros.types import Float64

#: How many of how many, at least one.
Share = tuple[int, int]

#: Resamples of a bootstrap, and most values of a sample that it draws from.
RESAMPLES = 2000
MOST_VALUES = 2000
#: Below this p-value two samples are taken to differ.
EVIDENT_P = 0.01


@dataclass(frozen=True, slots=True)
class Side:
    """A quantity on one side: number of values, median, 5 % and 95 % quantiles."""

    count: int
    median: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Mismatch:
    """How far two bags are apart in one quantity.

    Attributes:
        group: 'latency', 'picture', 'action', 'tracking' or 'rate'.
        name: Of the quantity.
        unit: Of the numbers.
        sim: First bag.
        real: Second bag.
        difference: Real less simulation of the medians; a distance where `is_distance`.
        interval: 95 % bootstrap interval of the difference, None where it cannot be had.
        p_value: Two-sample Kolmogorov-Smirnov test, Fisher's of shares; None of other numbers.
            Values that follow one another are alike, so it is smaller than it should be.
        tolerance: The difference from which on it is worth a look.
        remedy: What to look at.
        is_distance: `difference` is a distance between distributions, 0 or more.
        details: Further numbers, name to (sim, real).
    """

    group: str
    name: str
    unit: str
    sim: Side
    real: Side
    difference: float
    interval: tuple[float, float] | None
    p_value: float | None
    tolerance: float
    remedy: str
    is_distance: bool = False
    details: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def size(self) -> float:
        """The difference in tolerances, 0 and more: what the report is ranked by."""
        return abs(self.difference) / self.tolerance

    @property
    def is_evident(self) -> bool:
        """Whether the samples tell the two sides apart; numbers without a test that differ do."""
        if self.difference == 0.0:
            return False
        if self.interval is not None and self.interval[0] <= 0.0 <= self.interval[1]:
            return False
        return self.p_value is None or self.p_value < EVIDENT_P

    def with_detail(self, name: str, sim: float, real: float) -> Mismatch:
        """Return the line with one more of its `details`."""
        return replace(self, details={**self.details, name: (sim, real)})


def compare_samples(
    group: str, name: str, unit: str, sim: Float64, real: Float64, tolerance: float, remedy: str
) -> Mismatch:
    """Return the mismatch of two samples by their medians.

    Args:
        group: See `Mismatch`.
        name: See `Mismatch`.
        unit: See `Mismatch`.
        sim: Values of the first bag, at least one.
        real: Of the second.
        tolerance: See `Mismatch`.
        remedy: See `Mismatch`.
    """
    from scipy.stats import ks_2samp

    a, b = _thinned(sim), _thinned(real)
    p_value = float(ks_2samp(a, b).pvalue) if min(len(a), len(b)) > 1 else None
    return Mismatch(
        group=group,
        name=name,
        unit=unit,
        sim=describe(sim),
        real=describe(real),
        difference=float(np.median(real) - np.median(sim)),
        interval=_median_interval(a, b) if p_value is not None else None,
        p_value=p_value,
        tolerance=tolerance,
        remedy=remedy,
    )


def compare_distance(entry: Mismatch, distance: float) -> Mismatch:
    """Return an entry whose difference is a distance between the two distributions."""
    return replace(entry, difference=distance, interval=None, is_distance=True)


def compare_numbers(
    group: str, name: str, unit: str, sim: float, real: float, tolerance: float, remedy: str
) -> Mismatch:
    """Return the mismatch of one number a side."""
    first, second = (Side(1, value, value, value) for value in (sim, real))
    return Mismatch(group, name, unit, first, second, real - sim, None, None, tolerance, remedy)


def compare_shares(
    group: str, name: str, sim: Share, real: Share, tolerance: float, remedy: str
) -> Mismatch:
    """Return the mismatch of two shares of counts, with the p-value of Fisher's exact test."""
    line = compare_numbers(
        group, name, 'share', sim[0] / sim[1], real[0] / real[1], tolerance, remedy
    )
    return replace(
        line,
        sim=replace(line.sim, count=sim[1]),
        real=replace(line.real, count=real[1]),
        p_value=fisher_p(*sim, *real),
    )


def describe(values: Float64) -> Side:
    """Return number, median and quantiles of a sample of one value and more."""
    low, middle, high = np.quantile(values, [0.05, 0.5, 0.95])
    return Side(len(values), float(middle), float(low), float(high))


def _thinned(values: Float64) -> Float64:
    """Return at most `MOST_VALUES` values, evenly spread."""
    if len(values) <= MOST_VALUES:
        return values
    return values[np.linspace(0, len(values) - 1, MOST_VALUES).astype(np.intp)]


def _median_interval(sim: Float64, real: Float64) -> tuple[float, float]:
    random = np.random.default_rng(0)
    draws = _drawn_medians(real, random) - _drawn_medians(sim, random)
    low, high = np.quantile(draws, [0.025, 0.975])
    return float(low), float(high)


def _drawn_medians(values: Float64, random: np.random.Generator) -> Float64:
    """Return medians of `RESAMPLES` resamples, without making them.

    The k-th smallest of n uniform draws is Beta(k, n - k + 1); of an even number either middle
    value is taken for the median.
    """
    n = len(values)
    k = n // 2 + (random.integers(0, 2, RESAMPLES) if n % 2 == 0 else 1)
    rank = (n * random.beta(k, n - k + 1, RESAMPLES)).astype(np.intp)
    return np.sort(values)[np.minimum(rank, n - 1)]
