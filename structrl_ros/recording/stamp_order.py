"""Messages of a bag in the order of the body's time instead of that of receipt; no ROS."""

from __future__ import annotations

import heapq
import struct
from collections.abc import Iterable
from collections.abc import Iterator

from structrl_ros.recording.bag_reader import RawMessage
from structrl_ros.recording.decoding import SECOND_NS

#: Messages that are looked at ahead; a recorder's queues hold 100 of a topic.
WINDOW = 500
#: Types that do not begin with a time.
_UNSTAMPED = frozenset({'std_msgs/msg/Bool'})


def stamp_ns(raw: RawMessage) -> int | None:
    """Return the time that a message of the contract begins with, None if it has none.

    CDR: four bytes tell the byte order, then come the seconds and nanoseconds of its header, or
    of a Clock.
    """
    if raw.msgtype in _UNSTAMPED or len(raw.data) < 12:
        return None
    order = '<' if raw.data[1] & 1 else '>'
    seconds, nanoseconds = struct.unpack_from(f'{order}iI', raw.data, 4)
    return int(seconds) * SECOND_NS + int(nanoseconds)


def in_stamp_order(messages: Iterable[RawMessage], window: int = WINDOW) -> Iterator[RawMessage]:
    """Yield messages by their stamps, those of one instant in the order in which they came."""
    heap: list[tuple[int, int, RawMessage]] = []
    newest = 0
    for number, raw in enumerate(messages):
        found = stamp_ns(raw)
        newest = found if found is not None else newest
        heapq.heappush(heap, (newest, number, raw))
        if len(heap) > window:
            yield heapq.heappop(heap)[2]
    while heap:
        yield heapq.heappop(heap)[2]
