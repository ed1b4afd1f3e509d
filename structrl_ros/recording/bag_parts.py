"""The files of a bag: each is whole by itself and goes to disk in pieces that survive a kill.

An MCAP part gathers messages in a chunk that is written at once, unbuffered, and may be
compressed; an SQLite part commits. What was flushed is read after a SIGKILL; `bag_repair` finishes
the file.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from contextlib import suppress
from pathlib import Path
from typing import Any
from typing import Literal
from typing import Protocol

from rosbags.interfaces import Connection
from rosbags.rosbag2.enums import CompressionMode
from rosbags.rosbag2.storage_mcap import McapWriter
from rosbags.rosbag2.storage_sqlite3 import Sqlite3Writer

Storage = Literal['mcap', 'sqlite3']
Compression = Literal['none', 'zstd']

#: File name endings by storage.
SUFFIXES = {'mcap': '.mcap', 'sqlite3': '.db3'}
#: Bag format of metadata.yaml, that of Jazzy and Kilted.
VERSION = 9


class Part(Protocol):
    """One file of a bag; everything raises OSError where the disk refuses."""

    path: Path

    def size(self) -> int:
        """Return the bytes on disk and in memory so far."""

    def add(self, connection: Connection, qos: str, is_new_type: bool) -> None:
        """Announce a topic before its first message."""

    def write(self, connection: Connection, stamp_ns: int, data: bytes | memoryview) -> None:
        """Take a message."""

    def flush(self) -> None:
        """Put everything on disk."""

    def close(self, metadata: str) -> None:
        """Write the index and close."""

    def abandon(self) -> None:
        """Close without an index, for `bag_repair`; never raises."""


def open_part(
    directory: Path, number: int, storage: Storage, compression: Compression
) -> McapPart | SqlitePart:
    """Make the file number `number` of a bag.

    Raises:
        OSError: If the disk refuses.
    """
    if storage == 'mcap':
        return McapPart(directory, number, compression)
    return SqlitePart(directory, number)


def part_name(directory: Path, number: int, storage: Storage) -> str:
    """Return the file name that rosbag2 gives to part `number` (from 0)."""
    return f'{directory.name}_{number}{SUFFIXES[storage]}'


class McapPart:
    """An MCAP file of chunks of about 1 MiB."""

    def __init__(self, directory: Path, number: int, compression: Compression) -> None:
        """Make the file."""
        mode = CompressionMode.STORAGE if compression == 'zstd' else CompressionMode.NONE
        self._storage: Any = McapWriter(directory, mode)
        self._storage.bio.close()
        self.path = directory / part_name(directory, number, 'mcap')
        self._storage.path.rename(self.path)
        self._file = _DiskFile(self.path)
        self._storage.bio = self._file

    def size(self) -> int:
        """Return the bytes on disk and in memory so far."""
        return self._file.tell() + int(self._storage.chunk.bio.tell())

    def add(self, connection: Connection, qos: str, is_new_type: bool) -> None:
        """Announce a topic before its first message."""
        if is_new_type:
            self._storage.add_msgtype(connection)
        self._storage.add_connection(connection, qos)

    def write(self, connection: Connection, stamp_ns: int, data: bytes | memoryview) -> None:
        """Take a message."""
        self._storage.write(connection, stamp_ns, data)

    def flush(self) -> None:
        """Put everything on disk."""
        if self._storage.chunk.msgs:
            self._storage.close_chunk()

    def close(self, metadata: str) -> None:
        """Write the index and close."""
        self._storage.close(VERSION, metadata)

    def abandon(self) -> None:
        """Close without an index."""
        self._file.close()


class SqlitePart:
    """An SQLite file, for tools that read no MCAP."""

    def __init__(self, directory: Path, number: int) -> None:
        """Make the file."""
        with _as_os_error():
            self._storage: Any = Sqlite3Writer(directory, CompressionMode.NONE)
            self._storage.conn.close()
            self.path = directory / part_name(directory, number, 'sqlite3')
            self._storage.path.rename(self.path)
            self._storage.path = self.path
            self._storage.conn = sqlite3.connect(self.path)
            self._storage.cursor = self._storage.conn.cursor()
        self._bytes = 0

    def size(self) -> int:
        """Return the bytes of the messages so far."""
        return self._bytes

    def add(self, connection: Connection, qos: str, is_new_type: bool) -> None:
        """Announce a topic before its first message."""
        with _as_os_error():
            if is_new_type:
                self._storage.add_msgtype(connection)
            self._storage.add_connection(connection, qos)

    def write(self, connection: Connection, stamp_ns: int, data: bytes | memoryview) -> None:
        """Take a message."""
        with _as_os_error():
            self._storage.write(connection, stamp_ns, data)
        self._bytes += len(data)

    def flush(self) -> None:
        """Put everything on disk."""
        with _as_os_error():
            self._storage.conn.commit()

    def close(self, metadata: str) -> None:
        """Close the file."""
        with _as_os_error():
            self._storage.close(VERSION, metadata)

    def abandon(self) -> None:
        """Close without what was not committed."""
        with suppress(sqlite3.Error):
            self._storage.abort()


@contextmanager
def _as_os_error() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise OSError(f'sqlite3: {error}') from error


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
