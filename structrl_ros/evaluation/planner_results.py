"""What a planner's answers on a test set are worth: rates and means with 95 % intervals.

An answer that a backend cannot give by its nature (rules look at no picture) is counted apart and
in no rate. One that it gave and nobody can read counts as wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from structrl_ros.evaluation.episode_resampling import episode_interval
from structrl_ros.evaluation.statistics import Rate


@dataclass(frozen=True, slots=True)
class PlanAnswer:
    """A plan beside the true one.

    Attributes:
        id: Of the question.
        episode: Whose pictures it has; questions of one episode are not independent.
        style: Of its instruction.
        matching: R_bm of REVER, in [0, 1]; 0 if nothing can be read.
        content: R_content: R_bm less the penalty for the length.
        is_exact: The same steps in the same order.
        is_readable: The parser takes it: known skills, things of the scene.
        has_template: R_format is 1: one think block, then one answer block.
        error: Why it is not readable, '' if it is.
    """

    id: str
    episode: str
    style: str
    matching: float
    content: float
    is_exact: bool
    is_readable: bool
    has_template: bool
    error: str = ''


@dataclass(frozen=True, slots=True)
class ChoiceAnswer:
    """The option that was picked, None if the answer is none; and the kind of what was picked."""

    id: str
    picked: int | None
    correct: int
    kind: str = ''


@dataclass(frozen=True, slots=True)
class CompletionAnswer:
    """What was said of a skill, None if the answer cannot be read, and what is true."""

    id: str
    said: bool | None
    done: bool


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean with a 95 % bootstrap interval over episodes; None of 0."""

    value: float | None
    interval: tuple[float, float] | None
    n: int


@dataclass(frozen=True, slots=True)
class PlanSummary:
    """Open planning: `asked` questions, of which `unanswered` could not be answered at all."""

    asked: int
    unanswered: int
    matching: Mean
    content: Mean
    exact: Rate
    readable: Rate
    template: Rate


@dataclass(frozen=True, slots=True)
class ChoiceSummary:
    """Four-way choices; chance is a quarter. `misled` counts what was picked instead."""

    asked: int
    unanswered: int
    unreadable: int
    accuracy: Rate
    misled: dict[str, int]


@dataclass(frozen=True, slots=True)
class CompletionSummary:
    """Whether skills were done: precision and recall are of 'done'."""

    asked: int
    unanswered: int
    unreadable: int
    accuracy: Rate
    precision: Rate
    recall: Rate


def summarise_plans(answers: Sequence[PlanAnswer], unanswered: int, seed: int = 0) -> PlanSummary:
    """Return scores of open planning.

    Args:
        answers: Those that were given, readable or not.
        unanswered: Questions that the backend cannot answer.
        seed: Of the bootstrap.
    """
    episodes = [a.episode for a in answers]
    n = len(answers)
    return PlanSummary(
        asked=n + unanswered,
        unanswered=unanswered,
        matching=mean_over_episodes([a.matching for a in answers], episodes, seed),
        content=mean_over_episodes([a.content for a in answers], episodes, seed),
        exact=Rate(sum(a.is_exact for a in answers), n),
        readable=Rate(sum(a.is_readable for a in answers), n),
        template=Rate(sum(a.has_template for a in answers), n),
    )


def summarise_choices(answers: Sequence[ChoiceAnswer], unanswered: int) -> ChoiceSummary:
    """Return scores of choices."""
    misled: dict[str, int] = {}
    for answer in answers:
        if answer.picked is not None and answer.picked != answer.correct:
            misled[answer.kind] = misled.get(answer.kind, 0) + 1
    return ChoiceSummary(
        asked=len(answers) + unanswered,
        unanswered=unanswered,
        unreadable=sum(a.picked is None for a in answers),
        accuracy=Rate(sum(a.picked == a.correct for a in answers), len(answers)),
        misled=dict(sorted(misled.items())),
    )


def summarise_completion(
    answers: Sequence[CompletionAnswer], unanswered: int
) -> CompletionSummary:
    """Return scores of the monitor."""
    said = [a for a in answers if a.said]
    right = sum(a.done for a in said)
    return CompletionSummary(
        asked=len(answers) + unanswered,
        unanswered=unanswered,
        unreadable=sum(a.said is None for a in answers),
        accuracy=Rate(sum(a.said == a.done for a in answers), len(answers)),
        precision=Rate(right, len(said)),
        recall=Rate(right, sum(a.done for a in answers)),
    )


def mean_over_episodes(values: Sequence[float], episodes: Sequence[str], seed: int = 0) -> Mean:
    """Return a mean whose interval takes whole episodes at once.

    Args:
        values: One a question.
        episodes: Name of each one's episode.
        seed: Of the percentile bootstrap.
    """
    if not values:
        return Mean(None, None, 0)
    interval = episode_interval(values, episodes, seed=seed)
    return Mean(sum(values) / len(values), interval, len(values))
