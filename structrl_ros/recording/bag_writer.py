"""A rosbag2 (MCAP) bag that is written while a robot moves: raw CDR in, readable at any cut.

Messages gather in a chunk that goes to disk when it holds 1 MiB or is `FLUSH_PERIOD_S` old, by
unbuffered writes: a SIGKILL costs at most the last chunk, and `bag_repair` finishes such a bag.
A write that fails (disk full) raises `BagError` once; the bag is cut back to its last whole chunk,
finished and closed, and later messages are counted as lost.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from typing import Self

from rosbags.interfaces import Connection
from rosbags.interfaces import Qos
from rosbags.interfaces import QosDurability
from rosbags.interfaces import QosHistory
from rosbags.interfaces import QosLiveliness
from rosbags.interfaces import QosReliability
from rosbags.interfaces import QosTime
from rosbags.rosbag2 import StoragePlugin
from rosbags.rosbag2 import Writer
from rosbags.rosbag2.errors import WriterError

from structrl_ros.errors import BagError
from structrl_ros.recording.bag_repair import repair_bag
from structrl_ros.recording.message_types import message_types

#: Longest time in seconds that a message stays in memory, if `flush_if_due` is called.
FLUSH_PERIOD_S = 1.0
#: Bytes kept free for the index of a bag whose disk fills up.
RESERVE_BYTES = 256 * 1024
_RESERVE_NAME = '.reserve'
_INFINITE = QosTime(9223372036, 854775807)


@dataclass(frozen=True, slots=True)
class TopicQos:
    """What of a publisher's QoS a player needs to offer the same."""

    reliable: bool = True
    transient_local: bool = False
    depth: int = 10

    def profile(self) -> Qos:
        """Return the profile in the bag's form."""
        return Qos(
            QosHistory.KEEP_LAST,
            self.depth,
            QosReliability.RELIABLE if self.reliable else QosReliability.BEST_EFFORT,
            QosDurability.TRANSIENT_LOCAL if self.transient_local else QosDurability.VOLATILE,
            _INFINITE,
            _INFINITE,
            QosLiveliness.AUTOMATIC,
            _INFINITE,
            avoid_ros_namespace_conventions=False,
        )


class _DiskFile:
    """An unbuffered file that writes whole blocks or raises OSError."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        self._at = os.lseek(self._descriptor, 0, os.SEEK_END)

    def tell(self) -> int:
        """Return the length of what was written, in bytes."""
        return self._at

    def write(self, data: bytes | memoryview) -> int:
        """Write all of the data."""
        view = memoryview(data).cast('B')
        rest = view
        while rest:
            written = os.write(self._descriptor, rest)
            self._at += written
            rest = rest[written:]
        return len(view)

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        if self._descriptor >= 0:
            descriptor, self._descriptor = self._descriptor, -1
            os.close(descriptor)


class BagWriter:
    """Writes one bag; not thread-safe.

    Attributes:
        counts: Messages written (or still in the open chunk), by topic.
        lost: Messages that came after the recording had failed, by topic.
        error: Why the recording ended early, or ''.
    """

    def __init__(self, path: Path, *, now_ns: Callable[[], int] = time.time_ns) -> None:
        """Create the bag's folder and file.

        Args:
            path: Folder of the bag; it must not exist.
            now_ns: Clock of the bag's stamps (time of receipt), wall time in nanoseconds.

        Raises:
            BagError: If the folder exists or cannot be made.
        """
        self.path = path
        self.counts: Counter[str] = Counter()
        self.lost: Counter[str] = Counter()
        self.error = ''
        self._now_ns = now_ns
        self._last_stamp_ns = 0
        self._flushed_at = time.monotonic()
        self._connections: dict[str, Connection] = {}
        self._open = False
        try:
            self._writer = Writer(path, version=9, storage_plugin=StoragePlugin.MCAP)
            self._writer.open()
            self._storage: Any = self._writer.storage
            self._storage.bio.close()
            self._file = _DiskFile(self._storage.path)
            self._storage.bio = self._file
            (path / _RESERVE_NAME).write_bytes(bytes(RESERVE_BYTES))
        except (OSError, WriterError) as error:
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
        self._connections[topic] = self._writer.add_connection(
            topic,
            msgtype,
            typestore=store,
            offered_qos_profiles=[(qos or TopicQos()).profile()],
        )
        self.counts[topic] = 0

    def write(self, topic: str, data: bytes | memoryview) -> None:
        """Write one serialised message, stamped with the time of receipt.

        Raises:
            BagError: Once, if the disk refuses; afterwards messages are counted in `lost`.
        """
        if not self._open:
            self.lost[topic] += 1
            return
        connection = self._connections.get(topic)
        if connection is None:
            raise BagError(f'topic {topic!r} was not added')
        self._last_stamp_ns = max(self._last_stamp_ns, self._now_ns())
        self.counts[topic] += 1
        try:
            self._writer.write(connection, self._last_stamp_ns, data)
        except OSError as error:
            raise self._fail(error) from error
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
        self._flushed_at = time.monotonic()
        if not self._open or not self._storage.chunk.msgs:
            return
        try:
            self._storage.close_chunk()
        except OSError as error:
            raise self._fail(error) from error

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
            self._writer.close()
            self._open = False
        except OSError as error:
            raise self._fail(error) from error

    def __enter__(self) -> Self:
        """Return the writer."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the bag."""
        self.close()

    def _drop_reserve(self) -> None:
        with suppress(OSError):
            (self.path / _RESERVE_NAME).unlink()

    def _fail(self, error: OSError) -> BagError:
        self._open = False
        self._file.close()
        self._drop_reserve()
        self.error = f'recording stopped: {error.strerror or error}'
        try:
            report = repair_bag(self.path)
            self.counts = Counter(dict.fromkeys(self._connections, 0) | dict(report.counts))
            self.error += f'; {report.messages} messages are safe in {self.path}'
        except (OSError, BagError) as second:
            self.error += f'; {self.path} could not be finished ({second})'
        return BagError(self.error)
