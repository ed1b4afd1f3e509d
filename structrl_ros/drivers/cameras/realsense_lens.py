"""Intrinsics of librealsense in the terms of ROS and OpenCV."""

from __future__ import annotations

from typing import Any

import numpy as np

from structrl_ros.camera_types import Intrinsics
from structrl_ros.camera_types import project
from structrl_ros.errors import CameraError

#: Largest error of a lens that is told in another model's terms, pixels.
MAX_ERROR_PX = 0.3
_GRID = 15


def intrinsics_of(rs: Any, given: Any) -> Intrinsics:
    """Return the intrinsics of an `rs.intrinsics`.

    Whatever librealsense's models are called, what counts is which ray it gives a pixel, or which
    pixel it gives a ray: `plumb_bob`, which is linear in its coefficients, is fitted to that over
    the whole picture, and the fit is checked.

    Args:
        rs: The module pyrealsense2.
        given: Of a stream.

    Raises:
        CameraError: If the lens cannot be told as `plumb_bob` to MAX_ERROR_PX.
    """
    plain = (given.width, given.height, given.fx, given.fy, given.ppx, given.ppy)
    coefficients = tuple(float(value) for value in given.coeffs)
    models = rs.distortion
    if given.model == models.none or not any(coefficients):
        return Intrinsics(*plain)
    if given.model == models.brown_conrady:
        return Intrinsics(*plain, coefficients[:5])
    if given.model == models.kannala_brandt4:
        return Intrinsics(*plain, coefficients[:4], 'equidistant')
    rays, pixels = _seen(rs, given)
    found = Intrinsics(*plain, _plumb_bob(rays, pixels, given))
    points = np.column_stack([rays, np.ones(len(rays))])
    error_px = float(np.abs(project(found, points) - pixels).max())
    if error_px > MAX_ERROR_PX:
        raise CameraError(
            f'lens model {given.model} is off by {error_px:.1f} px as plumb_bob; '
            f'allowed: {MAX_ERROR_PX} px. Give the intrinsics of your own calibration'
        )
    return found


def _seen(rs: Any, given: Any) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return rays (N, 2) at depth 1 and their pixels (N, 2), all over the picture."""
    columns = np.linspace(0, given.width - 1, _GRID)
    rows = np.linspace(0, given.height - 1, _GRID)
    pixels = np.stack(np.meshgrid(columns, rows), axis=-1).reshape(-1, 2)
    if given.model == rs.distortion.modified_brown_conrady:  # librealsense only projects this one
        rays = (pixels - (given.ppx, given.ppy)) / (given.fx, given.fy)
        pixels = np.array([rs.rs2_project_point_to_pixel(given, [*ray, 1.0]) for ray in rays])
    else:
        found = [rs.rs2_deproject_pixel_to_point(given, list(pixel), 1.0) for pixel in pixels]
        rays = np.array(found)[:, :2]
    return rays, pixels


def _plumb_bob(
    rays: np.ndarray[Any, Any], pixels: np.ndarray[Any, Any], given: Any
) -> tuple[float, ...]:
    """Return k1, k2, p1, p2, k3 that take rays to pixels, by least squares."""
    x, y = rays.T
    r2 = x * x + y * y
    bent = (pixels - (given.ppx, given.ppy)) / (given.fx, given.fy)
    columns = [
        [x * r2, y * r2],
        [x * r2**2, y * r2**2],
        [2 * x * y, r2 + 2 * y * y],
        [r2 + 2 * x * x, 2 * x * y],
        [x * r2**3, y * r2**3],
    ]
    matrix = np.array([np.concatenate(column) for column in columns]).T
    found = np.linalg.lstsq(matrix, (bent - rays).T.ravel(), rcond=None)[0]
    return tuple(float(value) for value in found)
