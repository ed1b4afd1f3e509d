"""Progress over a run: the share of subtasks done, and what the progress model said."""

from __future__ import annotations

import math

from structrl_ros.recording.run_curves import DoneEntry
from structrl_ros.recording.run_curves import ProgressEntry
from structrl_ros.recording.run_events import RunEvents
from structrl_ros.types import Progress
from structrl_ros.types import SubtaskStatus


def done_entries(events: RunEvents, start_ns: int) -> tuple[DoneEntry, ...]:
    """Return the share of subtasks done, an entry a change.

    The share is of all subtasks that the tracker named by then: a replan lists only what is left.
    """
    found: list[DoneEntry] = []
    done: set[str] = set()
    for status in events.of(SubtaskStatus):
        done |= set(status.completed)
        everything = done | set(status.open) | set(status.blocked) | {status.current} - {''}
        share = len(done) / len(everything) if everything else 0.0
        t_s = max(0.0, (status.stamp_ns - start_ns) / 1e9)
        if not found or share != found[-1].share:
            found.append(DoneEntry(t_s, share))
    return tuple(found)


def progress_entries(events: RunEvents, start_ns: int) -> tuple[ProgressEntry, ...]:
    """Return what the progress model said in one episode, in order of its stamps."""
    return tuple(
        ProgressEntry(
            t_s=(p.stamp_ns - start_ns) / 1e9,
            step=p.step,
            hop_forward=p.hop_forward,
            hop_backward=None if math.isnan(p.hop_backward) else p.hop_backward,
            hop_incremental=p.hop_incremental,
            potential=p.potential,
            shaping=p.shaping,
            valid=p.valid,
        )
        for p in sorted(events.of(Progress), key=lambda p: p.stamp_ns)
    )
