"""A film, or a folder of pictures, played as if it were a camera."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from structrl_ros.camera_types import CameraFrame
from structrl_ros.drivers.cameras.settings import CameraSettings
from structrl_ros.drivers.cameras.settings import fitting
from structrl_ros.drivers.cameras.video_device import opencv
from structrl_ros.drivers.cameras.video_device import rgb
from structrl_ros.errors import CameraError
from structrl_ros.errors import StaleDataError
from structrl_ros.ports import Clock
from structrl_ros.types import UInt8

PICTURES = ('.png', '.jpg', '.jpeg', '.bmp')


class VideoFileCamera:
    """Plays a file at a rate; its stamps are the times at which its frames are due."""

    def __init__(self, settings: CameraSettings, clock: Clock) -> None:
        """Open the file.

        Args:
            settings: `source` is a film, a picture, or a folder of pictures in order of name.
            clock: The frames' own; they are due every 1 / `rate_hz`.

        Raises:
            CameraError: If there is no such file, or nothing in it.
        """
        self._settings, self._clock = settings, clock
        self._path = path = Path(settings.source)
        self._film: Any = None
        self._pictures: list[Path] = []
        if path.is_dir():
            self._pictures = sorted(p for p in path.iterdir() if p.suffix.lower() in PICTURES)
        elif path.suffix.lower() in PICTURES and path.is_file():
            self._pictures = [path]
        elif path.is_file():
            self._open_film()
        if self._film is None and not self._pictures:
            kinds = ', '.join(PICTURES)
            raise CameraError(f'{path}: no film and no folder with pictures ({kinds})')
        self._at = 0
        self._due_ns = clock.now_ns()
        self.name = str(path)

    def read(self, timeout_s: float) -> CameraFrame:
        """Return the next frame when it is due.

        Raises:
            StaleDataError: If it is due later.
            CameraError: If the file has ended or is gone.
        """
        wait_s = (self._due_ns - self._clock.now_ns()) / 1e9
        if wait_s > timeout_s:
            time.sleep(timeout_s)
            raise StaleDataError(f'no frame of {self.name} is due within {timeout_s} s')
        if wait_s > 0:
            time.sleep(wait_s)
        image = self._next()
        stamp_ns, number = self._due_ns, self._at
        self._due_ns += round(1e9 / self._settings.rate_hz)
        received_ns = self._clock.now_ns()
        if received_ns > self._due_ns:
            self._due_ns = received_ns  # too slow for the rate: no burst afterwards
        height, width, _ = image.shape
        intrinsics = fitting(self._settings.intrinsics, width, height)
        return CameraFrame(stamp_ns, max(received_ns, stamp_ns), image, intrinsics, None, number)

    def reset(self) -> None:
        """Begin again."""
        self._rewind()

    def close(self) -> None:
        """Free the file."""
        if self._film is not None:
            self._film.release()

    def _next(self) -> UInt8:
        image = self._read_picture()
        if image is None and self._settings.loop:
            self._rewind()
            image = self._read_picture()
        if image is None:
            raise CameraError(f'{self.name} has ended')
        return image

    def _read_picture(self) -> UInt8 | None:
        if self._film is not None:
            came, frame = self._film.read()
            self._at += 1
            return rgb(frame) if came else None
        index = self._at if not self._settings.loop else self._at % len(self._pictures)
        if index >= len(self._pictures):
            return None
        self._at += 1
        return _picture(self._pictures[index])

    def _rewind(self) -> None:
        if self._film is not None:
            self._film.release()
            self._open_film()
        else:
            self._at = 0

    def _open_film(self) -> None:
        film = opencv().VideoCapture(str(self._path))
        if not film.isOpened():
            raise CameraError(f'{self._path} is no film that OpenCV reads')
        self._film = film


def _picture(path: Path) -> UInt8:
    from PIL import Image

    try:
        with Image.open(path) as picture:
            return np.array(picture.convert('RGB'), dtype=np.uint8)
    except OSError as error:
        raise CameraError(f'{path}: {error}') from None
