"""Event models against the simulator's labels on a split (MART-GRPO, Sections 4.1 and E.3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from structrl_ros.errors import DatasetError
from structrl_ros.errors import StructRLError
from structrl_ros.evaluation.event_scores import EventCase
from structrl_ros.evaluation.event_scores import EventScores
from structrl_ros.evaluation.event_scores import interval_iou
from structrl_ros.evaluation.event_scores import score_events
from structrl_ros.learning.eligibility import select_feedback
from structrl_ros.ports import EventModel
from structrl_ros.training.event_episode import EventEpisode
from structrl_ros.types import EventReview
from structrl_ros.types import FailedRollout

#: Gives a review of an episode; what it raises counts as full feedback, with its reason.
Reviewer = Callable[[EventEpisode], EventReview]
#: Reason of a review that could not be had.
NO_REVIEW = 'no review'


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendResult:
    """What a backend did on the failed rollouts of a split.

    Attributes:
        name: Of the backend.
        scores: Against the simulator's labels.
        fallbacks: Why feedback was kept whole, and how often.
        problem: The first reason why a review could not be had, or ''.
    """

    name: str
    scores: EventScores
    fallbacks: Counter[str]
    problem: str


def failures(episodes: Iterable[EventEpisode]) -> list[EventEpisode]:
    """Return the rollouts that failed; successful ones bypass event models (Section E.1)."""
    return [episode for episode in episodes if not episode.success]


def evaluate_backend(
    name: str,
    review: Reviewer,
    episodes: Sequence[EventEpisode],
    *,
    seed: int = 0,
    on_done: Callable[[], object] = lambda: None,
) -> BackendResult:
    """Return the result of a backend on failed rollouts.

    Raises:
        DatasetError: If there is no failed rollout with a boundary.
    """
    cases, fallbacks, problem = [], Counter[str](), ''
    for episode in episodes:
        try:
            told = review(episode)
        except StructRLError as error:
            problem = problem or str(error)
            fallbacks[NO_REVIEW] += 1
            found = None
        else:
            found = boundary_interval(told, episode.chunks)
            if found is None:
                fallbacks[select_feedback(told, episode.chunks).fallback] += 1
        reference = boundary_interval(episode.label, episode.chunks)
        cases.append(EventCase(episode.task, episode.chunks, reference, found))
        on_done()
    if not any(case.reference for case in cases):
        raise DatasetError(f'{len(cases)} failed rollouts, none with a boundary; play more scenes')
    return BackendResult(
        name=name, scores=score_events(cases, seed=seed), fallbacks=fallbacks, problem=problem
    )


def boundary_interval(review: EventReview, chunks: int) -> tuple[int, int] | None:
    """Return the interval of a review that bounds the feedback, else None."""
    is_bound = select_feedback(review, chunks).boundary is not None
    return review.interval if is_bound else None


def of_model(model: EventModel) -> Reviewer:
    """Return a model's review of an episode."""

    def review(episode: EventEpisode) -> EventReview:
        rollout: FailedRollout = episode.rollout()
        return model.review(rollout)

    return review


def last_chunk(episode: EventEpisode) -> EventReview:
    """Return the baseline that takes the last chunk: full feedback, as an interval."""
    return _guess((episode.chunks, episode.chunks), 'always the last chunk')


def first_error(episode: EventEpisode) -> EventReview:
    """Return the true first error, made good or not: the prefix rule (Section B.11)."""
    label = episode.label
    if label.first_interval is None:
        return EventReview(outcome='failure', error_type='unclear', reason=label.reason)
    return _guess(label.first_interval, 'the first error')


def usual_chunk(training: Sequence[EventEpisode]) -> Reviewer:
    """Return the baseline that takes, of each task, the interval that fits its training best.

    It needs no look at the rollout: what an event model adds is beyond it.
    """
    known: dict[str, list[tuple[int, int]]] = {}
    for episode in failures(training):
        found = boundary_interval(episode.label, episode.chunks)
        if found is not None:
            known.setdefault(episode.task, []).append(found)
    usual = {task: _best_fit(found) for task, found in known.items()}

    def review(episode: EventEpisode) -> EventReview:
        if episode.task not in usual:
            return EventReview(outcome='failure', error_type='unclear', reason='an unknown task')
        first, last = np.clip(usual[episode.task], 1, episode.chunks).tolist()
        return _guess((first, last), 'the usual chunk of the task')

    return review


def _best_fit(intervals: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return the one of some intervals with the highest mean IoU with all; the earliest wins."""
    candidates = sorted(set(intervals))
    scores = [sum(interval_iou(c, i) for i in intervals) for c in candidates]
    return candidates[int(np.argmax(scores))]


def _guess(interval: tuple[int, int], reason: str) -> EventReview:
    return EventReview(
        outcome='failure',
        error_type='lost_progress',
        interval=interval,
        recovery='not_observed',
        reason=reason,
    )
