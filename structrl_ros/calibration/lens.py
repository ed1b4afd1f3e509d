"""Intrinsics: are the given ones good, and what do the pictures say?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from structrl_ros.calibration.board import opencv
from structrl_ros.calibration.refinement import View
from structrl_ros.calibration.transforms import apply
from structrl_ros.camera_types import Intrinsics
from structrl_ros.camera_types import project
from structrl_ros.errors import CalibrationError
from structrl_ros.types import Float64

#: Largest error of good intrinsics themselves, beyond that of the corners, and of both, pixels.
GOOD_PX = 0.25
WORST_PX = 1.0
#: Views and part of the picture that a new calibration needs.
MIN_VIEWS = 8
MIN_COVERAGE = 0.4
#: Fields that the picture is cut into to tell how much of it was seen.
_FIELDS = (8, 6)


@dataclass(frozen=True, slots=True)
class LensReport:
    """What corners say of intrinsics: errors in pixels (root mean square).

    `given_px` is that of the given ones, `estimated_px` of those in `estimated`, and `heldout_px`
    of ones that were estimated from every other view, on the rest. `coverage` is the part of the
    picture, 0 to 1, in which corners were seen.
    """

    given_px: float
    estimated_px: float
    heldout_px: float
    estimated: Intrinsics
    coverage: float

    @property
    def is_good(self) -> bool:
        """Whether the given intrinsics explain the corners, about as well as the best do."""
        return self.given_px <= min(float(np.hypot(self.estimated_px, GOOD_PX)), WORST_PX)


def check_lens(views: Sequence[View], given: Intrinsics) -> LensReport:
    """Return what the views say of the given intrinsics.

    Raises:
        CalibrationError: If there are too few views, or too little of the picture was seen.
    """
    if len(views) < MIN_VIEWS:
        raise CalibrationError(f'{len(views)} views; allowed: at least {MIN_VIEWS}, better 20')
    coverage = _coverage(views, given)
    if coverage < MIN_COVERAGE:
        raise CalibrationError(
            f'corners were seen in {coverage:.0%} of the picture; allowed: {MIN_COVERAGE:.0%} '
            'and more: bring the board into the corners of the picture'
        )
    estimated, errors = _estimate(views, given)
    half, _ = _estimate(views[::2], given)
    unseen = [_posed_errors(view, half) for view in views[1::2]]
    given_errors = [
        project(given, apply(view.camera_board, view.points)) - view.corners for view in views
    ]
    return LensReport(_rms(given_errors), errors, _rms(unseen), estimated, coverage)


def _estimate(views: Sequence[View], start: Intrinsics) -> tuple[Intrinsics, float]:
    cv2 = opencv()
    size = (start.width, start.height)
    flags = cv2.CALIB_USE_INTRINSIC_GUESS | cv2.CALIB_FIX_K3  # k3 is for wide lenses
    points = [view.points.astype(np.float32) for view in views]
    corners = [view.corners.astype(np.float32) for view in views]
    try:
        error, matrix, lens, _, _ = cv2.calibrateCamera(
            points, corners, size, start.matrix, None, flags=flags
        )
    except cv2.error as failure:
        reason = ' '.join(str(failure).split())
        raise CalibrationError(f'no intrinsics explain the corners: {reason}') from None
    values = tuple(float(value) for value in np.ravel(lens)[:5])
    k = [float(value) for value in np.ravel(matrix)]
    found = Intrinsics(*size, k[0], k[4], k[2], k[5], values)
    return found, float(error)


def _posed_errors(view: View, intrinsics: Intrinsics) -> Float64:
    """Return errors of a view under intrinsics that did not see it; its pose is found anew."""
    cv2 = opencv()
    lens = np.asarray(intrinsics.distortion, np.float64)
    _, turned, moved = cv2.solvePnP(view.points, view.corners, intrinsics.matrix, lens)
    pixels, _ = cv2.projectPoints(view.points, turned, moved, intrinsics.matrix, lens)
    errors: Float64 = np.asarray(pixels).reshape(-1, 2) - view.corners
    return errors


def _coverage(views: Sequence[View], intrinsics: Intrinsics) -> float:
    seen = np.zeros(_FIELDS, bool)
    for view in views:
        at = view.corners / (intrinsics.width, intrinsics.height) * _FIELDS
        columns, rows = np.clip(at.astype(int), 0, np.array(_FIELDS) - 1).T
        seen[columns, rows] = True
    return float(seen.mean())


def _rms(errors: Sequence[Float64]) -> float:
    return float(np.sqrt(2.0 * np.mean(np.concatenate(errors) ** 2)))
