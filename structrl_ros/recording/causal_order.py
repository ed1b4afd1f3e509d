"""The order in which a lock-step graph caused its messages; no ROS.

A recorder hears topics in an order of its own, above all on a busy machine. In lock-step the
stamps tell the true one: a chunk ends, its predicates and `chunk_done` go out, then the planner's
verdicts up to that instant and the plan that follows from them, and the end of the episode.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from collections.abc import Sequence

from structrl_ros.recording.run_events import Arrival
from structrl_ros.recording.run_events import RunEvents
from structrl_ros.types import ChunkDone
from structrl_ros.types import Episode
from structrl_ros.types import Plan
from structrl_ros.types import Predicates
from structrl_ros.types import Verdict

Input = Episode | Plan | Verdict | Predicates | ChunkDone
_RANKS = {Predicates: 1, ChunkDone: 2, Verdict: 3, Plan: 4}


def bodies(events: RunEvents) -> Iterator[list[Arrival]]:
    """Yield the arrivals of each body; one that began anew counts its time from the start."""
    part: list[Arrival] = []
    last_ns = 0
    for arrival in events.arrivals:
        if isinstance(arrival.value, Episode):
            if arrival.value.stamp_ns < last_ns:
                yield part
                part = []
            last_ns = arrival.value.stamp_ns
        part.append(arrival)
    yield part


def tracker_inputs(
    events: RunEvents, *, lockstep: bool, is_end_early: bool = False
) -> Iterator[Input]:
    """Yield what a tracker takes: in order of arrival, or in lock-step as it was caused.

    Args:
        events: Of the recording.
        lockstep: Whether the graph was in lock-step.
        is_end_early: Tell the end of an episode before its last chunk: a tracker may hear it
            then, for it is another topic.
    """
    for arrivals in bodies(events):
        inputs = [a.value for a in arrivals if isinstance(a.value, Input)]
        yield from _caused(inputs, is_end_early) if lockstep else inputs


def _caused(inputs: Sequence[Input], is_end_early: bool) -> list[Input]:
    ends = sorted(i.stamp_ns for i in inputs if isinstance(i, ChunkDone))

    def key(value: Input) -> tuple[int, int, int]:
        if isinstance(value, Episode):
            return value.stamp_ns, 0 if is_end_early or not value.ended else 5, 0
        instant = value.stamp_ns
        if isinstance(value, Verdict):  # within a chunk, given after it
            place = bisect.bisect_left(ends, instant)
            instant = ends[place] if place < len(ends) else instant
        return instant, _RANKS[type(value)], value.stamp_ns

    return sorted(inputs, key=key)
