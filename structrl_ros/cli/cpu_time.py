"""CPU time of a call, and a row of a benchmark's table."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

#: A measurement runs at least this long, so that the clock's step does not show.
LEAST_S = 0.02


@dataclass(frozen=True, slots=True)
class Row:
    """One measurement in microseconds of CPU; `plain_us` is None where there is no peer."""

    name: str
    ours_us: float
    plain_us: float | None = None
    least_ratio: float | None = None
    most_us: float | None = None

    @property
    def ratio(self) -> float | None:
        """How many times faster than the plain implementation."""
        return None if self.plain_us is None else self.plain_us / self.ours_us

    @property
    def is_met(self) -> bool | None:
        """Whether the target is met, None if there is none or it could not be measured."""
        if self.most_us is not None:
            return self.ours_us <= self.most_us
        if self.least_ratio is None or self.ratio is None:
            return None
        return self.ratio >= self.least_ratio


def cpu_time_us(call: Callable[[], object], repeats: int) -> float:
    """Return the CPU time of one call in microseconds, the best of `repeats`."""
    call()
    loops = 1
    while (elapsed := _process_time(call, loops)) < LEAST_S:
        loops = max(loops * 2, round(loops * 1.2 * LEAST_S / max(elapsed, 1e-9)))
    best = min(elapsed, *(_process_time(call, loops) for _ in range(repeats)))
    return best / loops * 1e6


def _process_time(call: Callable[[], object], loops: int) -> float:
    start = time.process_time()
    for _ in range(loops):
        call()
    return time.process_time() - start
