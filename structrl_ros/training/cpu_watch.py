"""CPU seconds of the parts of an iteration, and what shares they make."""

from __future__ import annotations

import time
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from contextlib import contextmanager

from structrl_ros.training.metrics_log import SECONDS
from structrl_ros.training.metrics_log import Metrics

#: What rollouts are made of; the others are updates, evaluations and the like.
ROLLOUT = ('physics', 'network', 'rollout_other')


class CpuWatch:
    """Adds up CPU seconds by the name of the part."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Count what is inside, in this process."""
        began = time.process_time()
        try:
            yield
        finally:
            self.add(name, time.process_time() - began)

    def add(self, name: str, seconds: float) -> None:
        """Count seconds that were measured elsewhere."""
        self._seconds[name] = self._seconds.get(name, 0.0) + seconds

    def seconds(self) -> Metrics:
        """Return the seconds by name, for the log."""
        return {f'{SECONDS}{name}': seconds for name, seconds in self._seconds.items()}


def rollout_profile(metrics: Sequence[Mapping[str, float | None]]) -> dict[str, float]:
    """Return the shares of physics, network and other in the rollouts of a run, summing to 1."""
    sums = {name: sum(row.get(f'{SECONDS}{name}') or 0.0 for row in metrics) for name in ROLLOUT}
    total = sum(sums.values())
    return {name: value / total if total else 0.0 for name, value in sums.items()}
