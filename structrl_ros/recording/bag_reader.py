"""Read a bag without ROS: by its own message definitions, and up to the cut if it was cut.

A bag in parts reads as one; what a part repeats of the latched topics at its start is left out.
"""

from __future__ import annotations

import struct
from collections.abc import Collection
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from typing import NamedTuple

from mcap.exceptions import McapError
from mcap.records import Channel
from mcap.records import Chunk
from mcap.records import McapRecord
from mcap.records import Message
from mcap.records import Schema
from mcap.stream_reader import breakup_chunk
from rosbags.interfaces import Connection
from rosbags.interfaces import MessageDefinitionFormat
from rosbags.rosbag2 import Reader
from rosbags.rosbag2.errors import ReaderError
from rosbags.serde import SerdeError
from rosbags.typesys import Stores
from rosbags.typesys import TypesysError
from rosbags.typesys import get_types_from_idl
from rosbags.typesys import get_types_from_msg
from rosbags.typesys import get_typestore
from rosbags.typesys.store import Typestore

from structrl_ros.errors import BagError
from structrl_ros.recording.bag_metadata import MISSING
from structrl_ros.recording.bag_metadata import later_part_starts
from structrl_ros.recording.bag_metadata import notes_on_topics
from structrl_ros.recording.bag_metadata import offered_words
from structrl_ros.recording.bag_repair import bag_files
from structrl_ros.recording.bag_repair import is_cut_short
from structrl_ros.recording.bag_repair import is_torn
from structrl_ros.recording.mcap_finish import whole_records
from structrl_ros.recording.message_types import message_types


class RawMessage(NamedTuple):
    """One message of a bag; `stamp_ns` is the time of receipt on the recorder's wall clock."""

    topic: str
    msgtype: str
    stamp_ns: int
    data: bytes


@dataclass(frozen=True, slots=True)
class TopicSummary:
    """Type and number of messages of a topic."""

    msgtype: str
    count: int


class BagReader:
    """Reads one bag; messages come in the order of receipt.

    Attributes:
        topics: Type and count of each topic.
        missing: Messages that were sent and never came to the recorder, by topic.
        hashes: Hash of each type as metadata.yaml tells it (RIHS01), '' where it does not.
        offers: Words for each QoS that the publishers of a topic offered.
        note: Why the bag is read file by file, though it was not cut; '' if it is not.
        is_cut: True if the bag was never closed (SIGKILL, power loss). What lies before the cut
            is read; `bag_repair.repair_bag` finishes the bag for other readers.
    """

    def __init__(self, path: Path) -> None:
        """Open the bag's folder.

        Raises:
            BagError: If there is no bag, or it cannot be read at all.
        """
        if not path.is_dir():
            why = 'a file; a bag is a folder' if path.exists() else 'no such folder'
            raise BagError(f'no bag at {path}: {why}')
        self.path = path
        self.is_cut = False
        self.topics: dict[str, TopicSummary] = {}
        self.missing: dict[str, int] = {}
        self.hashes: dict[str, str] = {}
        self.offers: dict[str, tuple[str, ...]] = {}
        self.note = ''
        self._is_by_file = False
        self._definitions: dict[str, tuple[str, str]] = {}
        self._part_starts: frozenset[int] = frozenset()
        self._store: Typestore | None = None
        try:
            self._open_whole()
        except (ReaderError, FileNotFoundError) as error:
            self._is_by_file = True
            self.is_cut = is_cut_short(path)
            self.note = '' if self.is_cut else f'metadata.yaml is not understood: {error}'
            self._open_by_file()

    def raw_messages(self, topics: Collection[str] | None = None) -> Iterator[RawMessage]:
        """Yield the messages of the topics (None: of all), serialised.

        Raises:
            BagError: If the bag is damaged inside.
        """
        if self._is_by_file:
            yield from self._scan(topics)
            return
        last: dict[str, bytes] = {}
        try:
            with Reader(self.path) as bag:
                for raw in _read(bag, topics):
                    is_repeat = raw.stamp_ns in self._part_starts and raw.data == last.get(
                        raw.topic
                    )
                    if self._part_starts:
                        last[raw.topic] = raw.data
                    if not is_repeat:
                        yield raw
        except (ReaderError, struct.error, OSError) as error:
            raise BagError(f'{self.path} is damaged: {error}') from error

    def messages(
        self, topics: Collection[str] | None = None
    ) -> Iterator[tuple[str, str, int, Any]]:
        """Yield (topic, type, stamp of receipt in nanoseconds, object with the message's fields).

        Raises:
            BagError: If the bag is damaged, or a message does not fit its definition.
        """
        for raw in self.raw_messages(topics):
            yield raw.topic, raw.msgtype, raw.stamp_ns, self.decode(raw)

    def knows(self, msgtype: str) -> bool:
        """Tell whether messages of a type can be decoded."""
        return msgtype in self._types().fielddefs

    def decode(self, raw: RawMessage) -> Any:
        """Return an object with the fields of the message; arrays are numpy arrays.

        Raises:
            BagError: If the type is unknown or the bytes do not fit it.
        """
        store = self._types()
        if raw.msgtype not in store.fielddefs:
            raise BagError(f'{self.path} has no definition of {raw.msgtype!r} ({raw.topic})')
        try:
            return store.deserialize_cdr(raw.data, raw.msgtype)
        except (SerdeError, struct.error, ValueError, IndexError) as error:
            raise BagError(
                f'message of {raw.topic} in {self.path} is no {raw.msgtype}: {error}'
            ) from error

    def _open_whole(self) -> None:
        if is_cut_short(self.path):
            raise ReaderError('the last part is not finished')
        with Reader(self.path) as bag:
            for connection in bag.connections:
                self._add(connection)
        self._part_starts = later_part_starts(self.path)
        told = notes_on_topics(self.path, MISSING)
        self.missing = {topic: int(n) for topic, n in told.items() if n.isdecimal()}

    def _add(self, connection: Connection) -> None:
        known = self.topics.get(connection.topic)
        count = connection.msgcount + (known.count if known else 0)
        self.topics[connection.topic] = TopicSummary(connection.msgtype, count)
        self.hashes[connection.msgtype] = connection.digest
        self.offers[connection.topic] = offered_words(connection)
        self._define(connection)

    def _define(self, connection: Connection) -> None:
        if connection.msgdef.format is not MessageDefinitionFormat.NONE:
            kind = 'idl' if connection.msgdef.format is MessageDefinitionFormat.IDL else 'msg'
            self._definitions[connection.msgtype] = (kind, connection.msgdef.data)

    def _open_by_file(self) -> None:
        for raw in self._scan(None):
            known = self.topics.get(raw.topic)
            count = 1 + (known.count if known else 0)
            self.topics[raw.topic] = TopicSummary(raw.msgtype, count)

    def _scan(self, topics: Collection[str] | None) -> Iterator[RawMessage]:
        """Yield what lies before the cut: whole parts, then the torn one."""
        for path in bag_files(self.path):
            if is_torn(path):
                yield from self._scan_torn(path, topics)
                continue
            try:
                with Reader(path) as bag:
                    for connection in bag.connections:
                        self._define(connection)
                        self.topics.setdefault(
                            connection.topic, TopicSummary(connection.msgtype, 0)
                        )
                    yield from _read(bag, topics)
            except (ReaderError, struct.error) as error:
                raise BagError(f'{path} cannot be read: {error}') from error

    def _scan_torn(self, path: Path, topics: Collection[str] | None) -> Iterator[RawMessage]:
        schemas: dict[int, Schema] = {}
        channels: dict[int, Channel] = {}
        for record in _whole_records(path):
            if isinstance(record, Schema):
                schemas[record.id] = record
                kind = 'idl' if 'idl' in record.encoding else 'msg'
                self._definitions[record.name] = (kind, record.data.decode('utf-8'))
            elif isinstance(record, Channel):
                channels[record.id] = record
                if record.schema_id in schemas:
                    name = schemas[record.schema_id].name
                    self.topics.setdefault(record.topic, TopicSummary(name, 0))
            elif isinstance(record, Message) and record.channel_id in channels:
                channel = channels[record.channel_id]
                if topics is None or channel.topic in topics:
                    name = schemas[channel.schema_id].name
                    yield RawMessage(channel.topic, name, record.log_time, record.data)

    def _types(self) -> Typestore:
        if self._store is None:
            store = get_typestore(Stores.EMPTY)
            try:
                for msgtype, (kind, text) in self._definitions.items():
                    parse = get_types_from_idl if kind == 'idl' else None
                    found = parse(text) if parse else get_types_from_msg(text, msgtype)
                    store.register(found)
            except TypesysError as error:
                raise BagError(f'{self.path}: bad message definition: {error}') from error
            self._store = store if self._definitions else message_types()
        return self._store


def _read(bag: Reader, topics: Collection[str] | None) -> Iterator[RawMessage]:
    chosen = [c for c in bag.connections if topics is None or c.topic in topics]
    if not chosen:  # no connection would mean all of them
        return
    for connection, stamp_ns, data in bag.messages(chosen):
        yield RawMessage(connection.topic, connection.msgtype, stamp_ns, data)


def _whole_records(path: Path) -> Iterator[McapRecord]:
    """Yield the records of a cut file, chunks opened, until the torn or first damaged one."""
    with path.open('rb') as stream:
        for _, _, record in whole_records(stream):
            if not isinstance(record, Chunk):
                yield record
                continue
            try:
                inner = breakup_chunk(record, validate_crc=True)
            except (McapError, ValueError, struct.error):
                return
            yield from inner
