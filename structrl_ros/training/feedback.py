"""Which chunks a failed rollout's advantage reaches: full feedback, MART-GRPO and its controls.

Successes keep all of their weight, and every rollout its original number of chunks as denominator
(MART-GRPO, Sections 3.2 and D.2).
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from structrl_ros.learning.eligibility import Feedback as Kept
from structrl_ros.learning.eligibility import select_feedback
from structrl_ros.learning.eligibility import select_prefix
from structrl_ros.learning.failure_feedback import FeedbackTally
from structrl_ros.learning.failure_feedback import draw_boundaries
from structrl_ros.learning.failure_feedback import scale_failures
from structrl_ros.learning.failure_feedback import tally_of_document
from structrl_ros.learning.truncation import TruncatedFeedback
from structrl_ros.learning.truncation import truncate_failures
from structrl_ros.training.event_desk import EventDesk
from structrl_ros.training.metrics_log import Metrics
from structrl_ros.training.rollouts import Rollouts
from structrl_ros.types import EventReview
from structrl_ros.types import FailedRollout
from structrl_ros.types import Float64
from structrl_ros.types import JsonObject
from structrl_ros.world_types import Bool

_PREFIX = 23

#: (rollouts, episodes) to what an event model looks at.
Views = Callable[[Rollouts, Sequence[int]], list[FailedRollout]]
#: What a rule gives for n rollouts: weights, boundaries, and why all is kept.
Ruled = tuple[TruncatedFeedback, list[int | None], list[str]]


class Rule(Protocol):
    """How the feedback of n rollouts that teach is cut."""

    def __call__(
        self, rollouts: Rollouts, episodes: Sequence[int], advantages: Float64, iteration: int
    ) -> Ruled:
        """Return it for some episodes, whose advantages are given, shape (n,)."""


class FailureFeedback:
    """A rule, and the account of what it kept."""

    def __init__(self, rule: Rule) -> None:
        """Take the rule; the account begins empty."""
        self._rule = rule
        self.pooled = FeedbackTally()

    def weigh(
        self, rollouts: Rollouts, advantages: Float64, teaching: Bool, iteration: int
    ) -> tuple[Float64, Metrics]:
        """Return the weight of each chunk, shape (E, M), and the numbers of the update.

        Args:
            rollouts: E episodes of up to M chunks.
            advantages: Of each, shape (E,).
            teaching: Which of them teach, (E,); the others have weight 0.
            iteration: From 0; what is drawn depends on it.
        """
        episodes = np.flatnonzero(teaching).tolist()
        own = advantages[teaching]
        kept, boundaries, reasons = self._rule(rollouts, episodes, own, iteration)
        update = FeedbackTally()
        update.add(own, rollouts.success[teaching].tolist(), kept, boundaries, reasons)
        self.pooled.merge(update)
        weights = np.zeros(rollouts.valid.shape)
        weights[teaching, : kept.weights.shape[1]] = kept.weights
        return weights, {
            'feedback/retained_mass': update.retained,
            'feedback/failures': float(update.failures),
            'feedback/shortened': float(update.shortened),
            'feedback/fallbacks': float(sum(update.fallbacks.values())),
            'feedback/pooled_retained_mass': self.pooled.retained,
            'feedback/pooled_fallbacks': float(sum(self.pooled.fallbacks.values())),
        }

    def document(self) -> JsonObject:
        """Return the account as plain JSON."""
        return self.pooled.document()

    def restore(self, document: JsonObject) -> None:
        """Go on from an account.

        Raises:
            ParameterError: If it is none.
        """
        self.pooled = tally_of_document(document)


def full_rule(
    rollouts: Rollouts, episodes: Sequence[int], advantages: Float64, iteration: int
) -> Ruled:
    """Keep all: A_i / N_i for each of the N_i chunks (Section D.2)."""
    won, lengths = _outcomes(rollouts, episodes)
    whole: list[int | None] = [None] * len(episodes)
    return truncate_failures(advantages, won, lengths, whole), whole, [''] * len(episodes)


class EventRule:
    """Cut after the event that a model localises (Section 3.2), or after the first (B.11)."""

    def __init__(
        self,
        desk: EventDesk,
        views: Views,
        *,
        first: bool = False,
        least_confidence: float | None = None,
    ) -> None:
        """Take who is asked, and what of the rollouts they see.

        Args:
            desk: Asks the model.
            views: Makes what it sees.
            first: Whether the first qualifying error bounds the feedback, recovered or not.
            least_confidence: See `select_feedback`.
        """
        self._desk, self._views = desk, views
        self._first, self._least = first, least_confidence

    def __call__(
        self, rollouts: Rollouts, episodes: Sequence[int], advantages: Float64, iteration: int
    ) -> Ruled:
        """See `Rule`; only failures are asked about."""
        won, lengths = _outcomes(rollouts, episodes)
        lost = [n for n, success in enumerate(won) if not success]
        seen = self._views(rollouts, [episodes[n] for n in lost]) if lost else []
        answers = self._desk.ask(seen)
        boundaries: list[int | None] = [None] * len(episodes)
        reasons = [''] * len(episodes)
        for n, answer in zip(lost, answers, strict=True):
            found = self._select(answer, lengths[n])
            boundaries[n], reasons[n] = found.boundary, found.fallback
        return truncate_failures(advantages, won, lengths, boundaries), boundaries, reasons

    def _select(self, answer: EventReview | str, chunks: int) -> Kept:
        if isinstance(answer, str):
            return Kept(None, answer)
        if self._first:
            return select_prefix(answer, chunks)
        return select_feedback(answer, chunks, least_confidence=self._least)


class ScaleRule:
    """Scale all feedback on failures by one number (uniform scaling, Section 4.3)."""

    def __init__(self, scale: float) -> None:
        """Take gamma, in [0, 1]."""
        self._scale = scale

    def __call__(
        self, rollouts: Rollouts, episodes: Sequence[int], advantages: Float64, iteration: int
    ) -> Ruled:
        """See `Rule`."""
        won, lengths = _outcomes(rollouts, episodes)
        kept = scale_failures(advantages, won, lengths, self._scale)
        return kept, [None] * len(episodes), [''] * len(episodes)


class RandomPrefixRule:
    """Cut each failure at a boundary drawn from those that events gave (Section F.2)."""

    def __init__(self, observed: FeedbackTally, seed: int) -> None:
        """Take the account of a run with events, and the seed of the draw."""
        self._observed, self._seed = dict(observed.boundaries), seed

    def __call__(
        self, rollouts: Rollouts, episodes: Sequence[int], advantages: Float64, iteration: int
    ) -> Ruled:
        """See `Rule`."""
        won, lengths = _outcomes(rollouts, episodes)
        random = np.random.default_rng((self._seed, _PREFIX, iteration))
        boundaries = draw_boundaries(random, self._observed, won, lengths)
        kept = truncate_failures(advantages, won, lengths, boundaries)
        return kept, boundaries, [''] * len(episodes)


def _outcomes(rollouts: Rollouts, episodes: Sequence[int]) -> tuple[list[bool], list[int]]:
    chosen = list(episodes)
    return rollouts.success[chosen].tolist(), rollouts.lengths[chosen].tolist()
