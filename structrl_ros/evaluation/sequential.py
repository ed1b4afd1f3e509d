"""How many episodes: before a comparison (required n), and while it runs (stop early)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

from structrl_ros.errors import ParameterError

Decision = Literal['go on', 'lower', 'higher']


def required_episodes(
    rate_a: float, rate_b: float, *, error: float = 0.05, power: float = 0.8
) -> int:
    """Return the episodes for each of two policies that tell two success rates apart.

    The two-sided two-proportion test with unpooled variance (Fleiss, Levin and Paik, Statistical
    Methods for Rates and Proportions, 2003, Eq. 4.14 without continuity correction). Pairs on
    the same initial states need fewer where the scene decides much.

    Args:
        rate_a: Expected success rate of one policy, [0, 1].
        rate_b: Of the other, different from it.
        error: Probability to see a difference where there is none, (0, 1).
        power: Probability to see the difference that there is, (0, 1).

    Raises:
        ParameterError: If a number is out of range or the rates are equal.
    """
    _check_open('error', error)
    _check_open('power', power)
    for name, rate in (('rate_a', rate_a), ('rate_b', rate_b)):
        if not 0.0 <= rate <= 1.0:
            raise ParameterError(f'{name} {rate}; allowed: 0 to 1')
    if rate_a == rate_b:
        raise ParameterError(f'both rates are {rate_a}; equal rates cannot be told apart')
    normal = NormalDist()
    mean = (rate_a + rate_b) / 2.0
    at_equal = normal.inv_cdf(1.0 - error / 2.0) * math.sqrt(2.0 * mean * (1.0 - mean))
    at_given = normal.inv_cdf(power) * math.sqrt(rate_a * (1.0 - rate_a) + rate_b * (1.0 - rate_b))
    return math.ceil(((at_equal + at_given) / (rate_a - rate_b)) ** 2)


def detectable_difference(
    episodes: int, *, rate: float = 0.5, error: float = 0.05, power: float = 0.8
) -> float | None:
    """Return the smallest difference from a rate that so many episodes of each policy can show.

    The inverse of `required_episodes`, to 0.001; the difference is taken to the side of 0.5, where
    it is hardest to see.

    Args:
        episodes: Of each of two policies.
        rate: Success rate of one of them, [0, 1].
        error: As for `required_episodes`.
        power: As for `required_episodes`.

    Returns:
        The difference, in (0, 1]; None if no difference can be shown.

    Raises:
        ParameterError: If a number is out of range.
    """
    if episodes < 0:
        raise ParameterError(f'{episodes} episodes; allowed: 0 and more')
    sign = 1.0 if rate <= 0.5 else -1.0
    for thousandths in range(1, 1001):
        other = rate + sign * thousandths / 1000.0
        if not 0.0 <= other <= 1.0:
            return None
        if required_episodes(rate, other, error=error, power=power) <= episodes:
            return thousandths / 1000.0
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class SequentialTest:
    """Wald's sequential probability ratio test of a success rate; stops as soon as it may.

    It decides between at most `low` and at least `high`. Wald's bounds: the probability of a wrong
    decision is about `error` on either side, whatever the number of looks. For a paired
    comparison give it the discordant pairs: low = 1 - high.

    Raises:
        ParameterError: If the rates are not 0 < low < high < 1, or error not in (0, 0.5).
    """

    low: float
    high: float
    error: float = 0.05

    def __post_init__(self) -> None:
        """Check the numbers."""
        if not 0.0 < self.low < self.high < 1.0:
            raise ParameterError(
                f'low {self.low} and high {self.high}; allowed: 0 < low < high < 1'
            )
        if not 0.0 < self.error < 0.5:
            raise ParameterError(f'error {self.error}; allowed: between 0 and 0.5')

    def decide(self, successes: int, n: int) -> Decision:
        """Return what n episodes with so many successes say: 'lower', 'higher' or 'go on'.

        Raises:
            ParameterError: If the counts make no sense.
        """
        if n < 0 or not 0 <= successes <= n:
            raise ParameterError(f'{successes} successes of {n}; allowed: 0 <= successes <= n')
        ratio = successes * math.log(self.high / self.low)
        ratio += (n - successes) * math.log((1.0 - self.high) / (1.0 - self.low))
        bound = math.log((1.0 - self.error) / self.error)
        if ratio >= bound:
            return 'higher'
        return 'lower' if ratio <= -bound else 'go on'


def _check_open(name: str, value: float) -> None:
    if not 0.0 < value < 1.0:
        raise ParameterError(f'{name} {value}; allowed: between 0 and 1')
