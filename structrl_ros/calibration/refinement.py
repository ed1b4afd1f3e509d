"""Refinement of a hand-eye result: the camera and the board that explain the corners best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from structrl_ros.calibration.hand_eye import HandEye
from structrl_ros.calibration.transforms import apply
from structrl_ros.calibration.transforms import inverse
from structrl_ros.calibration.transforms import matrix_from_vector
from structrl_ros.calibration.transforms import vector_from_matrix
from structrl_ros.camera_types import Intrinsics
from structrl_ros.camera_types import project
from structrl_ros.types import Float64

#: Where the loss turns from squares to absolute values, pixels: what is further off is an outlier.
OUTLIER_PX = 2.0
#: Residual of a point behind the camera, pixels.
_LOST_PX = 1e4


@dataclass(frozen=True, slots=True)
class View:
    """A pose of the carrier (4, 4) and what was seen from it.

    `points` (K, 3) lie on the board, in metres; `corners` (K, 2) are their pixels; `camera_board`
    (4, 4) is the board in the camera's optical frame, from this picture alone.
    """

    carrier: Float64
    points: Float64
    corners: Float64
    camera_board: Float64


def carriers_of(views: Sequence[View]) -> Float64:
    """Return the poses of the carrier, shape (N, 4, 4)."""
    return np.array([view.carrier for view in views])


def boards_of(views: Sequence[View]) -> Float64:
    """Return the board in the camera's frame in each view, shape (N, 4, 4)."""
    return np.array([view.camera_board for view in views])


class Reprojection:
    """Where camera and board say that the corners of some views are, all at once."""

    def __init__(self, views: Sequence[View], intrinsics: Intrinsics) -> None:
        """Gather the corners of at least one view."""
        counts = [len(view.points) for view in views]
        self._intrinsics = intrinsics
        self._anchors = np.repeat(inverse(carriers_of(views)), counts, axis=0)
        self._points = np.concatenate([view.points for view in views])
        self._corners = np.concatenate([view.corners for view in views])
        ends = np.cumsum(counts)
        self.parts = [slice(2 * (end - n), 2 * end) for end, n in zip(ends, counts, strict=True)]

    def errors(self, found: HandEye) -> Float64:
        """Return pixels from each corner to where it should be, flat: x, y of each.

        The corners of view i are `errors[parts[i]]`. A point behind the camera is far off.
        """
        places = apply(self._anchors, apply(found.board, self._points))
        pixels = project(self._intrinsics, apply(inverse(found.camera), places))
        errors: Float64 = np.nan_to_num(pixels - self._corners, nan=_LOST_PX).ravel()
        return errors


def numbers_of(found: HandEye) -> Float64:
    """Return the twelve numbers of camera and board, shape (12,)."""
    return np.concatenate([vector_from_matrix(found.camera), vector_from_matrix(found.board)])


def hand_eye_of(numbers: Float64) -> HandEye:
    """Return camera and board of twelve numbers: a rotation vector and a translation each."""
    return HandEye(matrix_from_vector(numbers[:6]), matrix_from_vector(numbers[6:]))


def refine(start: HandEye, views: Sequence[View], intrinsics: Intrinsics) -> HandEye:
    """Return the camera and the board with the smallest robust reprojection error.

    The loss is 2 s^2 (sqrt(1 + (e / s)^2) - 1) with s = OUTLIER_PX (`soft_l1` of scipy).
    """
    from scipy.optimize import least_squares

    corners = Reprojection(views, intrinsics)

    def errors(numbers: Float64) -> Float64:
        return corners.errors(hand_eye_of(numbers))

    best = least_squares(
        errors,
        numbers_of(start),
        loss='soft_l1',
        f_scale=OUTLIER_PX,
        x_scale='jac',
    )
    return hand_eye_of(best.x)
