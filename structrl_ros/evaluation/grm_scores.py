"""What the VOC benchmark of a GRM keeps of each trajectory, and how a family is summed up."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import asdict
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from structrl_ros.evaluation.episode_resampling import episode_interval
from structrl_ros.types import JsonObject


class VocFamily(StrEnum):
    """The five families of Robo-Dopamine 2.0 ("Evaluation protocol"), in the order of Table 1."""

    IN_DISTRIBUTION = 'in-distribution'
    TEMPORAL = 'temporal'
    NEGATIVE = 'ood-negative'
    ROBUST = 'ood-robust'
    OOD_TEMPORAL = 'ood-temporal'


@dataclass(frozen=True, slots=True, kw_only=True)
class TrajectoryScore:
    """One trajectory as one model saw it.

    Attributes:
        trajectory: Its name: set, episode and operator.
        episode: Name of its source, which edited descendants share.
        family: A `VocFamily`.
        voc: Of the fused potential, in [-1, 1]; None if it is excluded.
        voc_incremental: Of the accumulated incremental hops alone.
        excluded: Why there is no VOC, '' if there is one.
        truth: True potential of each frame.
        estimate: Fused potential of each frame.
        completions: For each judged frame, whether the task is completed, and was judged so.
    """

    trajectory: str
    episode: str
    family: str
    voc: float | None
    voc_incremental: float | None
    excluded: str
    truth: tuple[float, ...]
    estimate: tuple[float, ...]
    completions: tuple[tuple[bool, bool], ...]

    def to_json(self) -> JsonObject:
        """Return the fields, potentials to four places."""
        rounded = {
            name: [round(value, 4) for value in getattr(self, name)]
            for name in ('truth', 'estimate')
        }
        return {**asdict(self), **rounded}


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilySummary:
    """VOC of a family.

    Attributes:
        family: A `VocFamily`.
        mean: Of the trajectories that have a VOC, None without any.
        interval: 95 % bootstrap interval of the mean, whole episodes resampled.
        incremental: Mean VOC of the incremental hops alone.
        counted: Trajectories with a VOC.
        episodes: Their sources.
        excluded: Reason to number of trajectories without one.
    """

    family: str
    mean: float | None
    interval: tuple[float, float] | None
    incremental: float | None
    counted: int
    episodes: int
    excluded: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Completion:
    """How often a judgement "the task is completed" was right, on both sides.

    The paper gives a "task-completion accuracy" and no definition. Here `accuracy` is the mean of
    the two rates, so that a model that says one thing always has 0.5.
    """

    completed: int
    found: int
    unfinished: int
    rejected: int

    @property
    def accuracy(self) -> float | None:
        """Balanced accuracy, None where a side has no frame."""
        if not self.completed or not self.unfinished:
            return None
        return (self.found / self.completed + self.rejected / self.unfinished) / 2.0


@dataclass(frozen=True, slots=True)
class ModelSummary:
    """All families of one model, their unweighted mean, and its judgements of completion."""

    families: tuple[FamilySummary, ...]
    average: float | None
    completion: Completion

    def to_json(self) -> JsonObject:
        """Return all numbers."""
        return {
            'families': [asdict(family) for family in self.families],
            'average': self.average,
            'completion': {**asdict(self.completion), 'accuracy': self.completion.accuracy},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelResult:
    """What one model did.

    Attributes:
        arm: Configuration that it is a seed of; a model of no arm is its own.
        model: What names it.
        input: 'static' or 'panel', as in Table 1 of the paper.
        summary: Its means.
        scores: Of every trajectory.
    """

    arm: str
    model: str
    input: str
    summary: ModelSummary
    scores: tuple[TrajectoryScore, ...]

    @property
    def label(self) -> str:
        """Return 'ARM=MODEL', or the model alone where it is its own arm."""
        return self.model if self.arm == self.model else f'{self.arm}={self.model}'

    def to_json(self) -> JsonObject:
        """Return all numbers."""
        return {
            'arm': self.arm,
            'model': self.model,
            'input': self.input,
            **self.summary.to_json(),
            'trajectories': [score.to_json() for score in self.scores],
        }


def summarise_scores(scores: Sequence[TrajectoryScore], *, seed: int = 0) -> ModelSummary:
    """Return the means of every family, in the order of `VocFamily`.

    The average is the unweighted mean of the families, as in Table 1 of the paper, and None
    where a family has no VOC.
    """
    families = tuple(_family(scores, family, seed) for family in VocFamily)
    means = [family.mean for family in families if family.mean is not None]
    complete = len(means) == len(families)
    judged = [pair for score in scores for pair in score.completions]
    completion = Completion(
        completed=sum(truth for truth, _ in judged),
        found=sum(truth and said for truth, said in judged),
        unfinished=sum(not truth for truth, _ in judged),
        rejected=sum(not truth and not said for truth, said in judged),
    )
    return ModelSummary(families, math.fsum(means) / 5.0 if complete else None, completion)


def _family(scores: Sequence[TrajectoryScore], family: VocFamily, seed: int) -> FamilySummary:
    mine = [score for score in scores if score.family == family]
    counted = [score for score in mine if score.voc is not None]
    excluded = Counter(score.excluded for score in mine if score.voc is None)
    values = [score.voc for score in counted if score.voc is not None]
    alone = [score.voc_incremental for score in counted if score.voc_incremental is not None]
    episodes = [score.episode for score in counted]
    return FamilySummary(
        family=family,
        mean=math.fsum(values) / len(values) if values else None,
        interval=episode_interval(np.array(values), episodes, seed=seed) if values else None,
        incremental=math.fsum(alone) / len(alone) if alone else None,
        counted=len(counted),
        episodes=len(set(episodes)),
        excluded=dict(excluded),
    )
