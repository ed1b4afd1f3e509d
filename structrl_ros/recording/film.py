"""The film of a run: frames of the head camera, evenly spread, as JPEG."""

from __future__ import annotations

import io
import struct
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from structrl_ros.recording.bag_reader import BagReader
from structrl_ros.recording.bag_reader import RawMessage
from structrl_ros.recording.decoding import SECOND_NS
from structrl_ros.recording.decoding import decode_image
from structrl_ros.recording.run_events import FILM_TOPIC
from structrl_ros.recording.run_events import IMAGE_TYPE

#: Longest side of a frame in pixels, and JPEG quality (1 to 95).
LONGEST_SIDE = 320
QUALITY = 80


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
        return 'data:image/jpeg;base64,' + b64encode(self.jpeg).decode('ascii')


def film_frames(bag: Path, start_ns: int, end_ns: int, count: int) -> list[Frame]:
    """Return at most `count` frames of the head camera, evenly spread over [start, end].

    Args:
        bag: Folder of the bag.
        start_ns: Start of the episode on the body's clock; frames before it are left out.
        end_ns: End of the episode.
        count: Most frames to return, at least 2.

    Raises:
        BagError: If the bag or a picture is damaged.
    """
    reader = BagReader(bag)
    stamps = np.array([s for s, _ in _images(reader) if start_ns <= s <= end_ns], dtype=np.int64)
    if not stamps.size:
        return []
    targets = np.linspace(start_ns, end_ns, max(2, count))
    chosen = {int(stamps[np.abs(stamps - target).argmin()]) for target in targets}
    frames: dict[int, Frame] = {}
    for stamp_ns, raw in _images(reader):
        if stamp_ns in chosen and stamp_ns not in frames:
            pixels = decode_image(reader.decode(raw))
            picture = Image.fromarray(pixels)
            picture.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
            out = io.BytesIO()
            picture.save(out, 'JPEG', quality=QUALITY, optimize=True)
            t_s = (stamp_ns - start_ns) / SECOND_NS
            frames[stamp_ns] = Frame(t_s, picture.width, picture.height, out.getvalue())
    return [frames[s] for s in sorted(frames)]


def _images(reader: BagReader) -> Iterator[tuple[int, RawMessage]]:
    """Yield the head camera's images with their stamps, undecoded."""
    topics = [
        topic
        for topic, summary in reader.topics.items()
        if summary.msgtype == IMAGE_TYPE and topic.endswith(FILM_TOPIC)
    ]
    for raw in reader.raw_messages(topics[:1]):
        order = '<' if raw.data[1] & 1 else '>'
        seconds, nanoseconds = struct.unpack_from(f'{order}iI', raw.data, 4)
        yield seconds * SECOND_NS + nanoseconds, raw
