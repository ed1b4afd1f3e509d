"""How well failure events are localised: task-macro IoU, exact endpoint, within one chunk.

MART-GRPO, Sections 4.1 and E.3: eligible are failures whose reference has a specific error, an
interval and no recovery; scores average within a task, then over tasks. A review from which no
boundary follows (`learning.eligibility`) scores 0 on them.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from structrl_ros.errors import ParameterError
from structrl_ros.evaluation.episode_resampling import percentile_interval
from structrl_ros.evaluation.paired import RESAMPLES
from structrl_ros.types import Float64

Interval = tuple[int, int]


@dataclass(frozen=True, slots=True)
class EventCase:
    """One failed rollout: its task, and the chunks [l, u] that reference and model give.

    None is no boundary: the reference's rollout is not eligible, or the model keeps all feedback.
    """

    task: str
    chunks: int
    reference: Interval | None
    predicted: Interval | None


@dataclass(frozen=True, slots=True)
class Share:
    """A mean with its 95 % bootstrap interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class EventScores:
    """Scores of a model on failed rollouts.

    Attributes:
        eligible: Rollouts whose reference has a boundary; over them are `iou`, `exact` (the same
            right end), `within_one` (right ends at most one chunk apart) and `answered` (the model
            gives a boundary), each as a mean over tasks of the mean within one.
        tasks: How many tasks these are of.
        others: Failed rollouts that are not eligible; None where there are none of them, else
            `wrongly_cut` is the share of them that the model cuts.
        retained: Share of the chunks of all failed rollouts that keep their feedback.
    """

    eligible: int
    tasks: int
    iou: Share
    exact: Share
    within_one: Share
    answered: Share
    others: int
    wrongly_cut: float | None
    retained: float


def interval_iou(first: Interval, second: Interval) -> float:
    """Return the intersection over the union of two intervals of chunks, both ends included."""
    common = min(first[1], second[1]) - max(first[0], second[0]) + 1
    whole = (first[1] - first[0] + 1) + (second[1] - second[0] + 1) - max(common, 0)
    return max(common, 0) / whole


def score_events(cases: Sequence[EventCase], *, seed: int = 0) -> EventScores:
    """Return the scores of one model.

    Intervals are percentile bootstraps over rollouts within tasks; tasks are not resampled.

    Args:
        cases: Failed rollouts.
        seed: Of the bootstrap.

    Raises:
        ParameterError: If no rollout is eligible.
    """
    eligible = [case for case in cases if case.reference is not None]
    others = [case for case in cases if case.reference is None]
    if not eligible:
        raise ParameterError(
            f'{len(cases)} failed rollouts, none of which the reference localises; allowed: 1 '
            'eligible or more'
        )
    draws = _draws([case.task for case in eligible], np.random.default_rng(seed))

    def share(score: Callable[[Interval, Interval], float]) -> Share:
        values = np.array(
            [
                0.0 if case.predicted is None else score(case.reference, case.predicted)
                for case in eligible
                if case.reference is not None
            ]
        )
        means = draws @ values
        low, high = percentile_interval(means[1:])
        return Share(float(means[0]), low, high)

    kept = [c.chunks if c.predicted is None else min(c.predicted[1], c.chunks) for c in cases]
    cut = [case.predicted is not None for case in others]
    return EventScores(
        eligible=len(eligible),
        tasks=len({case.task for case in eligible}),
        iou=share(interval_iou),
        exact=share(lambda true, told: float(true[1] == told[1])),
        within_one=share(lambda true, told: float(abs(true[1] - told[1]) <= 1)),
        answered=share(lambda true, told: 1.0),
        others=len(others),
        wrongly_cut=float(np.mean(cut)) if cut else None,
        retained=sum(kept) / sum(case.chunks for case in cases),
    )


def _draws(tasks: Sequence[str], rng: np.random.Generator) -> Float64:
    """Return weights whose dot product with scores is a task-macro mean, (1 + RESAMPLES, n).

    Row 0 takes every entry once, the others are resamples within each task.
    """
    names = np.array(tasks)
    kinds = sorted(set(tasks))
    weights = np.zeros((1 + RESAMPLES, len(tasks)))
    for kind in kinds:
        own = np.flatnonzero(names == kind)
        drawn = rng.multinomial(len(own), np.full(len(own), 1.0 / len(own)), size=RESAMPLES)
        weights[0, own] = 1.0
        weights[1:, own] = drawn
        weights[:, own] /= len(own) * len(kinds)
    return weights
