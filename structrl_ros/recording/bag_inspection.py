"""What is wrong with a bag, one clear line each: a reader for `structrl bag check`; no ROS."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from dataclasses import field

from structrl_ros.recording.bag_metadata import OFFERED
from structrl_ros.recording.bag_metadata import notes_on_topics
from structrl_ros.recording.bag_reader import BagReader
from structrl_ros.recording.bag_reader import RawMessage
from structrl_ros.recording.message_types import message_types
from structrl_ros.recording.run_events import CLOCK_TYPE
from structrl_ros.recording.run_events import DIAGNOSTICS_TYPE
from structrl_ros.recording.stamp_order import stamp_ns

_SECOND = 1_000_000_000
#: Receipt before 2001 comes from a computer that did not know the time.
_OLDEST_NS = 1_000_000_000 * _SECOND
#: A clock that goes back this often is two clocks, and not a body that began anew.
_TWO_CLOCKS = 3
#: Types whose topics have several publishers, or none that stamps by the body's clock.
_UNORDERED = frozenset({DIAGNOSTICS_TYPE, 'std_msgs/msg/Header', 'std_msgs/msg/Bool'})
#: Ends of the names of topics that rewards hang on, and of what needs them.
_LATCHED_INPUTS = {'episode': 'chunk_done', 'plan': 'verdict'}


@dataclass
class _Stamps:
    """What the stamps of a topic did."""

    last_ns: int = 0
    backward: int = 0
    worst_s: float = 0.0
    zero: int = 0


@dataclass
class _Times:
    """Stamps of receipt and of the topics."""

    first_ns: int = 0
    last_ns: int = 0
    receipt_backward: int = 0
    topics: dict[str, _Stamps] = field(default_factory=dict)
    kinds: Counter[str] = field(default_factory=Counter)

    def see(self, raw: RawMessage) -> None:
        """Take a message."""
        self.first_ns = self.first_ns or raw.stamp_ns
        self.receipt_backward += raw.stamp_ns < self.last_ns
        self.last_ns = raw.stamp_ns
        self.kinds[raw.topic] += 1
        found = stamp_ns(raw) if raw.msgtype not in _UNORDERED else None
        if found is None:
            return
        stamps = self.topics.setdefault(raw.topic, _Stamps())
        stamps.zero += found == 0
        if 0 < found < stamps.last_ns:
            stamps.backward += 1
            stamps.worst_s = max(stamps.worst_s, (stamps.last_ns - found) / _SECOND)
        stamps.last_ns = found


def inspect_bag(reader: BagReader) -> list[str]:
    """Return one line for each thing that is wrong; [] for a good bag.

    Every message is read, but only its first bytes are looked at.

    Raises:
        BagError: If the bag is damaged inside.
    """
    times = _Times()
    for raw in reader.raw_messages():
        times.see(raw)
    return [
        *_form(reader, times),
        *_types(reader),
        *_clocks(reader, times),
        *_missing(reader, times),
    ]


def wrong_hashes(reader: BagReader) -> dict[str, tuple[str, str]]:
    """Return (hash in the bag, hash here) of each type whose definition is another one here."""
    store = message_types()
    return {
        kind: (told, here)
        for kind, told in reader.hashes.items()
        if told and kind in store.fielddefs and told != (here := store.hash_rihs01(kind))
    }


def _form(reader: BagReader, times: _Times) -> Iterator[str]:
    if not times.kinds:
        yield 'the bag holds no message'
    if reader.is_cut:
        yield f'the bag was cut; finish it: structrl bag repair {reader.path}'
    if reader.note:
        yield f'{reader.note}; the files are read one by one'
    for topic, words in reader.offers.items():
        if len(words) > 1:
            yield f'{topic}: publishers offered different QoS: {" and ".join(words)}'
    for topic, offered in notes_on_topics(reader.path, OFFERED).items():
        yield f'{topic}: offered {offered}, less than the contract'


def _types(reader: BagReader) -> Iterator[str]:
    for topic, summary in reader.topics.items():
        if not reader.knows(summary.msgtype):
            yield f'{topic}: type {summary.msgtype} is unknown: the bag holds no definition of it'
    for kind, (told, here) in wrong_hashes(reader).items():
        yield (
            f'{kind} is of another version: hash {_short(told)} in the bag, {_short(here)} here'
        )


def _clocks(reader: BagReader, times: _Times) -> Iterator[str]:
    if times.kinds and times.first_ns < _OLDEST_NS:
        yield 'recorded before 2001: the clock of the recording computer was not set'
    if times.receipt_backward:
        yield f'times of receipt go back {times.receipt_backward} times'
    for topic, stamps in times.topics.items():
        if stamps.zero:
            yield f'{topic}: {stamps.zero} messages are stamped 0 (1970)'
        is_clock = reader.topics[topic].msgtype == CLOCK_TYPE
        if is_clock and stamps.backward >= _TWO_CLOCKS:
            yield (
                f'{topic} goes back {stamps.backward} times, by up to {stamps.worst_s:.3f} s: '
                'two bodies publish it'
            )
        elif stamps.backward:
            how = f'{stamps.backward} times, by up to {stamps.worst_s:.3f} s'
            yield f'{topic}: time goes back {how}'


def _missing(reader: BagReader, times: _Times) -> Iterator[str]:
    def count(end: str) -> int:
        return sum(n for topic, n in times.kinds.items() if topic.rsplit('/', 1)[-1] == end)

    for latched, needs in _LATCHED_INPUTS.items():
        if count(needs) and not count(latched):
            yield f'no {latched} was recorded, but {count(needs)} messages of {needs} that need it'
    for topic, missing in reader.missing.items():
        yield f'{topic}: {missing} messages never came to the recorder'


def _short(text: str) -> str:
    return text[:19]
