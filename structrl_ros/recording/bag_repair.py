"""Finish a bag that was cut by SIGKILL, a power loss or a full disk."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rosbags.interfaces import Connection
from rosbags.rosbag2 import Reader
from rosbags.rosbag2.errors import ReaderError

from structrl_ros.errors import BagError
from structrl_ros.recording.bag_metadata import PartSummary
from structrl_ros.recording.bag_metadata import all_notes
from structrl_ros.recording.bag_metadata import listed_files
from structrl_ros.recording.bag_metadata import write_metadata
from structrl_ros.recording.bag_parts import SUFFIXES
from structrl_ros.recording.bag_parts import Storage
from structrl_ros.recording.mcap_finish import MAGIC
from structrl_ros.recording.mcap_finish import finish_mcap
from structrl_ros.recording.message_types import message_types


@dataclass(frozen=True, slots=True)
class RepairReport:
    """What a repaired bag holds, in messages a topic; `dropped_bytes` of torn ends are gone."""

    counts: Mapping[str, int]
    dropped_bytes: int

    @property
    def messages(self) -> int:
        """Number of messages in the bag."""
        return sum(self.counts.values())


def bag_files(directory: Path) -> list[Path]:
    """Return the files of a bag in the order of their numbers.

    Raises:
        BagError: If there is none, or files of both storages.
    """
    files = {kind: list(directory.glob(f'*{suffix}')) for kind, suffix in SUFFIXES.items()}
    found = [f for f in files.values() if f]
    if len(found) != 1:
        counts = ' and '.join(f'{len(files[k])} {suffix}' for k, suffix in SUFFIXES.items())
        inside = directory / 'bag'
        where = f'its bag is {inside}' if inside.is_dir() else 'a bag is such as runs/TIME/bag'
        allowed = 'allowed: files of one kind' if found else where
        raise BagError(f'{directory} holds {counts} files; {allowed}')
    return sorted(found[0], key=lambda f: (_number(f), f.name))


def is_torn(path: Path) -> bool:
    """Return whether an MCAP file ends without its footer; SQLite heals itself when opened."""
    if path.suffix != SUFFIXES['mcap']:
        return False
    with path.open('rb') as stream:
        stream.seek(max(0, path.stat().st_size - len(MAGIC)))
        return stream.read() != MAGIC or path.stat().st_size < 2 * len(MAGIC)


def is_cut_short(directory: Path) -> bool:
    """Return whether a bag was never closed: metadata.yaml or the end of a file is missing.

    Raises:
        BagError: If it is no bag at all.
    """
    listed = listed_files(directory)
    if listed and all((directory / name).suffix == '.zstd' for name in listed):
        return False  # rosbag2 compresses whole files when it closes them
    files = bag_files(directory)
    return not listed or any(f.name not in listed for f in files) or is_torn(files[-1])


def repair_bag(directory: Path) -> RepairReport:
    """Finish a cut bag in place: drop torn ends, write indices and metadata.yaml.

    Raises:
        BagError: If the folder holds no bag, or a file is damaged.
        OSError: If the disk refuses.
    """
    files = bag_files(directory)
    storage: Storage = 'mcap' if files[0].suffix == SUFFIXES['mcap'] else 'sqlite3'
    dropped = 0
    parts: list[PartSummary] = []
    topics: dict[str, Connection] = {}
    for path in files:
        if is_torn(path):
            size = path.stat().st_size
            dropped += max(0, size - finish_mcap(path))
        part, connections = _summary(path)
        parts.append(part)
        topics |= {c.topic: c for c in connections}
    write_metadata(directory, parts, topics, storage, all_notes(directory))
    counts = {topic: sum(p.counts.get(topic, 0) for p in parts) for topic in topics}
    return RepairReport(counts, dropped)


def _summary(path: Path) -> tuple[PartSummary, list[Connection]]:
    try:
        with Reader(path) as bag:
            connections = list(bag.connections)
            counts = {c.topic: c.msgcount for c in connections}
            first = bag.start_time if bag.message_count else 0
            last = max(first, bag.end_time - 1) if bag.message_count else 0
    except ReaderError as error:
        raise BagError(f'{path} cannot be read after its repair: {error}') from error
    return PartSummary(path.name, first, last, counts), [_hashed(c) for c in connections]


def _hashed(connection: Connection) -> Connection:
    """Return the connection with the hash of its type, where the type is known here."""
    store = message_types()
    known = not connection.digest and connection.msgtype in store.fielddefs
    return (
        connection._replace(digest=store.hash_rihs01(connection.msgtype)) if known else connection
    )


def _number(path: Path) -> int:
    match = re.search(r'_(\d+)$', path.stem)
    return int(match[1]) if match else 0
