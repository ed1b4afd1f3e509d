"""What went wrong in a run: warnings and errors of /diagnostics, holes in the numbering."""

from __future__ import annotations

import re
from collections.abc import Iterable

from structrl_ros.recording.run_events import Diagnostic
from structrl_ros.recording.run_events import RunEvents
from structrl_ros.recording.run_record import FaultEntry
from structrl_ros.types import ChunkDone
from structrl_ros.types import Reward

LEVELS = ('ok', 'warning', 'error', 'stale')


def fault_entries(events: RunEvents, start_ns: int) -> tuple[FaultEntry, ...]:
    """Return the faults of one episode: reports that differ in numbers only are one entry."""
    groups: dict[tuple[str, int, str], list[Diagnostic]] = {}
    for diagnostic in events.diagnostics:
        if diagnostic.level:
            words = re.sub(r'\d+(\.\d+)?', '#', diagnostic.message)
            groups.setdefault((diagnostic.name, diagnostic.level, words), []).append(diagnostic)
    entries = [
        FaultEntry(
            t_s=(group[0].stamp_ns - start_ns) / 1e9,
            source=name,
            level=LEVELS[min(level, 3)],
            message=group[0].message,
            count=len(group),
        )
        for (name, level, _), group in groups.items()
    ]
    for name, numbers in (
        ('chunk_done', [d.chunk for d in events.of(ChunkDone)]),
        ('reward', [r.chunk for r in events.of(Reward)]),
    ):
        if missing := _missing(numbers):
            text = f'{len(missing)} missing in the recording, the first is chunk {missing[0]}'
            entries.append(FaultEntry(0.0, f'recording of {name}', 'error', text, len(missing)))
    return tuple(entries)


def _missing(numbers: Iterable[int]) -> list[int]:
    """Return the numbers from 1 to the largest that are not there."""
    present = set(numbers)
    return [n for n in range(1, max(present, default=0) + 1) if n not in present]
