"""`EventDesk` asks an event model about failed rollouts, and never stops a training for it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from concurrent.futures import Future
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import wait

from structrl_ros.errors import StructRLError
from structrl_ros.ports import EventModel
from structrl_ros.types import EventReview
from structrl_ros.types import FailedRollout

#: Why there is no review.
NO_ANSWER = 'the event model gave no review'
TOO_SLOW = 'the event model is too slow'

_LOGGER = logging.getLogger(__name__)


class EventDesk:
    """Reviews of an update, as many as come within its time."""

    def __init__(self, model: EventModel, *, limit_s: float, workers: int = 1) -> None:
        """Take the model.

        Args:
            model: Who is asked, from `workers` threads at a time.
            limit_s: Wall time of all reviews of an update together.
            workers: How many are asked at once; of a server, more than one.
        """
        self._model, self._limit_s, self._workers = model, limit_s, workers
        self._late: list[Future[EventReview]] = []

    def ask(self, rollouts: Sequence[FailedRollout]) -> list[EventReview | str]:
        """Return a review of each rollout, or why there is none.

        Nobody is asked while the model is still at work on an update before, so that a model that
        hangs holds a bounded number of threads.
        """
        self._late = [future for future in self._late if not future.done()]
        if self._late:
            return [TOO_SLOW] * len(rollouts)
        pool = ThreadPoolExecutor(self._workers, thread_name_prefix='events')
        asked = [pool.submit(self._model.review, rollout) for rollout in rollouts]
        wait(asked, timeout=self._limit_s)
        pool.shutdown(wait=False, cancel_futures=True)
        self._late = [future for future in asked if future.running()]
        answers = [self._answer(future) for future in asked]
        slow = answers.count(TOO_SLOW)
        if slow:
            _LOGGER.warning(
                'event model %s: %d of %d reviews not within %g s; full feedback for these',
                *(self._model.name, slow, len(answers), self._limit_s),
            )
        return answers

    def _answer(self, future: Future[EventReview]) -> EventReview | str:
        if not future.done() or future.cancelled():
            return TOO_SLOW
        try:
            return future.result()
        except (StructRLError, OSError) as error:
            _LOGGER.warning('event model %s: %s; full feedback', self._model.name, error)
            return NO_ANSWER
