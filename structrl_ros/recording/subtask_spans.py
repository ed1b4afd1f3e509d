"""When each subtask was pursued, and how each stretch ended."""

from __future__ import annotations

from collections.abc import Sequence

from structrl_ros.recording.run_events import RunEvents
from structrl_ros.recording.run_record import SubtaskSpan
from structrl_ros.types import Plan
from structrl_ros.types import SubtaskStatus
from structrl_ros.types import Verdict


def subtask_spans(events: RunEvents, start_ns: int) -> tuple[SubtaskSpan, ...]:
    """Return the stretches of time in which one subtask of one revision was current.

    Args:
        events: What belongs to one episode.
        start_ns: Start of the episode; spans are in seconds after it.
    """
    statuses: list[SubtaskStatus] = events.of(SubtaskStatus)
    if not statuses:
        return ()
    phrases = {(p.revision, s.id): s.phrase for p in events.of(Plan) for s in p.subtasks}
    spans = []
    for group, after in _groups(statuses):
        first = group[0]
        last = after or group[-1]
        spans.append(
            SubtaskSpan(
                revision=first.revision,
                id=first.current,
                phrase=phrases.get((first.revision, first.current), first.current),
                start_s=(first.stamp_ns - start_ns) / 1e9,
                end_s=(last.stamp_ns - start_ns) / 1e9,
                chunks=max(0, last.chunk - first.chunk),
                result=_result(first, after, group[-1], events.of(Verdict)),
            )
        )
    return tuple(spans)


def _groups(
    statuses: Sequence[SubtaskStatus],
) -> list[tuple[list[SubtaskStatus], SubtaskStatus | None]]:
    """Return runs of statuses with one current subtask, each with the status that ended it."""
    groups: list[tuple[list[SubtaskStatus], SubtaskStatus | None]] = []
    current: list[SubtaskStatus] = []
    for status in statuses:
        key = (status.revision, status.current)
        if current and key != (current[0].revision, current[0].current):
            groups.append((current, status))
            current = []
        current.append(status)
    groups.append((current, None))
    return [(group, after) for group, after in groups if group[0].current]


def _result(
    first: SubtaskStatus,
    after: SubtaskStatus | None,
    last: SubtaskStatus,
    verdicts: Sequence[Verdict],
) -> str:
    mine = [v for v in verdicts if (v.revision, v.subtask_id) == (first.revision, first.current)]
    if first.current in (after or last).completed or any(v.done for v in mine):
        return 'done'
    if any(v.stop for v in mine):
        return 'stopped'
    return 'open' if after is None else 'replaced'
