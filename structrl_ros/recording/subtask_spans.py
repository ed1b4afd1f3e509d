"""When each subtask was pursued, and how each stretch ended."""

from __future__ import annotations

from collections.abc import Sequence

from structrl_ros.recording.run_events import RunEvents
from structrl_ros.recording.run_record import SubtaskSpan
from structrl_ros.types import ChunkDone
from structrl_ros.types import Plan
from structrl_ros.types import SubtaskStatus
from structrl_ros.types import Verdict

_Group = tuple[list[SubtaskStatus], SubtaskStatus | None]


def subtask_spans(events: RunEvents, start_ns: int) -> tuple[SubtaskSpan, ...]:
    """Return the stretches of time in which one subtask of one revision was current.

    A stretch ends with the verdict that ended it, else with the next status: in real time a
    status carries the stamp of the last chunk, and the verdict is newer. A chunk counts where it
    ended.

    Args:
        events: What belongs to one episode.
        start_ns: Start of the episode; spans are in seconds after it.
    """
    phrases = {(p.revision, s.id): s.phrase for p in events.of(Plan) for s in p.subtasks}
    last_ns = max((a.value.stamp_ns for a in events.arrivals), default=start_ns)
    chunk_ends = [d.stamp_ns for d in events.of(ChunkDone)]
    spans: list[SubtaskSpan] = []
    before_ns = start_ns
    for group, after in _groups(events.of(SubtaskStatus)):
        first = group[0]
        begin_ns = max(first.stamp_ns, before_ns)
        deciding = _deciding(first, begin_ns, events.of(Verdict))
        end_ns = max(begin_ns, after.stamp_ns if after else last_ns)
        if deciding is not None and after is not None:
            end_ns = max(end_ns, deciding.stamp_ns)
        before_ns = end_ns
        spans.append(
            SubtaskSpan(
                revision=first.revision,
                id=first.current,
                phrase=phrases.get((first.revision, first.current), first.current),
                start_s=(begin_ns - start_ns) / 1e9,
                end_s=(end_ns - start_ns) / 1e9,
                chunks=sum(begin_ns < end <= end_ns for end in chunk_ends),
                result=_result(first.current, deciding, after, group[-1]),
            )
        )
    return tuple(spans)


def _groups(statuses: Sequence[SubtaskStatus]) -> list[_Group]:
    """Return runs of statuses with one current subtask, each with the status that ended it."""
    groups: list[_Group] = []
    current: list[SubtaskStatus] = []
    for status in statuses:
        key = (status.revision, status.current)
        if current and key != (current[0].revision, current[0].current):
            groups.append((current, status))
            current = []
        current.append(status)
    if current:
        groups.append((current, None))
    return [(group, after) for group, after in groups if group[0].current]


def _deciding(first: SubtaskStatus, begin_ns: int, verdicts: Sequence[Verdict]) -> Verdict | None:
    """Return the verdict that ended this attempt, None if none did."""
    for verdict in verdicts:
        is_mine = (verdict.revision, verdict.subtask_id) == (first.revision, first.current)
        if is_mine and verdict.stamp_ns >= begin_ns and (verdict.done or verdict.stop):
            return verdict
    return None


def _result(
    name: str, deciding: Verdict | None, after: SubtaskStatus | None, last: SubtaskStatus
) -> str:
    if deciding is not None:
        return 'done' if deciding.done else 'stopped'
    if name in (after or last).completed:
        return 'done'
    return 'open' if after is None else 'replaced'
