"""Finish an MCAP file that was cut: drop the torn end, write index and footer anew, in place.

Format: https://mcap.dev/spec, read and written with the `mcap` package. Everything up to the last
whole chunk is kept as it is; a chunk whose message index was torn gets a new one.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path
from typing import IO

from mcap.data_stream import RecordBuilder
from mcap.exceptions import McapError
from mcap.opcode import Opcode
from mcap.records import Channel
from mcap.records import Chunk
from mcap.records import ChunkIndex
from mcap.records import DataEnd
from mcap.records import Footer
from mcap.records import Header
from mcap.records import McapRecord
from mcap.records import MessageIndex
from mcap.records import Schema
from mcap.records import Statistics
from mcap.records import SummaryOffset
from mcap.stream_reader import StreamReader
from mcap.stream_reader import get_chunk_data_stream

from structrl_ros.errors import BagError

MAGIC = b'\x89MCAP0\r\n'
#: Longest record that is believed; a longer one is torn or damaged.
LONGEST_RECORD = 2**30


@dataclass
class _ChunkPlace:
    """A whole chunk: where it is, and the messages of each channel as (time, offset in it)."""

    offset: int
    end: int
    chunk: Chunk
    messages: dict[int, list[tuple[int, int]]]
    index_end: int = 0
    index_offsets: dict[int, int] = field(default_factory=dict)


@dataclass
class _Contents:
    """What the data section of a file holds."""

    schemas: dict[int, Schema] = field(default_factory=dict)
    channels: dict[int, Channel] = field(default_factory=dict)
    chunks: list[_ChunkPlace] = field(default_factory=list)
    end: int = 0


def whole_records(stream: IO[bytes]) -> Iterator[tuple[int, int, McapRecord]]:
    """Yield (offset, end, record) of each whole record, chunks unopened, until a torn one.

    Raises:
        BagError: If the file is no MCAP file.
    """
    if stream.read(len(MAGIC)) != MAGIC:
        raise BagError('no MCAP file: the first eight bytes are something else')
    reader = StreamReader(
        stream, skip_magic=True, emit_chunks=True, record_size_limit=LONGEST_RECORD
    )
    offset = stream.tell()
    try:
        for record in reader.records:
            end = stream.tell()
            yield offset, end, record
            offset = end
    except (McapError, struct.error, UnicodeDecodeError):
        return


def finish_mcap(path: Path) -> int:
    """Cut the file after its last whole chunk and write index and footer.

    Args:
        path: The `.mcap` file; a file that is whole already gets a new, equal index.

    Returns:
        Bytes of the file that were kept, before the new index.

    Raises:
        BagError: If it is no MCAP file or a chunk is damaged.
        OSError: If the disk refuses.
    """
    with path.open('r+b') as stream:
        contents = _read_contents(stream)
        tail = _tail(contents)
        stream.truncate(contents.end)
        stream.seek(contents.end)
        stream.write(tail)
    return contents.end


def _read_contents(stream: IO[bytes]) -> _Contents:
    contents = _Contents(end=len(MAGIC))
    for offset, end, record in whole_records(stream):
        if isinstance(record, Schema):
            contents.schemas[record.id] = record
        elif isinstance(record, Channel):
            contents.channels[record.id] = record
        elif isinstance(record, Chunk):
            messages = _open_chunk(record, contents)
            contents.chunks.append(_ChunkPlace(offset, end, record, messages, end))
            record.data = b''
        elif isinstance(record, MessageIndex) and contents.chunks:
            contents.chunks[-1].index_offsets[record.channel_id] = offset
            contents.chunks[-1].index_end = end
        elif not isinstance(record, Header):
            break
        contents.end = end
    if contents.chunks and set(contents.chunks[-1].index_offsets) != set(
        contents.chunks[-1].messages
    ):
        contents.end = contents.chunks[-1].end
        contents.chunks[-1].index_offsets.clear()
    return contents


def _open_chunk(chunk: Chunk, contents: _Contents) -> dict[int, list[tuple[int, int]]]:
    messages: dict[int, list[tuple[int, int]]] = {}
    try:
        stream, length = get_chunk_data_stream(chunk, validate_crc=True)
        while stream.count < length:
            at = stream.count
            opcode, size = stream.read1(), stream.read8()
            if opcode == Opcode.MESSAGE:
                channel, _, log_time = stream.read2(), stream.read4(), stream.read8()
                stream.read(size - 14)
                messages.setdefault(channel, []).append((log_time, at))
            elif opcode == Opcode.SCHEMA:
                schema = Schema.read(stream)
                contents.schemas[schema.id] = schema
            elif opcode == Opcode.CHANNEL:
                found = Channel.read(stream)
                contents.channels[found.id] = found
            else:
                stream.read(size)
    except (McapError, ValueError, struct.error) as error:
        raise BagError(f'damaged chunk: {error}') from error
    return messages


def _tail(contents: _Contents) -> bytes:
    """Return everything that follows the last whole chunk."""
    out = RecordBuilder()
    last = contents.chunks[-1] if contents.chunks else None
    if last is not None and not last.index_offsets:
        for channel, entries in last.messages.items():
            last.index_offsets[channel] = contents.end + out.count
            MessageIndex(channel, entries).write(out)
        last.index_end = contents.end + out.count
    DataEnd(0).write(out)
    summary = contents.end + out.count
    groups: list[tuple[Opcode, list[McapRecord]]] = [
        (Opcode.SCHEMA, list(contents.schemas.values())),
        (Opcode.CHANNEL, list(contents.channels.values())),
        (Opcode.CHUNK_INDEX, [_chunk_index(c) for c in contents.chunks]),
        (Opcode.STATISTICS, [_statistics(contents)]),
    ]
    offsets = []
    for opcode, records in groups:
        start = contents.end + out.count
        for record in records:
            record.write(out)
        if records:
            offsets.append(SummaryOffset(opcode, start, contents.end + out.count - start))
    offsets_start = contents.end + out.count
    for offset in offsets:
        offset.write(out)
    Footer(summary, offsets_start, 0).write(out)
    return bytes(out.end()) + MAGIC


def _chunk_index(place: _ChunkPlace) -> ChunkIndex:
    return ChunkIndex(
        chunk_start_offset=place.offset,
        chunk_length=place.end - place.offset,
        compression=place.chunk.compression,
        compressed_size=place.end - place.offset - 49 - len(place.chunk.compression),
        message_end_time=place.chunk.message_end_time,
        message_index_length=place.index_end - place.end,
        message_index_offsets=place.index_offsets,
        message_start_time=place.chunk.message_start_time,
        uncompressed_size=place.chunk.uncompressed_size,
    )


def _statistics(contents: _Contents) -> Statistics:
    counts = dict.fromkeys(contents.channels, 0)
    for place in contents.chunks:
        for channel, entries in place.messages.items():
            counts[channel] = counts.get(channel, 0) + len(entries)
    filled = [c.chunk for c in contents.chunks if c.messages]
    return Statistics(
        attachment_count=0,
        channel_count=len(contents.channels),
        channel_message_counts=counts,
        chunk_count=len(contents.chunks),
        message_count=sum(counts.values()),
        message_end_time=max((c.message_end_time for c in filled), default=0),
        message_start_time=min((c.message_start_time for c in filled), default=0),
        metadata_count=0,
        schema_count=len(contents.schemas),
    )
