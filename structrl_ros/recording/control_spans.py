"""Who moved the body when: the source of the chunks that were run, and takeovers by operators."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence

from structrl_ros.recording.run_curves import ControlSpan
from structrl_ros.recording.run_events import RunEvents
from structrl_ros.recording.run_record import ChunkEntry
from structrl_ros.recording.run_record import ExecutedEntry
from structrl_ros.types import Intervention

#: Who is in control in a takeover.
OPERATOR = 'operator'
#: Seconds between two chunks of one source that are shown as one stretch.
JOINED_S = 0.15


def takeovers(events: RunEvents, start_ns: int, end_s: float) -> tuple[ControlSpan, ...]:
    """Return the times from an operator's takeover to the release (or the end)."""
    spans: list[ControlSpan] = []
    begin: tuple[float, str] | None = None
    for message in events.of(Intervention):
        t_s = (message.stamp_ns - start_ns) / 1e9
        if message.active and begin is None:
            begin = (t_s, message.device)
        elif not message.active and begin is not None:
            spans.append(ControlSpan(begin[0], t_s, OPERATOR, begin[1]))
            begin = None
    if begin is not None:
        spans.append(ControlSpan(begin[0], max(begin[0], end_s), OPERATOR, begin[1]))
    return tuple(spans)


def control_spans(
    executed: Sequence[ExecutedEntry],
    sent: Sequence[ChunkEntry],
    interventions: Sequence[ControlSpan],
) -> tuple[ControlSpan, ...]:
    """Return who was in control, in order of time; where nobody is named no chunk was run.

    A chunk that was run is said to be from who sent the last chunk before its end. A takeover goes
    before whatever chunk runs in it.
    """
    stretches: list[ControlSpan] = []
    for entry in executed:
        sources = [c.source for c in sent if c.t_s < entry.t_s]
        if not sources or entry.t_s <= entry.start_s:
            continue
        last = stretches[-1] if stretches else None
        if last and last.who == sources[-1] and entry.start_s - last.end_s <= JOINED_S:
            stretches[-1] = ControlSpan(last.start_s, entry.t_s, last.who)
        else:
            stretches.append(ControlSpan(entry.start_s, entry.t_s, sources[-1]))
    free = [
        ControlSpan(start_s, end_s, stretch.who)
        for stretch in stretches
        for start_s, end_s in _outside(stretch.start_s, stretch.end_s, interventions)
    ]
    return tuple(sorted((*free, *interventions), key=lambda s: (s.start_s, s.end_s)))


def _outside(
    start_s: float, end_s: float, spans: Iterable[ControlSpan]
) -> list[tuple[float, float]]:
    """Return what is left of [start, end] without the spans."""
    left = [(start_s, end_s)]
    for span in spans:
        pieces = []
        for a, b in left:
            pieces += [(a, min(b, span.start_s)), (max(a, span.end_s), b)]
        left = [(a, b) for a, b in pieces if b > a]
    return left
