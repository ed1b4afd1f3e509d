"""Playback of a bag: what is due at a time, with rate, pause, step, seek and loop; no ROS.

    playback = Playback(BagReader(path), topics, rate=2.0)
    for message in playback.due(time.monotonic_ns()):
        publish(message)

Bag time is the time of receipt. A seek gives the last message of every latched topic first, so
that whoever listens knows the plan and the episode that the messages after it belong to.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterator

from structrl_ros.errors import BagError
from structrl_ros.errors import ParameterError
from structrl_ros.recording.bag_reader import BagReader
from structrl_ros.recording.bag_reader import RawMessage
from structrl_ros.recording.stamp_order import in_stamp_order

#: Fastest playback.
MAX_RATE = 100.0


class Playback:
    """Gives the messages of some topics when they are due."""

    def __init__(
        self,
        reader: BagReader,
        topics: Collection[str],
        *,
        latched: Collection[str] = (),
        rate: float = 1.0,
        is_looped: bool = False,
        by_stamp: bool = False,
    ) -> None:
        """Stand at the first message, paused.

        Args:
            reader: Of the bag.
            topics: Names in the bag to play.
            latched: Those of them that are given again after a seek.
            rate: Bag seconds a second, (0, 100].
            is_looped: Begin again at the end.
            by_stamp: Give messages in the order of the body's time, not of receipt.

        Raises:
            BagError: If none of the topics holds a message.
            ParameterError: If the rate is out of range.
        """
        self._reader = reader
        self._topics = tuple(topics)
        self._latched = frozenset(latched)
        self._is_looped = is_looped
        self._by_stamp = by_stamp
        first = next(reader.raw_messages(self._topics), None) if self._topics else None
        if first is None:
            raise BagError(f'{reader.path} holds no message of the topics to play')
        self._start_ns = first.stamp_ns
        self._rate = _checked(rate)
        self._messages = self._from(self._start_ns)
        self._next: RawMessage | None = next(self._messages, None)
        self._anchor_bag_ns = self._start_ns
        self._anchor_ns: int | None = None
        self.loops = 0

    @property
    def start_ns(self) -> int:
        """Bag time of the first message."""
        return self._start_ns

    @property
    def is_over(self) -> bool:
        """Whether everything was given."""
        return self._next is None

    @property
    def is_paused(self) -> bool:
        """Whether bag time stands still."""
        return self._anchor_ns is None

    @property
    def rate(self) -> float:
        """Bag seconds a second."""
        return self._rate

    def now_ns(self, monotonic_ns: int) -> int:
        """Return the bag time that belongs to a monotonic time."""
        if self._anchor_ns is None:
            return self._anchor_bag_ns
        return self._anchor_bag_ns + round((monotonic_ns - self._anchor_ns) * self._rate)

    def resume(self, monotonic_ns: int) -> None:
        """Let bag time run on from where it stands."""
        if self._anchor_ns is None:
            self._anchor_ns = monotonic_ns

    def pause(self, monotonic_ns: int) -> None:
        """Have bag time stand still."""
        self._anchor_bag_ns, self._anchor_ns = self.now_ns(monotonic_ns), None

    def change_rate(self, rate: float, monotonic_ns: int) -> None:
        """Go on at another rate.

        Raises:
            ParameterError: If it is out of range.
        """
        rate = _checked(rate)
        now = self.now_ns(monotonic_ns)
        self._anchor_bag_ns = now
        self._anchor_ns = None if self._anchor_ns is None else monotonic_ns
        self._rate = rate

    def seek(self, seconds: float, monotonic_ns: int) -> None:
        """Stand at a time after the start; before it counts as the start."""
        target = self._start_ns + max(0, round(seconds * 1e9))
        self._messages = self._from(target)
        self._next = next(self._messages, None)
        self._anchor_bag_ns = target
        self._anchor_ns = None if self._anchor_ns is None else monotonic_ns

    def due(self, monotonic_ns: int) -> Iterator[RawMessage]:
        """Yield what is due, in order; at the end begin again where the playback is looped."""
        now = self.now_ns(monotonic_ns)
        while self._next is not None and self._next.stamp_ns <= now and not self.is_paused:
            yield self._take()
        if self._next is None and self._is_looped:
            self.loops += 1
            self.seek(0.0, monotonic_ns)

    def step(self, until: Collection[str], monotonic_ns: int) -> Iterator[RawMessage]:
        """Pause, and yield everything up to and with the next message of a topic of `until`."""
        self.pause(monotonic_ns)
        while self._next is not None:
            message = self._take()
            self._anchor_bag_ns = max(self._anchor_bag_ns, message.stamp_ns)
            yield message
            if message.topic in until:
                return

    def take_while(self, may_pass: Callable[[RawMessage], bool]) -> Iterator[RawMessage]:
        """Yield messages, whatever the time, until one that may not pass; bag time follows."""
        while self._next is not None and may_pass(self._next):
            message = self._take()
            self._anchor_bag_ns = max(self._anchor_bag_ns, message.stamp_ns)
            yield message

    def _take(self) -> RawMessage:
        message = self._next
        assert message is not None
        self._next = next(self._messages, None)
        return message

    def _from(self, start_ns: int) -> Iterator[RawMessage]:
        last: dict[str, RawMessage] = {}
        is_open = True
        messages = self._reader.raw_messages(self._topics)
        for message in in_stamp_order(messages) if self._by_stamp else messages:
            if message.stamp_ns < start_ns:
                if message.topic in self._latched:
                    last[message.topic] = message
                continue
            if is_open:
                is_open = False
                yield from (m._replace(stamp_ns=start_ns) for m in last.values())
            yield message


def _checked(rate: float) -> float:
    if not 0.0 < rate <= MAX_RATE:
        raise ParameterError(f'rate {rate}; allowed: above 0, up to {MAX_RATE:g}')
    return rate
