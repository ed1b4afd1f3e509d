"""How regular and how fast the monitor was in an episode."""

from __future__ import annotations

import math

from structrl_ros.evaluation.statistics import percentile
from structrl_ros.evaluation.statistics import period_statistics
from structrl_ros.recording.run_events import RunEvents
from structrl_ros.recording.run_record import HeldRate
from structrl_ros.recording.run_record import MonitorEntry
from structrl_ros.types import Verdict


def monitor_entry(events: RunEvents) -> MonitorEntry:
    """Return the figures of one episode (`RunEvents.of_episode`)."""
    verdicts = [v for v in events.of(Verdict) if not v.stop]
    latencies = [v.latency for v in verdicts]
    ticks = list(dict.fromkeys((v.stamp_ns, v.revision) for v in verdicts))
    return MonitorEntry(
        names=tuple(sorted({v.monitor for v in verdicts})),
        verdicts=len(verdicts),
        held=_held(events),
        period=period_statistics([t for t, _ in ticks], [r for _, r in ticks]),
        latency_p50_s=percentile(latencies, 50.0),
        latency_p99_s=percentile(latencies, 99.0),
        latency_max_s=max(latencies, default=None),
    )


def _held(events: RunEvents) -> HeldRate | None:
    """Return what the planner said last, of a task with at least one call."""
    for diagnostic in reversed(events.diagnostics):
        values = diagnostic.values
        try:
            held = HeldRate(
                calls=int(values['calls']),
                due=int(values['due']),
                dropped=int(values['dropped']),
                wanted_hz=float(values['wanted_hz']),
                rate_hz=_finite(values['rate_hz']),
                period_p50_s=_finite(values['period_p50_s']),
                period_p99_s=_finite(values['period_p99_s']),
            )
        except (KeyError, ValueError):
            continue
        if held.calls and held.wanted_hz > 0.0:
            return held
    return None


def _finite(text: str) -> float | None:
    number = float(text)
    return number if math.isfinite(number) else None
