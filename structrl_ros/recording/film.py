"""The film of a run: pictures of each camera, evenly spread over the episode."""

from __future__ import annotations

import io
import struct
from base64 import b64encode
from collections.abc import Iterator
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from structrl_ros.recording.bag_reader import BagReader
from structrl_ros.recording.bag_reader import RawMessage
from structrl_ros.recording.decoding import SECOND_NS
from structrl_ros.recording.decoding import decode_image
from structrl_ros.recording.run_events import IMAGE_TYPE
from structrl_ros.types import ROLES
from structrl_ros.types import UInt8

#: Longest side of a picture in pixels, and JPEG quality (1 to 95).
LONGEST_SIDE = 320
QUALITY = 80


@dataclass(frozen=True, slots=True)
class Picture:
    """RGB pixels (H, W, 3) at a body's time in seconds since the start of the episode."""

    t_s: float
    pixels: UInt8


@dataclass(frozen=True, slots=True)
class Frame:
    """A picture: body's time in seconds since the start of the episode, size, JPEG bytes."""

    t_s: float
    width: int
    height: int
    jpeg: bytes

    @property
    def data_url(self) -> str:
        """The picture as a data URL."""
        return jpeg_url(self.jpeg)


def jpeg_url(jpeg: bytes) -> str:
    """Return JPEG bytes as a data URL."""
    return 'data:image/jpeg;base64,' + b64encode(jpeg).decode('ascii')


def read_pictures(
    bag: Path, start_ns: int, end_ns: int, count: int
) -> dict[str, tuple[Picture, ...]]:
    """Return at most `count` pictures of each camera, evenly spread over [start, end].

    Args:
        bag: Folder of the bag.
        start_ns: Start of the episode on the body's clock; pictures before it are left out.
        end_ns: End of the episode.
        count: Most pictures of a camera, at least 2.

    Returns:
        Role to pictures in order of time, at most `LONGEST_SIDE` wide and high; the head camera
        comes first, cameras without a picture are left out.

    Raises:
        BagError: If the bag or a picture is damaged.
    """
    reader = BagReader(bag)
    found = {}
    for role, topic in _cameras(reader).items():
        if pictures := _pictures(reader, topic, start_ns, end_ns, count):
            found[role] = tuple(pictures)
    return found


def to_frames(pictures: Sequence[Picture], count: int) -> list[Frame]:
    """Return at most `count` of the pictures as JPEG, evenly spread, the first and last too."""
    last = len(pictures) - 1
    chosen = (
        sorted({round(i * last / max(1, count - 1)) for i in range(count)}) if pictures else []
    )
    return [_frame(pictures[i]) for i in chosen]


def _frame(picture: Picture) -> Frame:
    image = Image.fromarray(picture.pixels)
    out = io.BytesIO()
    image.save(out, 'JPEG', quality=QUALITY, optimize=True)
    return Frame(picture.t_s, image.width, image.height, out.getvalue())


def _cameras(reader: BagReader) -> dict[str, str]:
    """Return role to topic, of the colour cameras in the bag."""
    topics = [t for t, summary in reader.topics.items() if summary.msgtype == IMAGE_TYPE]
    found = {r: [t for t in topics if t.endswith(f'observation/{r}/image')] for r in ROLES}
    return {role: mine[0] for role, mine in found.items() if mine}


def _pictures(
    reader: BagReader, topic: str, start_ns: int, end_ns: int, count: int
) -> list[Picture]:
    inside = [s for s, _ in _images(reader, topic) if start_ns <= s <= end_ns]
    if not inside:
        return []
    stamps = np.array(inside, dtype=np.int64)
    targets = np.linspace(start_ns, end_ns, max(2, count))
    chosen = {int(stamps[np.abs(stamps - target).argmin()]) for target in targets}
    found: dict[int, Picture] = {}
    for stamp_ns, raw in _images(reader, topic):
        if stamp_ns in chosen and stamp_ns not in found:
            image = Image.fromarray(decode_image(reader.decode(raw)))
            image.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
            found[stamp_ns] = Picture((stamp_ns - start_ns) / SECOND_NS, np.asarray(image))
    return [found[s] for s in sorted(found)]


def _images(reader: BagReader, topic: str) -> Iterator[tuple[int, RawMessage]]:
    """Yield a camera's images with their stamps, undecoded."""
    for raw in reader.raw_messages([topic]):
        order = '<' if raw.data[1] & 1 else '>'
        seconds, nanoseconds = struct.unpack_from(f'{order}iI', raw.data, 4)
        yield seconds * SECOND_NS + nanoseconds, raw
