"""Two policies on the same initial states: is the difference in success real?

Pairs share task, seed and initial state, so what the scene decides cancels; a comparison of
policies that met different scenes is refused (`check_same_protocol`).
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from structrl_ros.errors import ParameterError
from structrl_ros.evaluation.statistics import wilson_interval
from structrl_ros.types import Float64

#: Resamples of a bootstrap.
RESAMPLES = 10_000

#: What an episode of a protocol is: task, seed, initial state, repetition.
EpisodeKey = tuple[str, int, int, int]


@dataclass(frozen=True, slots=True)
class PairedComparison:
    """Success of policies A and B on n common episodes.

    Attributes:
        n: Episodes.
        both: Both succeeded.
        only_a: A alone succeeded.
        only_b: B alone succeeded.
        difference: Rate of B less rate of A, in [-1, 1].
        interval: 95 % bootstrap interval of the difference, over episodes within tasks.
        p_value: Exact two-sided McNemar test.
    """

    n: int
    both: int
    only_a: int
    only_b: int
    difference: float
    interval: tuple[float, float]
    p_value: float

    @property
    def intervals(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Wilson's 95 % intervals of the rates of A and of B."""
        return (
            wilson_interval(self.both + self.only_a, self.n),
            wilson_interval(self.both + self.only_b, self.n),
        )


def mcnemar_exact(only_a: int, only_b: int) -> float:
    """Return the exact two-sided p-value of McNemar's test.

    Under the hypothesis of equal rates the discordant pairs fall either way like a fair coin
    (McNemar 1947; the exact binomial form). Without discordant pairs it is 1.

    Args:
        only_a: Pairs in which A alone succeeded.
        only_b: Pairs in which B alone succeeded.

    Raises:
        ParameterError: If a count is negative.
    """
    if only_a < 0 or only_b < 0:
        raise ParameterError(f'discordant pairs {only_a} and {only_b}; allowed: 0 and more')
    if only_a + only_b == 0:
        return 1.0
    from scipy.stats import binomtest

    return float(binomtest(only_a, only_a + only_b, 0.5).pvalue)


def check_same_protocol(a: Mapping[EpisodeKey, bool], b: Mapping[EpisodeKey, bool]) -> None:
    """Refuse to compare results of different episodes.

    Raises:
        ParameterError: Naming an episode that one of them lacks.
    """
    for name, mine, others in (('first', a, b), ('second', b, a)):
        missing = sorted(set(others) - set(mine))
        if missing:
            task, seed, state, repetition = missing[0]
            raise ParameterError(
                f'the {name} evaluation lacks {len(missing)} episodes of the other, such as '
                f'{task} seed {seed} state {state} repetition {repetition}; only equal protocols '
                'are compared'
            )
    if not a:
        raise ParameterError('both evaluations are empty; allowed: 1 episode and more')


def compare_paired(
    a: Mapping[EpisodeKey, bool], b: Mapping[EpisodeKey, bool], *, seed: int = 0
) -> PairedComparison:
    """Compare two policies by their success on the same episodes.

    Args:
        a: Episode to success of policy A.
        b: The same episodes of policy B.
        seed: Of the bootstrap.

    Raises:
        ParameterError: If the episodes differ or there are none.
    """
    check_same_protocol(a, b)
    keys = sorted(a)
    first = np.array([a[k] for k in keys], dtype=np.float64)
    second = np.array([b[k] for k in keys], dtype=np.float64)
    only_a, only_b = int((first > second).sum()), int((second > first).sum())
    return PairedComparison(
        n=len(keys),
        both=int((first * second).sum()),
        only_a=only_a,
        only_b=only_b,
        difference=float(second.mean() - first.mean()),
        interval=bootstrap_interval(second - first, [k[0] for k in keys], seed=seed),
        p_value=mcnemar_exact(only_a, only_b),
    )


def bootstrap_interval(
    differences: ArrayLike,
    groups: Sequence[str],
    *,
    confidence: float = 0.95,
    seed: int = 0,
) -> tuple[float, float]:
    """Return the percentile bootstrap interval of a mean, resampled within each group.

    Args:
        differences: Shape (n,).
        groups: Task of each entry; a resample keeps the number of entries of every task.
        confidence: In (0, 1).
        seed: Of the resampling.

    Raises:
        ParameterError: If the lengths differ, there are none, or the confidence is out of range.
    """
    values = np.asarray(differences, dtype=np.float64)
    if values.ndim != 1 or len(values) != len(groups) or not len(values):
        raise ParameterError(
            f'differences of shape {values.shape} for {len(groups)} groups; '
            'allowed: one for each, 1 and more'
        )
    if not 0.0 < confidence < 1.0:
        raise ParameterError(f'confidence {confidence}; allowed: between 0 and 1')
    random = np.random.default_rng(seed)
    sums: Float64 = np.zeros(RESAMPLES)
    names = np.asarray(groups)
    for group in dict.fromkeys(groups):
        mine = values[names == group]
        picks = random.integers(0, len(mine), size=(RESAMPLES, len(mine)))
        sums += mine[picks].sum(axis=1)
    tail = (1.0 - confidence) / 2.0
    low, high = np.quantile(sums / len(values), [tail, 1.0 - tail])
    return float(low), float(high)
