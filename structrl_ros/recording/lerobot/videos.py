"""Videos of a dataset: one stream of frames a file, many episodes after each other, by PyAV."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np

from structrl_ros.errors import DatasetError
from structrl_ros.recording.lerobot.layout import VIDEO_FILE_BYTES
from structrl_ros.recording.lerobot.layout import VIDEO_PATH
from structrl_ros.recording.lerobot.layout import Place
from structrl_ros.recording.lerobot.scheduling import no_real_time
from structrl_ros.types import JsonObject
from structrl_ros.types import UInt8

#: Encoder and its options by codec; a key frame every second frame, so that any can be had fast.
ENCODERS = {
    'av1': ('libsvtav1', {'crf': '30', 'g': '2', 'preset': '10', 'svtav1-params': 'lp=1'}),
    'h264': ('libx264', {'crf': '23', 'g': '2', 'preset': 'veryfast'}),
}


@dataclass(frozen=True, slots=True)
class Span:
    """Where an episode lies: its file, and seconds in it."""

    place: Place
    from_s: float
    to_s: float


class VideoWriter:
    """Writes one camera's frames to files of a limited size; an episode lies in one file."""

    def __init__(self, root: Path, key: str, fps: int, codec: str) -> None:
        """Open nothing yet.

        Args:
            root: Of the dataset.
            key: Of the feature, such as observation.images.head.
            fps: Frames a second.
            codec: A key of `ENCODERS`.
        """
        self._root, self._key, self._fps, self._codec = root, key, fps, codec
        self._place = Place()
        self._container: Any = None
        self._stream: Any = None
        self._frames = self._first = 0
        os.environ.setdefault('SVT_LOG', '1')  # AV1's encoder is talkative

    def add(self, pixels: UInt8) -> None:
        """Append an RGB frame (H, W, 3) to the episode.

        Raises:
            DatasetError: If the codec cannot take its size.
        """
        if self._container is None:
            self._open(pixels.shape[1], pixels.shape[0])
        frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(pixels), format='rgb24')
        frame.pts, frame.time_base = self._frames, Fraction(1, self._fps)
        with no_real_time():
            self._container.mux(self._stream.encode(frame))
        self._frames += 1

    def end_episode(self) -> Span:
        """Return where the frames since the last call lie, and close a file that is full."""
        span = Span(self._place, self._first / self._fps, self._frames / self._fps)
        self._first = self._frames
        path = self._path()  # an encoder that looks ahead has not written anything yet
        if path.is_file() and path.stat().st_size >= VIDEO_FILE_BYTES:
            self.close()
            self._place = self._place.next()
        return span

    def close(self) -> None:
        """Finish the open file."""
        if self._container is not None:
            with no_real_time():
                self._container.mux(self._stream.encode(None))
                self._container.close()
        self._container = self._stream = None
        self._frames = self._first = 0

    def _path(self) -> Path:
        return self._root / self._place.path(VIDEO_PATH, self._key)

    def _open(self, width: int, height: int) -> None:
        if width % 2 or height % 2:
            raise DatasetError(
                f'{self._key} is {width} x {height}; allowed in a video: even sides; '
                '--images takes any'
            )
        path = self._path()
        path.parent.mkdir(parents=True, exist_ok=True)
        encoder, options = ENCODERS[self._codec]
        self._container = av.open(str(path), 'w')
        try:
            self._stream = self._container.add_stream(encoder, rate=self._fps, options=options)
        except (ValueError, av.FFmpegError) as error:
            raise DatasetError(f'this PyAV has no encoder {encoder}: {error}') from None
        self._stream.width, self._stream.height = width, height
        self._stream.pix_fmt = 'yuv420p'
        self._stream.thread_count = 1


def video_info(width: int, height: int, fps: int, codec: str) -> JsonObject:
    """Return what `info.json` says of a video."""
    return {
        'video.height': height,
        'video.width': width,
        'video.codec': codec,
        'video.pix_fmt': 'yuv420p',
        'video.is_depth_map': False,
        'video.fps': fps,
        'video.channels': 3,
        'has_audio': False,
    }


def read_frames(path: Path, fps: float, from_s: float, count: int) -> Iterator[UInt8]:
    """Yield `count` frames (H, W, 3) of a video, those at from_s + i / fps.

    Raises:
        DatasetError: If the file is missing or cut, or holds fewer.
    """
    if not path.is_file():
        raise DatasetError(f'{path} is missing')
    found = 0
    try:
        with av.open(str(path)) as container:
            stream = container.streams.video[0]
            stream.thread_count = 1
            if from_s > 0.0 and stream.time_base:
                container.seek(int(from_s / stream.time_base), stream=stream)
            for frame in container.decode(stream):
                if frame.time is None or frame.time < from_s - 0.5 / fps:
                    continue
                wanted = from_s + found / fps
                if frame.time > wanted + 0.5 / fps:
                    break
                yield np.asarray(frame.to_ndarray(format='rgb24'), dtype=np.uint8)
                found += 1
                if found == count:
                    return
    except (av.FFmpegError, IndexError, OSError) as error:
        raise DatasetError(f'{path} is cut or no video: {error}') from None
    raise DatasetError(
        f'{path} holds {found} frames from {from_s:g} s on at {fps:g} Hz; the episode has {count}'
    )
