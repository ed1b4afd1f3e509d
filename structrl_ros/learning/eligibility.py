"""Which reviews of failed rollouts may bound the feedback (MART-GRPO, Sections 3.2 and E.1)."""

from __future__ import annotations

from dataclasses import dataclass

from structrl_ros.types import OUTCOMES
from structrl_ros.types import RECOVERIES
from structrl_ros.types import SPECIFIC_ERRORS
from structrl_ros.types import EventReview

#: Why a rollout keeps all its feedback; the first that holds, in this order.
NOT_A_FAILURE = 'the review sees no failure'
UNCERTAIN_OUTCOME = 'the outcome is uncertain'
UNCLEAR_ERROR = 'no specific error'
NOT_LOCALISED = 'the error is not localised'
RECOVERED = 'a recovery was observed'
UNCERTAIN_RECOVERY = 'whether it recovered is uncertain'
LOW_CONFIDENCE = 'the confidence is too low, or not a number'
BAD_INTERVAL = 'the interval is outside the rollout'
BAD_WORD = 'the review uses an unknown word'


@dataclass(frozen=True, slots=True)
class Feedback:
    """What of a failed rollout's feedback is kept: chunks 1 ... `boundary`, or all if None.

    `fallback` says why all is kept; it is empty exactly if there is a boundary.
    """

    boundary: int | None
    fallback: str = ''


def select_feedback(
    review: EventReview, chunks: int, *, least_confidence: float | None = None
) -> Feedback:
    """Return the boundary B = u of a review that qualifies, else full feedback with the reason.

    A review qualifies if it says failure, a specific error, an interval [l, u] with
    1 <= l <= u <= chunks, and expressly that no recovery was observed.

    Differs from the paper: with `least_confidence`, a review must also have at least that
    confidence; one that is not a number never has it.

    Args:
        review: Of a rollout that failed.
        chunks: N, the valid chunks of the rollout.
        least_confidence: In [0, 1]; None asks for none.
    """
    problem = _problem(review, chunks) or _doubt(review, least_confidence)
    if problem or review.interval is None:
        return Feedback(None, problem or NOT_LOCALISED)
    return Feedback(review.interval[1])


def select_prefix(review: EventReview, chunks: int) -> Feedback:
    """Return the boundary of the prefix rule: the first qualifying error, recovered or not (B.11).

    Of a review that does not tell the first error all feedback is kept.
    """
    first = review.first_interval
    if first is None:
        return Feedback(None, NOT_LOCALISED)
    if not _inside(first, chunks):
        return Feedback(None, BAD_INTERVAL)
    return Feedback(first[1])


def _problem(review: EventReview, chunks: int) -> str:
    if review.outcome not in OUTCOMES or review.recovery not in RECOVERIES:
        return BAD_WORD
    if review.outcome != 'failure':
        return NOT_A_FAILURE if review.outcome == 'success' else UNCERTAIN_OUTCOME
    if review.error_type not in SPECIFIC_ERRORS:
        return UNCLEAR_ERROR
    if review.interval is None:
        return NOT_LOCALISED
    if not _inside(review.interval, chunks):
        return BAD_INTERVAL
    if review.recovery != 'not_observed':
        return RECOVERED if review.recovery == 'observed' else UNCERTAIN_RECOVERY
    return ''


def _doubt(review: EventReview, least_confidence: float | None) -> str:
    if least_confidence is None or review.confidence >= least_confidence:
        return ''
    return LOW_CONFIDENCE


def _inside(interval: tuple[int, int], chunks: int) -> bool:
    first, last = interval
    return 1 <= first <= last <= chunks
