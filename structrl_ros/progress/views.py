"""What a state looks like to the GRM: three view slots, padded and masked (Robo-Dopamine 2.0)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from structrl_ros.errors import ParameterError
from structrl_ros.types import ROLES
from structrl_ros.types import Float64
from structrl_ros.types import UInt8

#: Grey level of slots without a camera and of empty cells of a panel.
PADDING_LEVEL = 128


@dataclass(frozen=True, slots=True)
class Views:
    """A state X = (head, left wrist, right wrist); arrays cannot be written to.

    Attributes:
        images: RGB, shape (3, S, S, 3), `PADDING_LEVEL` where there is no camera.
        available: Which slots have a camera, shape (3,).
    """

    images: UInt8
    available: NDArray[np.bool_]


def make_views(images: Mapping[str, UInt8], size_px: int) -> Views:
    """Return the views of a state at one size.

    Args:
        images: RGB image of each camera role that there is, shape (H, W, 3), any size.
        size_px: Side S of the square views, pixels.

    Raises:
        ParameterError: If a role is unknown, no role is there, or an image is no RGB image.
    """
    unknown = [role for role in images if role not in ROLES]
    if unknown or not images:
        raise ParameterError(
            f'views of {sorted(images)}; allowed: at least one of {", ".join(ROLES)}'
        )
    slots = np.full((len(ROLES), size_px, size_px, 3), PADDING_LEVEL, np.uint8)
    available = np.zeros(len(ROLES), np.bool_)
    for slot, role in enumerate(ROLES):
        if role in images:
            slots[slot] = resize_area(images[role], size_px, size_px)
            available[slot] = True
    slots.flags.writeable = available.flags.writeable = False
    return Views(slots, available)


def resize_area(image: UInt8, height: int, width: int) -> UInt8:
    """Return the image at another size: means over areas when smaller, nearest when larger.

    Raises:
        ParameterError: If the image is not of shape (H, W, 3) and type uint8, or a size is not
            positive.
    """
    if image.ndim != 3 or image.shape[2] != 3 or image.dtype != np.uint8 or not image.size:
        raise ParameterError(
            f'image of shape {image.shape} and type {image.dtype}; allowed: (H, W, 3), uint8'
        )
    if height < 1 or width < 1:
        raise ParameterError(f'image size {height} x {width}; allowed: 1 and more')
    if image.shape[:2] == (height, width):
        return image.copy()
    rows = _shrink(image.astype(np.float64), height, 0)
    both = _shrink(rows, width, 1)
    return np.rint(both).astype(np.uint8)


def _shrink(values: Float64, count: int, axis: int) -> Float64:
    size = values.shape[axis]
    edges = np.arange(count + 1) * size // count
    if count > size:
        nearest: Float64 = values.take(edges[:-1], axis=axis)
        return nearest
    shape = [1] * values.ndim
    shape[axis] = count
    means: Float64 = np.add.reduceat(values, edges[:-1], axis=axis) / np.diff(edges).reshape(shape)
    return means
