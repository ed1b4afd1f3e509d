"""What happened in a recorded run, by kind, with the body's time of every arrival."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field
from pathlib import Path
from typing import Any
from typing import NamedTuple

from structrl_ros.errors import BagError
from structrl_ros.recording.bag_reader import BagReader
from structrl_ros.recording.bag_reader import RawMessage
from structrl_ros.recording.decoding import decode
from structrl_ros.recording.decoding import is_decodable
from structrl_ros.recording.decoding import time_ns
from structrl_ros.types import ChunkDone
from structrl_ros.types import Episode

CLOCK_TYPE = 'rosgraph_msgs/msg/Clock'
DIAGNOSTICS_TYPE = 'diagnostic_msgs/msg/DiagnosticArray'
IMAGE_TYPE = 'sensor_msgs/msg/Image'
#: Read only where asked for: large, and no part of a run's record.
SKIPPED_TYPES = frozenset(
    {
        IMAGE_TYPE,
        'sensor_msgs/msg/CameraInfo',
        'sensor_msgs/msg/JointState',
        'geometry_msgs/msg/PoseStamped',
        'geometry_msgs/msg/WrenchStamped',
        'structrl_msgs/msg/SimulatorState',
    }
)


class Arrival(NamedTuple):
    """A message and the body's time when the recorder got it (0 before the first /clock)."""

    clock_ns: int
    value: Any


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One status of /diagnostics; `level` 0 ok, 1 warning, 2 error, 3 stale."""

    stamp_ns: int
    name: str
    level: int
    message: str
    values: dict[str, str]


@dataclass(slots=True)
class RunEvents:
    """The messages of a bag in order of arrival; `first_ns` and `last_ns` are wall time."""

    arrivals: list[Arrival] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    is_cut: bool = False
    first_ns: int = 0
    last_ns: int = 0

    def of(self, kind: type[Any]) -> list[Any]:
        """Return the values of a kind, in order of arrival."""
        return [a.value for a in self.arrivals if isinstance(a.value, kind)]

    def episode_numbers(self) -> list[int]:
        """Return the numbers of the episodes, in order."""
        return list(dict.fromkeys(e.episode for e in self.of(Episode)))

    def main_episode(self) -> int:
        """Return the last episode in which a chunk was run, else the last one.

        Raises:
            BagError: If the bag holds no episode.
        """
        numbers = self.episode_numbers()
        if not numbers:
            raise BagError('the recording holds no episode: no run to report')
        run = {d.episode for d in self.of(ChunkDone)}
        return next((n for n in reversed(numbers) if n in run), numbers[-1])

    def of_episode(self, number: int) -> RunEvents:
        """Return what belongs to one episode.

        Plans, verdicts and safety states carry no episode number: those stamped from the start
        of the episode to the start of the next are taken.
        """
        starts = {e.episode: e.stamp_ns for e in reversed(self.of(Episode))}
        begin = starts.get(number, 0)
        later = [s for n, s in starts.items() if s > begin or (s == begin and n > number)]
        end = min(later, default=2**63 - 1)

        def inside(value: Any) -> bool:
            if hasattr(value, 'episode'):
                return bool(value.episode == number)
            return bool(begin <= value.stamp_ns < end)

        return RunEvents(
            arrivals=[a for a in self.arrivals if inside(a.value)],
            diagnostics=[d for d in self.diagnostics if begin <= d.stamp_ns < end],
            counts=self.counts,
            is_cut=self.is_cut,
            first_ns=self.first_ns,
            last_ns=self.last_ns,
        )


def read_events(bag: Path) -> RunEvents:
    """Read everything but images and the arm's own state.

    Raises:
        BagError: If there is no bag or a message breaks the contract.
    """
    reader = BagReader(bag)
    events = RunEvents(
        is_cut=reader.is_cut, counts={t: s.count for t, s in sorted(reader.topics.items())}
    )
    topics = [t for t, s in reader.topics.items() if s.msgtype not in SKIPPED_TYPES]
    has_clock = any(s.msgtype == CLOCK_TYPE and s.count for s in reader.topics.values())
    clock_ns = 0
    for raw in reader.raw_messages(topics):
        events.first_ns = events.first_ns or raw.stamp_ns
        events.last_ns = raw.stamp_ns
        if raw.msgtype == CLOCK_TYPE:
            clock_ns = time_ns(reader.decode(raw).clock)
            continue
        _sort_in(events, reader, raw, clock_ns if has_clock else raw.stamp_ns)
    return events


def _sort_in(events: RunEvents, reader: BagReader, raw: RawMessage, clock_ns: int) -> None:
    if is_decodable(raw.msgtype):
        events.arrivals.append(Arrival(clock_ns, decode(raw.msgtype, reader.decode(raw))))
    elif raw.msgtype == DIAGNOSTICS_TYPE:
        message = reader.decode(raw)
        stamp_ns = time_ns(message.header.stamp) or clock_ns
        events.diagnostics.extend(
            Diagnostic(
                stamp_ns=stamp_ns,
                name=status.name,
                level=_level(status.level),
                message=status.message,
                values={v.key: v.value for v in status.values},
            )
            for status in message.status
        )


def _level(level: Any) -> int:
    return level[0] if isinstance(level, bytes) else int(level)
