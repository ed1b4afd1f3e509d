"""Statistics of rates and periods: Wilson intervals, percentiles of the time between stamps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from structrl_ros.errors import ParameterError
from structrl_ros.types import JsonObject


@dataclass(frozen=True, slots=True)
class PeriodStatistics:
    """How regular a stream is: rate in Hz, periods in seconds of the stream's own clock.

    `count` is the number of periods; with none, the figures are None. `backwards` counts
    periods below zero: a clock that went back, or messages out of order.
    """

    count: int
    rate_hz: float | None
    mean_s: float | None
    p50_s: float | None
    p99_s: float | None
    max_s: float | None
    backwards: int = 0


@dataclass(frozen=True, slots=True)
class Rate:
    """`count` of `n` trials; what it counts is said by the name of the field that holds it."""

    count: int
    n: int

    @property
    def value(self) -> float | None:
        """Share, in [0, 1]; None of no trials."""
        return self.count / self.n if self.n else None

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval; (0, 1) of no trials."""
        return wilson_interval(self.count, self.n)

    def to_json(self) -> JsonObject:
        """Return counts, value and interval."""
        return {
            'count': self.count,
            'n': self.n,
            'value': self.value,
            'interval': list(self.interval),
        }


def wilson_interval(successes: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Return Wilson's score interval of a success rate, without continuity correction.

    Implements Eq. 4 of Wilson, "Probable Inference, the Law of Succession, and Statistical
    Inference", JASA 22 (1927); equal to scipy's `proportion_ci(method='wilson')`.

    Args:
        successes: Number of successes, in [0, n].
        n: Number of trials; 0 tells nothing and gives (0, 1).
        confidence: Two-sided confidence level, in (0, 1).

    Returns:
        Lower and upper bound, both in [0, 1].

    Raises:
        ParameterError: If an argument is out of its range.
    """
    if n < 0 or not 0 <= successes <= n:
        raise ParameterError(f'{successes} successes of {n}; allowed: 0 <= successes <= n')
    if not 0.0 < confidence < 1.0:
        raise ParameterError(f'confidence {confidence}; allowed: between 0 and 1')
    if n == 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf(0.5 + confidence / 2.0)
    rate = successes / n
    scale = 1.0 + z * z / n
    centre = (rate + z * z / (2.0 * n)) / scale
    half = z * math.sqrt(rate * (1.0 - rate) / n + z * z / (4.0 * n * n)) / scale
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    high = 1.0 if successes == n else min(1.0, centre + half)
    return low, high


def percentile(values: Sequence[float], q: float) -> float | None:
    """Return the q-th percentile (q in [0, 100]), linear between ranks; None without values."""
    if not 0.0 <= q <= 100.0:
        raise ParameterError(f'percentile {q}; allowed: 0 to 100')
    return float(np.percentile(np.asarray(values, dtype=np.float64), q)) if len(values) else None


def period_statistics(
    stamps_ns: Sequence[int], runs: Sequence[int] | None = None
) -> PeriodStatistics:
    """Return rate and period percentiles of a stream of stamps.

    Args:
        stamps_ns: Stamps in nanoseconds, in the order of arrival.
        runs: One number a stamp; only neighbours of the same run have a period between them
            (a monitor rests while a task is planned again). None: all are one run.

    Returns:
        The statistics; the rate is the number of periods over their sum.

    Raises:
        ParameterError: If `runs` has another length than `stamps_ns`.
    """
    if runs is not None and len(runs) != len(stamps_ns):
        raise ParameterError(f'{len(runs)} runs for {len(stamps_ns)} stamps; allowed: one each')
    stamps = np.asarray(stamps_ns, dtype=np.int64)
    periods = np.diff(stamps)
    if runs is not None:
        periods = periods[np.diff(np.asarray(runs, dtype=np.int64)) == 0]
    if not periods.size:
        return PeriodStatistics(0, None, None, None, None, None)
    total = int(periods.sum())
    p50, p99 = np.percentile(periods, [50.0, 99.0])
    return PeriodStatistics(
        count=int(periods.size),
        rate_hz=periods.size * 1e9 / total if total > 0 else None,
        mean_s=total / periods.size / 1e9,
        p50_s=float(p50) / 1e9,
        p99_s=float(p99) / 1e9,
        max_s=int(periods.max()) / 1e9,
        backwards=int((periods < 0).sum()),
    )
