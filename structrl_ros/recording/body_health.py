"""What a body said of itself on /diagnostics during an episode."""

from __future__ import annotations

import math
from collections.abc import Iterable

from structrl_ros.evaluation.statistics import percentile
from structrl_ros.recording.run_events import Diagnostic
from structrl_ros.recording.run_events import RunEvents
from structrl_ros.recording.run_record import BodyEntry

#: Keys of the body's status; `rejected_chunks` counts from the start of the process.
REJECTED = 'rejected_chunks'
REAL_TIME_FACTOR = 'real_time_factor'


def body_entry(events: RunEvents, mine: RunEvents) -> BodyEntry:
    """Return the figures of one episode.

    Args:
        events: Everything that was recorded; what was counted before the episode is taken off.
        mine: What belongs to the episode.
    """
    counts = _numbers(mine.diagnostics, REJECTED)
    first_ns = mine.diagnostics[0].stamp_ns if mine.diagnostics else 0
    earlier = _numbers((d for d in events.diagnostics if d.stamp_ns < first_ns), REJECTED)
    factors = [f for f in _numbers(mine.diagnostics, REAL_TIME_FACTOR) if f > 0.0]
    return BodyEntry(
        rejected_chunks=int(max(counts) - max(earlier, default=0.0)) if counts else None,
        real_time_factor_p50=percentile(factors, 50.0),
        real_time_factor_min=min(factors, default=None),
    )


def _numbers(diagnostics: Iterable[Diagnostic], key: str) -> list[float]:
    found = []
    for diagnostic in diagnostics:
        try:
            number = float(diagnostic.values[key])
        except (KeyError, ValueError):
            continue
        if math.isfinite(number):
            found.append(number)
    return found
