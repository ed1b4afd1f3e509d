"""Two arms of progress models on the same trajectories: is a difference in VOC real?

An arm is one configuration with one or several seeds of training. Every seed meets the same
trajectories, so what a trajectory decides cancels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from dataclasses import dataclass

import numpy as np

from structrl_ros.errors import ParameterError
from structrl_ros.evaluation.episode_resampling import episode_weights
from structrl_ros.evaluation.episode_resampling import percentile_interval
from structrl_ros.evaluation.grm_scores import ModelResult
from structrl_ros.evaluation.grm_scores import TrajectoryScore
from structrl_ros.evaluation.grm_scores import VocFamily
from structrl_ros.evaluation.paired import RESAMPLES
from structrl_ros.types import Float64
from structrl_ros.types import JsonObject

#: The scores of each seed of an arm.
Arm = Sequence[Sequence[TrajectoryScore]]


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyDifference:
    """Mean VOC of arm B less that of arm A in one family.

    Attributes:
        family: A `VocFamily`, or 'average' for the unweighted mean of the families.
        means: Of A and of B, over seeds and common trajectories.
        difference: B less A.
        interval: 95 % bootstrap interval; whole episodes and, in each arm, seeds resampled.
        trajectories: With a VOC in every seed of both arms.
        left_out: Trajectories that lack one.
        seeds: Of A and of B.
        by_seed: B less A seed by seed where both have as many seeds, else empty.
    """

    family: str
    means: tuple[float, float]
    difference: float
    interval: tuple[float, float]
    trajectories: int
    left_out: int
    seeds: tuple[int, int]
    by_seed: tuple[float, ...]

    @property
    def is_shown(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.interval[0] > 0.0 or self.interval[1] < 0.0

    def to_json(self) -> JsonObject:
        """Return all numbers."""
        return {**asdict(self), 'is_shown': self.is_shown}


@dataclass(frozen=True, slots=True)
class ArmDifference:
    """Arm `b` less arm `a`, family by family."""

    a: str
    b: str
    families: tuple[FamilyDifference, ...]

    def to_json(self) -> JsonObject:
        """Return all numbers."""
        return {'a': self.a, 'b': self.b, 'families': [f.to_json() for f in self.families]}


def compare_results(results: Sequence[ModelResult], *, seed: int = 0) -> list[ArmDifference]:
    """Return every other arm less the first one; models of one arm are its seeds.

    Raises:
        ParameterError: If there is one arm alone, or arms met different trajectories.
    """
    arms: dict[str, list[tuple[TrajectoryScore, ...]]] = {}
    for result in results:
        arms.setdefault(result.arm, []).append(result.scores)
    first, *others = arms
    if not others:
        raise ParameterError(
            f'one arm {first!r}; allowed: two and more to compare, as A B or ARM=A ARM=B OTHER=C'
        )
    return [
        ArmDifference(first, other, compare_arms(arms[first], arms[other], seed=seed))
        for other in others
    ]


def compare_arms(a: Arm, b: Arm, *, seed: int = 0) -> tuple[FamilyDifference, ...]:
    """Return the differences of all families that both arms met, then of their average.

    With one seed an arm's interval says nothing of other seeds: `FamilyDifference.seeds` tells.

    Raises:
        ParameterError: If an arm is empty or the arms met different trajectories.
    """
    tables = [_tables(arm) for arm in (a, b)]
    if set(tables[0]) != set(tables[1]) or not tables[0]:
        missing = sorted(set(tables[0]) ^ set(tables[1]))
        raise ParameterError(
            f'{len(missing)} trajectories that one arm alone met, such as '
            f'{missing[0] if missing else "none"}; allowed: arms of the same sets and options'
        )
    rng = np.random.default_rng(seed)
    picks = [_seed_counts(len(arm), rng) for arm in (a, b)]
    known = {score.trajectory: score for score in a[0]}
    found: list[FamilyDifference] = []
    spreads: list[Float64] = []
    for family in VocFamily:
        names = [name for name, score in known.items() if score.family == family]
        common = [n for n in names if None not in (*tables[0][n], *tables[1][n])]
        if not common:
            continue
        weights = episode_weights([known[name].episode for name in common], rng)
        values = [np.array([table[n] for n in common], dtype=np.float64) for table in tables]
        spread = _spread(values[1], weights, picks[1]) - _spread(values[0], weights, picks[0])
        spreads.append(spread)
        found.append(_difference(family, values, spread, len(names) - len(common)))
    if len(found) > 1:
        found.append(_average(found, np.mean(spreads, axis=0)))
    return tuple(found)


def _tables(arm: Arm) -> dict[str, list[float | None]]:
    """Return the VOC of each trajectory, a seed an entry."""
    if not arm:
        raise ParameterError('an arm without a model; allowed: 1 seed and more')
    tables = [{score.trajectory: score.voc for score in scores} for scores in arm]
    if any(set(table) != set(tables[0]) for table in tables):
        raise ParameterError('seeds of one arm met different trajectories; allowed: the same')
    return {name: [table[name] for table in tables] for name in tables[0]}


def _seed_counts(seeds: int, rng: np.random.Generator) -> Float64:
    """Return how often each seed is in each resample, shape (RESAMPLES, seeds)."""
    counts = rng.multinomial(seeds, np.full(seeds, 1.0 / seeds), size=RESAMPLES)
    return counts.astype(np.float64)


def _spread(values: Float64, weights: Float64, picks: Float64) -> Float64:
    """Return the resampled means of trajectories (n, seeds), shape (RESAMPLES,)."""
    by_seed = (weights @ values) / weights.sum(axis=1, keepdims=True)
    means: Float64 = (by_seed * picks).sum(axis=1) / picks.sum(axis=1)
    return means


def _difference(
    family: str, values: Sequence[Float64], spread: Float64, left_out: int
) -> FamilyDifference:
    first, second = values
    paired = first.shape[1] == second.shape[1]
    each = (second.mean(axis=0) - first.mean(axis=0)).tolist() if paired else []
    return FamilyDifference(
        family=family,
        means=(float(first.mean()), float(second.mean())),
        difference=float(second.mean() - first.mean()),
        interval=percentile_interval(spread),
        trajectories=len(first),
        left_out=left_out,
        seeds=(first.shape[1], second.shape[1]),
        by_seed=tuple(each),
    )


def _average(found: Sequence[FamilyDifference], spread: Float64) -> FamilyDifference:
    means = [float(np.mean([f.means[side] for f in found])) for side in (0, 1)]
    each = [float(np.mean(values)) for values in zip(*(f.by_seed for f in found), strict=True)]
    return FamilyDifference(
        family='average',
        means=(means[0], means[1]),
        difference=means[1] - means[0],
        interval=percentile_interval(spread),
        trajectories=sum(f.trajectories for f in found),
        left_out=sum(f.left_out for f in found),
        seeds=found[0].seeds,
        by_seed=tuple(each),
    )
