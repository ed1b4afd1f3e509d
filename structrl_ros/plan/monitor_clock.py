"""The 5 Hz of the monitor (REVER, Section III-C2): a fixed grid of the body's time.

The grid lies at whole multiples of the period from time 0. A tick that falls due while a call runs
is counted and never queued: the next call starts as soon as the last one ends, on the newest
observation. So a monitor that needs 350 ms holds about 2.8 Hz, and nothing piles up.
"""

from __future__ import annotations

import dataclasses
from collections import deque
from dataclasses import dataclass

import numpy as np

from structrl_ros.errors import ParameterError

PERIOD_NS = 200_000_000
_SECOND = 1_000_000_000
_KEPT = 6000
_FEWEST = 5


@dataclass(frozen=True, slots=True)
class MonitorStatistics:
    """What the monitor held: rate in Hz, periods and latencies in seconds, NaN before any.

    `dropped` counts grid ticks on which no call started, `calls` the calls, `due` both together.
    """

    calls: int
    due: int
    dropped: int
    rate_hz: float
    period_p50_s: float
    period_p99_s: float
    latency_p50_s: float
    latency_p99_s: float


class MonitorClock:
    """Says when a call of the monitor is to start; fed with the body's time.

    Args:
        period_ns: Distance of the grid's ticks in nanoseconds, positive.
    """

    def __init__(self, period_ns: int = PERIOD_NS) -> None:
        """Begin stopped.

        Raises:
            ParameterError: If the period is not positive.
        """
        if period_ns <= 0:
            raise ParameterError(f'monitor period is {period_ns} ns; allowed: positive')
        self.period_ns = period_ns
        self.reset()

    def reset(self) -> None:
        """Forget everything, for a new task."""
        self._seen: int | None = None
        self._pending = 0
        self._busy = False
        self._calls = self._due = 0
        self._last_start: int | None = None
        self._periods: deque[int] = deque(maxlen=_KEPT)
        self._latencies: deque[float] = deque(maxlen=_KEPT)

    def pause(self) -> None:
        """Forget ticks that are due; the time until the next call is no period of the monitor."""
        self._seen, self._pending, self._last_start = None, 0, None

    @property
    def is_busy(self) -> bool:
        """Whether a call runs."""
        return self._busy

    def is_due(self, now_ns: int) -> bool:
        """Count the ticks up to now; tell whether a call should start now."""
        tick = now_ns // self.period_ns
        passed = int(now_ns % self.period_ns == 0) if self._seen is None else tick - self._seen
        if self._seen is None or passed > 0:
            self._seen = tick
        if passed > 0:
            self._due += passed
            self._pending += passed
        return self._pending > 0 and not self._busy

    def begin(self, now_ns: int) -> None:
        """Note that a call starts; it stands for all ticks that are due."""
        self._busy = True
        self._pending = 0
        self._calls += 1
        if self._last_start is not None:
            self._periods.append(now_ns - self._last_start)
        self._last_start = now_ns

    def end(self, latency_s: float) -> None:
        """Note that the call has ended after so many seconds of the wall."""
        self._busy = False
        self._latencies.append(latency_s)

    def lockstep_ticks(self, before_ns: int, until_ns: int) -> tuple[int, ...]:
        """Return the ticks in (before, until]: those of the grid, and `until` itself, always."""
        first = before_ns // self.period_ns + 1
        grid = range(first * self.period_ns, until_ns, self.period_ns)
        return (*grid, until_ns)

    def statistics(self) -> MonitorStatistics:
        """Return what was held since the last reset."""
        total = sum(self._periods)
        return MonitorStatistics(
            calls=self._calls,
            due=max(self._due, self._calls),
            dropped=max(0, self._due - self._calls),
            rate_hz=len(self._periods) * _SECOND / total if total > 0 else float('nan'),
            period_p50_s=_percentile(self._periods, 50) / _SECOND,
            period_p99_s=_percentile(self._periods, 99) / _SECOND,
            latency_p50_s=_percentile(self._latencies, 50),
            latency_p99_s=_percentile(self._latencies, 99),
        )


def _percentile(values: deque[int] | deque[float], percent: float) -> float:
    """Return a percentile, NaN of nothing."""
    return float(np.percentile(np.array(values), percent)) if values else float('nan')


def monitor_health(held: MonitorStatistics, wanted_hz: float) -> tuple[bool, str, dict[str, str]]:
    """Return whether the monitor holds its rate, one line about it, and the numbers as text.

    A rate below 95 % of the wanted one, over at least five periods, is not held.
    """
    numbers = {name: f'{value:.6g}' for name, value in dataclasses.asdict(held).items()}
    numbers['wanted_hz'] = f'{wanted_hz:.6g}'
    if held.calls < 2:
        return True, f'{held.calls} calls', numbers
    text = f'{held.rate_hz:.2f} Hz, period p99 {1000 * held.period_p99_s:.0f} ms'
    if held.calls > _FEWEST and held.rate_hz < 0.95 * wanted_hz:
        slow = f'{text}, wanted {wanted_hz:g} Hz: {held.dropped} of {held.due} ticks dropped'
        return False, f'{slow}, a call takes {1000 * held.latency_p50_s:.0f} ms', numbers
    return True, text, numbers
