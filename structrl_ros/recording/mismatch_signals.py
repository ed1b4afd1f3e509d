"""What two bags are compared by: when messages came, pictures, commands and measured poses.

A bag is read once; of each camera some pictures are decoded, evenly spread over the recording.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path
from typing import Any

import numpy as np

from structrl_ros.errors import BagError
from structrl_ros.recording.bag_reader import BagReader
from structrl_ros.recording.bag_reader import RawMessage
from structrl_ros.recording.decoding import SECOND_NS
from structrl_ros.recording.decoding import decode
from structrl_ros.recording.decoding import decode_image
from structrl_ros.recording.decoding import time_ns
from structrl_ros.types import ROLES
from structrl_ros.types import ActionChunk
from structrl_ros.types import ChunkDone
from structrl_ros.types import Episode
from structrl_ros.types import Float64
from structrl_ros.types import UInt8

#: Pictures of each camera that are decoded.
PICTURES = 32

CHUNK, DONE, EPISODE = 'action_chunk', 'chunk_done', 'episode'
POSE, JOINTS = 'observation/ee_pose', 'observation/joint_states'
CLOCK = 'clock'
IMAGES = {role: f'observation/{role}/image' for role in ROLES}
_KNOWN = (CHUNK, DONE, EPISODE, POSE, JOINTS, *IMAGES.values())


@dataclass(slots=True)
class Stream:
    """Times of one topic, nanoseconds, in the order of receipt.

    `stamps` are those of the messages, `clock` the body's clock at their receipt (the receipt
    itself where no clock was recorded), `receipts` the recorder's wall clock.
    """

    stamps: list[int] = field(default_factory=list)
    clock: list[int] = field(default_factory=list)
    receipts: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Signals:
    """What a bag holds of the contract.

    Attributes:
        bag: Where it lies.
        streams: Times by topic without namespace; topics without messages are left out.
        chunks: What was sent, in the order of `streams[CHUNK]`.
        done: What was executed, in the order of `streams[DONE]`.
        episodes: Starts and ends.
        poses: Position and quaternion xyzw of `streams[POSE]`, rows of seven.
        pictures: Some pictures of each role that has any, RGB.
    """

    bag: Path
    streams: dict[str, Stream] = field(default_factory=dict)
    chunks: list[ActionChunk] = field(default_factory=list)
    done: list[ChunkDone] = field(default_factory=list)
    episodes: list[Episode] = field(default_factory=list)
    poses: list[tuple[float, ...]] = field(default_factory=list)
    pictures: dict[str, list[UInt8]] = field(default_factory=dict)

    @property
    def period_s(self) -> float | None:
        """Control period of the body in seconds, None without a chunk."""
        periods = [chunk.step_period for chunk in self.chunks if chunk.step_period > 0.0]
        return float(np.median(periods)) if periods else None

    def actions(self) -> Float64:
        """Return the executed actions (what was sent where nothing says), shape (N, D)."""
        rows = [d.executed for d in self.done if d.executed_steps]
        rows = rows or [c.actions for c in self.chunks if len(c.actions)]
        widths = {r.shape[1] for r in rows}
        if len(widths) > 1:
            raise BagError(f'{self.bag}: actions of {sorted(widths)} dimensions in one bag')
        return np.concatenate(rows).astype(np.float64) if rows else np.zeros((0, 0))


def read_signals(bag: Path, namespace: str = '') -> Signals:
    """Read a bag.

    Args:
        bag: Its folder.
        namespace: Of the arm, where the bag holds several.

    Raises:
        BagError: If there is no bag, it breaks the contract, or several arms are in it.
    """
    reader = BagReader(bag)
    names = _contract_topics(reader, namespace)
    strides = {
        name: max(1, math.ceil(reader.topics[topic].count / PICTURES))
        for topic, name in names.items()
    }
    clocks = [t for t, s in reader.topics.items() if s.msgtype == 'rosgraph_msgs/msg/Clock']
    has_clock = any(reader.topics[topic].count for topic in clocks)
    signals, now_ns = Signals(bag), 0
    for raw in reader.raw_messages([*names, *clocks]):
        if raw.topic in clocks:
            now_ns = time_ns(reader.decode(raw).clock)
            continue
        name = names[raw.topic]
        stream = signals.streams.setdefault(name, Stream())
        stamp_ns = _stamp_ns(raw)
        stream.stamps.append(stamp_ns)
        stream.receipts.append(raw.stamp_ns)
        # A message may overtake the /clock of its own stamp.
        stream.clock.append(max(now_ns, stamp_ns) if has_clock else raw.stamp_ns)
        _keep(signals, reader, raw, name, (len(stream.stamps) - 1) % strides[name] == 0)
    return signals


def _contract_topics(reader: BagReader, namespace: str) -> dict[str, str]:
    """Return topic to name of the contract for one namespace."""
    wanted = namespace.strip('/')
    found: dict[str, str] = {}
    for topic, summary in sorted(reader.topics.items()):
        for name in _KNOWN:
            head, separator, _ = topic.rpartition('/' + name)
            if not separator or not topic.endswith('/' + name) or not summary.count:
                continue
            if wanted and head.strip('/') != wanted:
                continue
            if name in found.values():
                raise BagError(
                    f'{reader.path} holds {name} of several arms, as {topic}; '
                    'allowed: name the namespace of one'
                )
            found[topic] = name
    if not found:
        raise BagError(f'{reader.path} holds no topic of the contract to compare')
    return found


def _stamp_ns(raw: RawMessage) -> int:
    """Return the stamp of a message that begins with a header, without decoding it."""
    order = '<' if raw.data[1] & 1 else '>'
    seconds, nanoseconds = struct.unpack_from(f'{order}iI', raw.data, 4)
    return int(seconds * SECOND_NS + nanoseconds)


def _keep(signals: Signals, reader: BagReader, raw: RawMessage, name: str, chosen: bool) -> None:
    """Keep what a message holds; of pictures the chosen ones."""
    kept: dict[str, list[Any]] = {
        CHUNK: signals.chunks,
        DONE: signals.done,
        EPISODE: signals.episodes,
    }
    if name in kept:
        kept[name].append(decode(raw.msgtype, reader.decode(raw)))
    elif name == POSE:
        pose = reader.decode(raw).pose
        at, turn = pose.position, pose.orientation
        signals.poses.append((at.x, at.y, at.z, turn.x, turn.y, turn.z, turn.w))
    elif name != JOINTS and chosen:
        role = next(r for r, topic in IMAGES.items() if topic == name)
        signals.pictures.setdefault(role, []).append(decode_image(reader.decode(raw)))
