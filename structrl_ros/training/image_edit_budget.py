"""How many requests may be sent, and how fast."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from structrl_ros.errors import ParameterError
from structrl_ros.errors import StructRLError


class BudgetSpentError(StructRLError):
    """The requests that a person allowed are all sent; nothing is wrong with what came back."""


class RequestBudget:
    """Lets requests through one by one, from any thread; every try counts, failed ones too."""

    def __init__(
        self,
        most: int,
        per_minute: float = 0.0,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        """Begin with nothing sent.

        Args:
            most: Requests in all, from 1.
            per_minute: Of them, evenly spaced; 0 sets no limit.
            clock: Seconds that only rise.
            sleep: Waits for some seconds.

        Raises:
            ParameterError: If a number is out of range.
        """
        if most < 1 or not per_minute >= 0.0:
            raise ParameterError(
                f'budget of {most} requests, {per_minute:g} a minute; allowed: from 1, from 0'
            )
        self.most = most
        self.sent = 0
        self._space_s = 60.0 / per_minute if per_minute > 0.0 else 0.0
        self._next_s = 0.0
        self._lock = threading.Lock()
        self._clock, self._sleep = clock, sleep

    def take(self) -> None:
        """Wait until the next request may be sent, and count it.

        Raises:
            BudgetSpentError: If all were sent.
        """
        with self._lock:
            if self.sent >= self.most:
                raise BudgetSpentError(
                    f'the budget of {self.most} requests is spent; run again to go on'
                )
            self.sent += 1
            now = self._clock()
            due = max(now, self._next_s)
            self._next_s = due + self._space_s
        if due > now:
            self._sleep(due - now)
