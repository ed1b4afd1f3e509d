"""Pacing of a simulated world by the wall clock, by deadlines, with an honest real-time factor."""

from __future__ import annotations

from structrl_ros.errors import ParameterError


class Pacer:
    """Says how long to wait before the next control period.

    Deadlines lie on a grid, so a late period (a slow render) is caught up by the next ones instead
    of shifting everything. A debt beyond `max_debt_s` is dropped: the world is then too slow for
    this machine, which the real-time factor shows.
    """

    def __init__(self, *, period_s: float, max_debt_s: float = 1.0) -> None:
        """Start with no deadline; times are seconds of one monotonic clock.

        Raises:
            ParameterError: If a value is not positive.
        """
        if not (period_s > 0.0 and max_debt_s > 0.0):
            raise ParameterError(
                f'period {period_s} s, debt {max_debt_s} s; allowed: both above 0'
            )
        self._period_s = period_s
        self._max_debt_s = max_debt_s
        self._due_s: float | None = None
        self._window: list[float] = []

    def wait_s(self, now_s: float) -> float:
        """Return the seconds until the next period is due, 0 if it is due or late."""
        if self._due_s is None or now_s - self._due_s > self._max_debt_s:
            self._due_s = now_s
        return max(0.0, self._due_s - now_s)

    def ticked(self, now_s: float) -> None:
        """Note that a period has begun."""
        assert self._due_s is not None
        self._due_s += self._period_s
        self._window = [t for t in self._window if now_s - t <= 5.0]
        self._window.append(now_s)

    def restart(self) -> None:
        """Forget deadlines and measurements: the world stood still on purpose (a reset)."""
        self._due_s = None
        self._window = []

    @property
    def real_time_factor(self) -> float:
        """Seconds simulated a second over the last 5 s; 0 with less than two periods."""
        if len(self._window) < 2:
            return 0.0
        return (len(self._window) - 1) * self._period_s / (self._window[-1] - self._window[0])
