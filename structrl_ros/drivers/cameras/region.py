"""Crop and resize of a frame: picture, depth and intrinsics together."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import replace

import numpy as np

from structrl_ros.camera_types import CameraFrame
from structrl_ros.camera_types import UInt16
from structrl_ros.errors import CameraError
from structrl_ros.types import UInt8


@dataclass(frozen=True, slots=True)
class Region:
    """What is kept of a frame.

    `crop` is x, y, width and height in pixels of the camera, `size` the width and height to scale
    that part to; None keeps what there is.
    """

    crop: tuple[int, int, int, int] | None = None
    size: tuple[int, int] | None = None

    def apply(self, frame: CameraFrame) -> CameraFrame:
        """Return the frame cut and scaled, with the intrinsics that belong to it.

        Raises:
            CameraError: If the crop does not lie within the picture.
        """
        if self.crop is not None:
            frame = self._cropped(frame, *self.crop)
        height, width, _ = frame.image.shape
        if self.size is None or self.size == (width, height):
            return frame
        intrinsics = frame.intrinsics
        return replace(
            frame,
            image=_scaled(frame.image, self.size),
            depth=None if frame.depth is None else _nearest(frame.depth, self.size),
            intrinsics=None if intrinsics is None else intrinsics.resized(*self.size),
        )

    def _cropped(self, frame: CameraFrame, x: int, y: int, width: int, height: int) -> CameraFrame:
        rows, columns, _ = frame.image.shape
        if min(x, y) < 0 or min(width, height) < 1 or x + width > columns or y + height > rows:
            raise CameraError(
                f'crop is {width} x {height} at ({x}, {y}); allowed: within {columns} x {rows}'
            )
        part = (slice(y, y + height), slice(x, x + width))
        intrinsics = frame.intrinsics
        return replace(
            frame,
            image=frame.image[part],
            depth=None if frame.depth is None else frame.depth[part],
            intrinsics=None if intrinsics is None else intrinsics.cropped(x, y, width, height),
        )


def _scaled(image: UInt8, size: tuple[int, int]) -> UInt8:
    """Return the picture at another size; where it shrinks, all its pixels count."""
    from PIL import Image

    picture = Image.fromarray(np.ascontiguousarray(image))
    return np.asarray(picture.resize(size, Image.Resampling.BILINEAR))


def _nearest(depth: UInt16, size: tuple[int, int]) -> UInt16:
    """Return depth at another size, never mixed across an edge."""
    height, width = depth.shape
    rows = (np.arange(size[1]) + 0.5) * height / size[1]
    columns = (np.arange(size[0]) + 0.5) * width / size[0]
    return depth[rows.astype(int)[:, None], columns.astype(int)]
