"""Whether a recording gives its own rewards again: the pure tracker on recorded messages."""

from __future__ import annotations

from structrl_ros.recording.run_events import RunEvents
from structrl_ros.recording.run_record import LedgerCheck
from structrl_ros.types import JsonObject


def check_ledger(events: RunEvents, episode: int) -> tuple[JsonObject | None, LedgerCheck]:
    """Return trace.json and the check; replaced once the tracker is there."""
    del events, episode
    return None, LedgerCheck(None, 0, 'not recomputed')
