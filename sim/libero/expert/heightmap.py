"""Height maps: how deep can a shape be lowered, straight down, before it touches something.

A height map holds, for each cell of a horizontal grid, the top of what stands there. A *profile*
is the shape that comes down: the lowest point of the shape over each cell. The lowest
collision-free height of the shape is the maximum of map minus profile. Pure geometry, world
frame, metres.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.ndimage import maximum_filter1d

if TYPE_CHECKING:
    from structrl_ros.types import Float64

#: Side of a grid cell (m).
CELL = 0.004


@dataclass(frozen=True, slots=True)
class HeightMap:
    """Tops of everything on a square grid.

    Attributes:
        corner: Horizontal position of cell (0, 0) (m), shape (2,).
        heights: Top of each cell (m), shape (N, N); first axis world x, second world y.
    """

    corner: Float64
    heights: Float64

    @classmethod
    def of_points(
        cls, points: Float64, slabs: Float64, center: Float64, half_size: float
    ) -> HeightMap:
        """Build the map of a point cloud and of axis-parallel boxes.

        Args:
            points: Surface points (m), shape (N, 3), denser than CELL.
            slabs: Low and high corners of boxes (m), shape (S, 2, 3). Under all lies z = 0.
            center: Middle of the map (m), shape (2,).
            half_size: Half of its side (m).
        """
        number = int(np.ceil(2.0 * half_size / CELL)) + 1
        corner = np.asarray(center[:2], dtype=float) - half_size
        heights = np.zeros((number, number))
        for low, high in slabs:
            first = np.clip(np.ceil((low[:2] - corner) / CELL), 0, number).astype(int)
            last = np.clip(np.floor((high[:2] - corner) / CELL) + 1, 0, number).astype(int)
            part = heights[first[0] : last[0], first[1] : last[1]]
            np.maximum(part, high[2], out=part)
        cells = np.rint((points[:, :2] - corner) / CELL).astype(int)
        inside = np.all((cells >= 0) & (cells < number), axis=1)
        np.maximum.at(heights, (cells[inside, 0], cells[inside, 1]), points[inside, 2])
        return cls(corner=corner, heights=heights)

    def turned(self, center: Float64, yaw: float, half_size: float) -> HeightMap:
        """Return the map on a grid whose first axis points along `yaw`, with `center` at (0, 0).

        Args:
            center: Horizontal position (m), shape (2,).
            yaw: Direction of the new first axis (rad).
            half_size: Half of the side of the new map (m). What lies outside the old map is -inf.
        """
        number = 2 * int(np.ceil(half_size / CELL)) + 1
        axis = CELL * (np.arange(number) - number // 2)
        c, s = np.cos(yaw), np.sin(yaw)
        x = center[0] + c * axis[:, None] - s * axis[None, :] - self.corner[0]
        y = center[1] + s * axis[:, None] + c * axis[None, :] - self.corner[1]
        padded = np.pad(self.heights, 1, constant_values=-np.inf)
        last = len(padded) - 1
        rows = np.clip(np.rint(x / CELL).astype(int) + 1, 0, last)
        columns = np.clip(np.rint(y / CELL).astype(int) + 1, 0, last)
        return HeightMap(corner=np.full(2, axis[0]), heights=padded[rows, columns])

    def lowest_box(self, low: Float64, high: Float64) -> Float64:
        """Return the lowest height (m) of a box's origin over each cell, same shape as the map.

        Args:
            low: Low corner of the box relative to its origin (m), shape (3,).
            high: High corner (m), shape (3,); the height of its top does not matter.
        """
        out = self.heights
        for axis in range(2):
            first, last = int(np.floor(low[axis] / CELL)), int(np.ceil(high[axis] / CELL))
            size = last - first + 1
            out = maximum_filter1d(out, size=size, axis=axis, mode='constant', cval=-np.inf)
            out = _shifted(out, first + size // 2, axis)
        return out - low[2]

    def window(self, low: Float64, high: Float64) -> tuple[Float64, Float64]:
        """Return the grid coordinates (m) along x and y, shapes (A,), (B,), within [low, high]."""
        axes = []
        for axis in range(2):
            first, last = np.rint(
                (np.array([low[axis], high[axis]]) - self.corner[axis]) / CELL
            ).astype(int)
            index = np.arange(max(first, 0), min(last, self.heights.shape[axis] - 1) + 1)
            axes.append(self.corner[axis] + CELL * index)
        return axes[0], axes[1]

    def lowest(self, profile: Float64, xs: Float64, ys: Float64) -> Float64:
        """Return the lowest height of a shape's origin over each (x, y).

        Args:
            profile: Cells of the shape, shape (C, 3): offset x, y (m) and lowest z relative to the
                origin of the shape.
            xs: Grid coordinates from `window`, shape (A,).
            ys: Grid coordinates from `window`, shape (B,).

        Returns:
            Heights (m), shape (A, B). What lies outside the map does not count.
        """
        offsets = np.rint(profile[:, :2] / CELL).astype(int)
        pad = int(np.abs(offsets).max(initial=0)) + 1
        padded = np.pad(self.heights, pad, constant_values=-np.inf)
        row = round((xs[0] - self.corner[0]) / CELL) + pad
        column = round((ys[0] - self.corner[1]) / CELL) + pad
        out = np.full((len(xs), len(ys)), -np.inf)
        for (dx, dy), low in zip(offsets, profile[:, 2], strict=True):
            part = padded[row + dx : row + dx + len(xs), column + dy : column + dy + len(ys)]
            np.maximum(out, part - low, out=out)
        return out

    def corridor(self, start: Float64, end: Float64, half_width: float) -> float:
        """Return the highest top (m) within `half_width` of the line from `start` to `end`."""
        along = np.asarray(end[:2], dtype=float) - start[:2]
        length = float(np.linalg.norm(along))
        unit = along / length if length > 1e-9 else np.array([1.0, 0.0])
        x = self.corner[0] + CELL * np.arange(self.heights.shape[0])[:, None] - start[0]
        y = self.corner[1] + CELL * np.arange(self.heights.shape[1])[None, :] - start[1]
        forward = np.clip(x * unit[0] + y * unit[1], 0.0, length)
        near = np.hypot(x - forward * unit[0], y - forward * unit[1]) <= half_width
        return float(self.heights[near].max(initial=-np.inf))


def profile_of(points: Float64) -> Float64:
    """Return the profile, shape (C, 3), of a shape given by points relative to its origin."""
    cells = np.rint(points[:, :2] / CELL).astype(int)
    unique, inverse = np.unique(cells, axis=0, return_inverse=True)
    low = np.full(len(unique), np.inf)
    np.minimum.at(low, inverse.reshape(-1), points[:, 2])
    return np.column_stack([unique * CELL, low])


def box_points(low: Float64, high: Float64, spacing: float = CELL) -> Float64:
    """Return points on the faces of an axis-parallel box, shape (N, 3), `spacing` apart (m)."""
    low, high = np.asarray(low, dtype=float), np.asarray(high, dtype=float)
    axes = [
        np.linspace(a, b, max(2, int(np.ceil((b - a) / spacing)) + 1))
        for a, b in zip(low, high, strict=True)
    ]
    faces = []
    for axis in range(3):
        first, second = (a for a in range(3) if a != axis)
        grid = np.stack(np.meshgrid(axes[first], axes[second], indexing='ij'), -1).reshape(-1, 2)
        for side in (low[axis], high[axis]):
            face = np.empty((len(grid), 3))
            face[:, [first, second]] = grid
            face[:, axis] = side
            faces.append(face)
    return np.concatenate(faces)


def _shifted(array: Float64, by: int, axis: int) -> Float64:
    """Return `out` with out[i] = array[i + by] along an axis, -inf where that is outside."""
    out = np.full_like(array, -np.inf)
    length = array.shape[axis]
    source = [slice(None)] * array.ndim
    target = [slice(None)] * array.ndim
    source[axis] = slice(max(by, 0), min(length, length + by))
    target[axis] = slice(max(-by, 0), min(length, length - by))
    out[tuple(target)] = array[tuple(source)]
    return out
