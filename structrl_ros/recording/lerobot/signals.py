"""What a bag says of the arm and its cameras, by time; pictures are decoded one by one."""

from __future__ import annotations

import struct
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structrl_ros.errors import BagError
from structrl_ros.recording.bag_reader import BagReader
from structrl_ros.recording.bag_reader import RawMessage
from structrl_ros.recording.decoding import SECOND_NS
from structrl_ros.recording.decoding import decode_image
from structrl_ros.types import ROLES
from structrl_ros.types import UInt8

JOINT_STATES = 'observation/joint_states'
EE_POSE = 'observation/ee_pose'
POSE_NAMES = ('ee.x', 'ee.y', 'ee.z', 'ee.qx', 'ee.qy', 'ee.qz', 'ee.qw')

Stamps = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Track:
    """A signal: stamps ascending (N,), one row of `values` (N, n) each, and the rows' names."""

    topic: str
    names: tuple[str, ...]
    stamps: Stamps
    values: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Camera:
    """A camera role: its topic, stamps ascending (N,), height and width of its first picture."""

    topic: str
    stamps: Stamps
    size: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Signals:
    """The arm's own state, and when each camera role saw something.

    `joints` end with the two fingers; `pose` is position and quaternion xyzw.
    """

    joints: Track
    pose: Track
    cameras: Mapping[str, Camera]


def read_signals(reader: BagReader) -> Signals:
    """Read them from a bag, in one pass.

    Raises:
        BagError: If the state is missing, changes its joints, or belongs to two arms.
    """
    joints, pose = (_state_topic(reader, name) for name in (JOINT_STATES, EE_POSE))
    found = {role: find_topic(reader, f'observation/{role}/image') for role in ROLES}
    roles = {topic: role for role, topic in found.items() if topic is not None}
    tracks = {joints: _Rows(joints, _joints), pose: _Rows(pose, _pose)}
    stamps: dict[str, list[int]] = {}
    sizes: dict[str, tuple[int, int]] = {}
    for stamp, raw in _forward(reader, [*tracks, *roles]):
        if raw.topic in tracks:
            tracks[raw.topic].add(stamp, reader.decode(raw), reader)
            continue
        if raw.topic not in sizes:
            first = reader.decode(raw)
            sizes[raw.topic] = (int(first.height), int(first.width))
        stamps.setdefault(raw.topic, []).append(stamp)
    cameras = {
        roles[topic]: Camera(topic, np.array(stamps[topic], dtype=np.int64), size)
        for topic, size in sizes.items()
    }
    return Signals(tracks[joints].track(), tracks[pose].track(), cameras)


def find_topic(reader: BagReader, name: str) -> str | None:
    """Return the topic of a bag that stands for one of the contract, None if there is none.

    Raises:
        BagError: If there are two: a bag of two arms.
    """
    found = [t for t in reader.topics if t == name or t.endswith(f'/{name}')]
    if len(found) > 1:
        raise BagError(f'{reader.path} holds {" and ".join(found)}; allowed: one arm a bag')
    return found[0] if found else None


class PictureStream:
    """The pictures of one camera, taken in ascending order of time."""

    def __init__(self, reader: BagReader, topic: str) -> None:
        """Stand before the first."""
        self._reader = reader
        self._messages = _forward(reader, [topic])
        self._stamp = -1
        self._pixels: UInt8 | None = None

    def take(self, stamps: Stamps) -> Iterator[UInt8]:
        """Yield the picture (H, W, 3) of each stamp; a stamp may come again.

        Raises:
            BagError: If a picture cannot be decoded.
        """
        for stamp in stamps.tolist():
            raw = None
            while self._stamp < stamp:
                self._stamp, raw = next(self._messages)
            if raw is not None or self._pixels is None:
                assert raw is not None
                self._pixels = decode_image(self._reader.decode(raw))
            yield self._pixels


class _Rows:
    """Gathers a signal."""

    def __init__(
        self, topic: str, read: Callable[[Any], tuple[tuple[str, ...], list[float]]]
    ) -> None:
        self._topic, self._read = topic, read
        self._names: tuple[str, ...] = ()
        self._stamps: list[int] = []
        self._rows: list[list[float]] = []

    def add(self, stamp: int, message: Any, reader: BagReader) -> None:
        """Take in a message.

        Raises:
            BagError: If it has other entries than those before.
        """
        names, values = self._read(message)
        self._names = self._names or names
        if names != self._names or len(values) != len(names):
            raise BagError(
                f'{self._topic} in {reader.path} has {len(values)} values of {", ".join(names)}; '
                f'before: {", ".join(self._names)}'
            )
        self._stamps.append(stamp)
        self._rows.append(values)

    def track(self) -> Track:
        """Return what was gathered."""
        stamps = np.array(self._stamps, dtype=np.int64)
        return Track(self._topic, self._names, stamps, np.array(self._rows))


def _state_topic(reader: BagReader, name: str) -> str:
    topic = find_topic(reader, name)
    if topic is None or not reader.topics[topic].count:
        raise BagError(f'{reader.path} holds no {name}; it was recorded without the arm')
    return topic


def _forward(reader: BagReader, topics: Sequence[str]) -> Iterator[tuple[int, RawMessage]]:
    """Yield the messages whose stamp is newer than all before of their topic, undecoded."""
    newest = dict.fromkeys(topics, -1)
    for raw in reader.raw_messages(topics):
        order = '<' if raw.data[1] & 1 else '>'
        seconds, nanoseconds = struct.unpack_from(f'{order}iI', raw.data, 4)
        stamp = seconds * SECOND_NS + nanoseconds
        if stamp > newest[raw.topic]:
            newest[raw.topic] = stamp
            yield stamp, raw


def _joints(message: Any) -> tuple[tuple[str, ...], list[float]]:
    return tuple(message.name), [float(v) for v in message.position]


def _pose(message: Any) -> tuple[tuple[str, ...], list[float]]:
    p, q = message.pose.position, message.pose.orientation
    return POSE_NAMES, [p.x, p.y, p.z, q.x, q.y, q.z, q.w]
