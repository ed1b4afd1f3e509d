"""A rosbag2 bag that is written while a robot moves: raw CDR in, readable at any cut.

Messages gather in a chunk that goes to disk when it holds 1 MiB or is `FLUSH_PERIOD_S` old, by
unbuffered writes: a SIGKILL costs at most the last chunk, and `bag_repair` finishes such a bag.
A write that fails (disk full) raises `BagError` once; the bag is cut back to its last whole chunk,
finished and closed, and later messages are counted as lost.

A bag may be split into parts by size or time. A part begins with the last message of every
latched topic, so that each can be played by itself; `BagReader` leaves these repeats out.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Self

from rosbags.interfaces import Connection
from rosbags.interfaces import ConnectionExtRosbag2
from rosbags.interfaces import MessageDefinition
from rosbags.interfaces import MessageDefinitionFormat

from structrl_ros.errors import BagError
from structrl_ros.recording.bag_format import BagFormat
from structrl_ros.recording.bag_format import TopicQos
from structrl_ros.recording.bag_metadata import PartSummary
from structrl_ros.recording.bag_metadata import part_metadata
from structrl_ros.recording.bag_metadata import qos_text
from structrl_ros.recording.bag_metadata import write_metadata
from structrl_ros.recording.bag_parts import Part
from structrl_ros.recording.bag_parts import open_part
from structrl_ros.recording.bag_repair import repair_bag
from structrl_ros.recording.message_types import message_types

#: Longest time in seconds that a message stays in memory, if `flush_if_due` is called.
FLUSH_PERIOD_S = 1.0
#: Bytes kept free for the index of a bag whose disk fills up.
RESERVE_BYTES = 256 * 1024
_RESERVE_NAME = '.reserve'


class BagWriter:
    """Writes one bag; not thread-safe.

    Attributes:
        counts: Messages written (or still in the open chunk), by topic, without repeats.
        lost: Messages that came after the recording had failed, by topic.
        notes: What the recorder learned on the way, for `custom_data` of metadata.yaml.
        error: Why the recording ended early, or ''.
        slowest_s: Longest time in seconds that the disk took for a write.
    """

    def __init__(
        self,
        path: Path,
        *,
        form: BagFormat | None = None,
        now_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        """Create the bag's folder and file.

        Args:
            path: Folder of the bag; it must not exist.
            form: Storage, compression and splitting; one MCAP file by default.
            now_ns: Clock of the bag's stamps (time of receipt), wall time in nanoseconds.

        Raises:
            BagError: If the folder exists or cannot be made.
            ParameterError: If the form is not allowed.
        """
        self.path = path
        self.counts: Counter[str] = Counter()
        self.lost: Counter[str] = Counter()
        self.notes: dict[str, str] = {}
        self.error = ''
        self.slowest_s = 0.0
        self._form = form or BagFormat()
        self._now_ns = now_ns
        self._last_stamp_ns = 0
        self._flushed_at = time.monotonic()
        self._connections: dict[str, Connection] = {}
        self._latched: dict[str, bytes | None] = {}
        self._parts: list[PartSummary] = []
        if path.exists():
            raise BagError(f'cannot record to {path}: it exists already, nothing is overwritten')
        try:
            path.mkdir(parents=True)
            self._part = self._begin_part()
            (path / _RESERVE_NAME).write_bytes(bytes(RESERVE_BYTES))
        except OSError as error:
            raise BagError(f'cannot record to {path}: {error}') from error
        self._open = True

    def add_topic(self, topic: str, msgtype: str, qos: TopicQos | None = None) -> None:
        """Announce a topic with its type (`package/msg/Name`) and the QoS of its publishers.

        Raises:
            BagError: If the type is unknown or the topic was added before.
        """
        if topic in self._connections:
            raise BagError(f'topic {topic!r} was added twice')
        store = message_types()
        if msgtype not in store.fielddefs:
            raise BagError(f'unknown message type {msgtype!r} of topic {topic!r}')
        qos = qos or TopicQos()
        text, _ = store.generate_msgdef(msgtype, ros_version=2)
        connection = Connection(
            id=len(self._connections) + 1,
            topic=topic,
            msgtype=msgtype,
            msgdef=MessageDefinition(MessageDefinitionFormat.MSG, text),
            digest=store.hash_rihs01(msgtype),
            msgcount=0,
            ext=ConnectionExtRosbag2('cdr', [qos.profile()]),
            owner=self,
        )
        known = {c.msgtype for c in self._connections.values()}
        self._part.add(connection, qos_text(connection), msgtype not in known)
        self._connections[topic] = connection
        self.counts[topic] = 0
        if qos.transient_local:
            self._latched[topic] = None

    def write(self, topic: str, data: bytes | memoryview) -> None:
        """Write one serialised message, stamped with the time of receipt.

        Raises:
            BagError: Once, if the disk refuses; afterwards messages are counted in `lost`.
        """
        if not self._open:
            self.lost[topic] += 1
            return
        if topic not in self._connections:
            raise BagError(f'topic {topic!r} was not added')
        self._last_stamp_ns = max(self._last_stamp_ns, self._now_ns())
        self.counts[topic] += 1
        began = time.monotonic()
        try:
            if self._is_part_full():
                self._split()
            self._put(topic, data)
        except OSError as error:
            raise self._fail(error) from error
        if topic in self._latched:
            self._latched[topic] = bytes(data)
        self.slowest_s = max(self.slowest_s, time.monotonic() - began)
        self.flush_if_due()

    def flush_if_due(self) -> None:
        """Put the open chunk on disk once it is `FLUSH_PERIOD_S` old; call it once a second.

        Raises:
            BagError: Once, if the disk refuses.
        """
        if self._open and time.monotonic() - self._flushed_at >= FLUSH_PERIOD_S:
            self.flush()

    def flush(self) -> None:
        """Put everything written so far on disk.

        Raises:
            BagError: Once, if the disk refuses.
        """
        self._flushed_at = began = time.monotonic()
        if not self._open:
            return
        try:
            self._part.flush()
        except OSError as error:
            raise self._fail(error) from error
        self.slowest_s = max(self.slowest_s, time.monotonic() - began)

    def close(self) -> None:
        """Write index and metadata.yaml; a second call does nothing.

        Raises:
            BagError: If the disk refuses now; the bag is readable up to its last whole chunk.
        """
        if not self._open:
            return
        try:
            self.flush()
            self._drop_reserve()
            self._end_part()
            self._open = False
        except OSError as error:
            raise self._fail(error) from error

    def __enter__(self) -> Self:
        """Return the writer."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the bag."""
        self.close()

    def _put(self, topic: str, data: bytes | memoryview) -> None:
        self._part.write(self._connections[topic], self._last_stamp_ns, data)
        self._parts[-1].see(topic, self._last_stamp_ns)

    def _is_part_full(self) -> bool:
        part, form = self._parts[-1], self._form
        if not part.messages:
            return False
        age_s = (self._last_stamp_ns - part.first_ns) / 1e9
        return bool(
            (form.split_bytes and self._part.size() >= form.split_bytes)
            or (form.split_seconds and age_s >= form.split_seconds)
        )

    def _split(self) -> None:
        """Finish the part and begin another with what is latched."""
        self._end_part()
        self._part = self._begin_part()
        types: set[str] = set()
        for connection in self._connections.values():
            self._part.add(connection, qos_text(connection), connection.msgtype not in types)
            types.add(connection.msgtype)
        for topic, data in self._latched.items():
            if data is not None:
                self._put(topic, data)

    def _begin_part(self) -> Part:
        form = self._form
        part = open_part(self.path, len(self._parts), form.storage, form.compression)
        self._parts.append(PartSummary(part.path.name))
        return part

    def _end_part(self) -> None:
        storage = self._form.storage
        self._part.close(part_metadata(self._parts[-1], self._connections, storage))
        write_metadata(self.path, self._parts, self._connections, storage, self.notes)

    def _drop_reserve(self) -> None:
        with suppress(OSError):
            (self.path / _RESERVE_NAME).unlink()

    def _fail(self, error: OSError) -> BagError:
        self._open = False
        self._part.abandon()
        self._drop_reserve()
        self.error = f'recording stopped: {error.strerror or error}'
        try:
            report = repair_bag(self.path)
            self.counts = Counter(dict.fromkeys(self._connections, 0) | dict(report.counts))
            self.error += f'; {report.messages} messages are safe in {self.path}'
        except (OSError, BagError) as second:
            self.error += f'; {self.path} could not be finished ({second})'
        return BagError(self.error)
