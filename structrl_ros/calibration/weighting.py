"""Weighted refinement: corners of one picture share the error of the arm's pose.

Reprojection alone takes the arm for perfect and the corners for noisy. A turn of the arm by 0.05
degrees moves all corners of a picture by half a pixel together, which is no noise of corners: it
must not outvote the other pictures. So the residuals of a view get the covariance

    pixel^2 I + J diag(arm^2) J^T,   J = d corners / d pose of the gripper,

and the size of the arm's error is what makes the residuals most likely. Corners and poses that are
wrong altogether count less, by the weights of a t distribution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from structrl_ros.calibration.hand_eye import HandEye
from structrl_ros.calibration.hand_eye import Setup
from structrl_ros.calibration.refinement import Reprojection
from structrl_ros.calibration.refinement import View
from structrl_ros.calibration.refinement import hand_eye_of
from structrl_ros.calibration.refinement import numbers_of
from structrl_ros.calibration.transforms import apply
from structrl_ros.calibration.transforms import inverse
from structrl_ros.calibration.transforms import matrix_from_vector
from structrl_ros.camera_types import Intrinsics
from structrl_ros.camera_types import project
from structrl_ros.types import Float64

#: Arm's error along and about each axis at scale 1; only their ratio matters.
ARM_MM = 0.1
ARM_DEG = 0.05
#: Scales of it that are tried.
_SCALES = np.geomspace(0.05, 20.0, 17)
#: Degrees of freedom of the t distributions of corners and arm: how much an outlier is doubted.
_FREEDOM = 8.0
#: Smallest noise of a corner that is believed, pixels.
_LEAST_PX = 0.03
_ROUNDS = 10
_STEP = 1e-6
#: Change of the numbers (rad, m) at which the rounds may end.
_STILL = 2e-5


@dataclass(frozen=True, slots=True)
class Noise:
    """Estimated standard deviations: of a corner, and of the arm along and about an axis."""

    corner_px: float
    arm_mm: float
    arm_deg: float


def refine_weighted(
    start: HandEye, views: Sequence[View], intrinsics: Intrinsics, setup: Setup
) -> tuple[HandEye, Noise]:
    """Return camera and board, and the noise that explains the residuals.

    Args:
        start: From a closed form or `refine`.
        views: Poses and corners.
        intrinsics: Of the camera.
        setup: Which side of a view's carrier pose the gripper is on.
    """
    from scipy.optimize import least_squares

    found, scale = start, 1.0
    corners = Reprojection(views, intrinsics)
    corner_px, trust = _corner_noise(views, intrinsics)
    for _ in range(_ROUNDS):
        errors = corners.errors(found)
        shapes = [
            _shape(_slope(found, view, intrinsics, setup), weights, corner_px, errors[part])
            for view, weights, part in zip(views, trust, corners.parts, strict=True)
        ]
        scale = _likeliest(shapes)
        factors = [_whitener(shape, scale) for shape in shapes]

        def residuals(numbers: Float64, factors: list[Float64] = factors) -> Float64:
            moved = corners.errors(hand_eye_of(numbers))
            pairs = zip(factors, corners.parts, strict=True)
            return np.concatenate([factor @ moved[part] for factor, part in pairs])

        before = numbers_of(found)
        found = hand_eye_of(least_squares(residuals, before, method='lm', xtol=1e-7).x)
        if np.abs(numbers_of(found) - before).max() < _STILL:
            break
    return found, Noise(corner_px, scale * ARM_MM, scale * ARM_DEG)


def _corner_noise(views: Sequence[View], intrinsics: Intrinsics) -> tuple[float, list[Float64]]:
    """Return the noise of a corner (px), and how far each is trusted, (2 K,) in (0, 1] a view.

    Measured in each picture by itself, against the board's pose in it, so free of the arm.
    """
    errors = [
        project(intrinsics, apply(view.camera_board, view.points)) - view.corners for view in views
    ]
    # The pose in a picture takes six of its numbers; the median of |e| is 1.1774 deviations.
    grown = [e * np.sqrt(e.size / max(e.size - 6, 1)) for e in errors]
    median = np.median(np.linalg.norm(np.concatenate(grown), axis=1))
    corner_px = max(float(median / 1.1774), _LEAST_PX)
    squares = [(e**2).sum(axis=1) / corner_px**2 for e in errors]
    trust = [np.repeat((_FREEDOM + 2.0) / (_FREEDOM + s), 2) for s in squares]
    return corner_px, trust


def _slope(found: HandEye, view: View, intrinsics: Intrinsics, setup: Setup) -> Float64:
    """Return d corners / d arm, (2 K, 6), in units of the arm's error at scale 1."""
    unit = np.array([np.radians(ARM_DEG)] * 3 + [0.001 * ARM_MM] * 3)
    steps = _STEP * np.concatenate([np.eye(6), -np.eye(6)])
    nudges = np.array([matrix_from_vector(step) for step in steps])
    in_hand = setup is Setup.EYE_IN_HAND
    carriers = view.carrier @ nudges if in_hand else nudges @ view.carrier
    boards = inverse(found.camera) @ inverse(carriers) @ found.board
    pixels = project(intrinsics, apply(boards[:, None], view.points)).reshape(12, -1)
    slope: Float64 = np.nan_to_num((pixels[:6] - pixels[6:]).T / (2 * _STEP) * unit)
    return slope


@dataclass(frozen=True, slots=True)
class _Shape:
    """A view's covariance for every scale of the arm's error, and its errors in its own axes.

    The covariance is D (I + scale^2 U diag(sizes) U^T) D with D = diag(deviation), U (2 K, 6) the
    `axes`. `along` are the errors over their deviations along U, (6,).
    """

    deviation: Float64
    axes: Float64
    sizes: Float64
    along: Float64


def _shape(slope: Float64, trust: Float64, corner_px: float, errors: Float64) -> _Shape:
    deviation = corner_px / np.sqrt(trust)
    axes, singular, _ = np.linalg.svd(slope / deviation[:, None], full_matrices=False)
    return _Shape(deviation, axes, singular**2, axes.T @ (errors / deviation))


def _arm_square(shape: _Shape, scale: float) -> float:
    """Return the square of a view's errors that an arm may cause, in deviations; about 6."""
    return float((shape.along**2 / (1.0 + scale**2 * shape.sizes)).sum())


def _whitener(shape: _Shape, scale: float) -> Float64:
    """Return the matrix that makes a view's residuals independent, of unit size.

    A view whose pose is wrong altogether, by what is left of its errors now, counts less.
    """
    shrink = 1.0 - 1.0 / np.sqrt(1.0 + scale**2 * shape.sizes)
    matrix = np.eye(len(shape.deviation)) - (shape.axes * shrink) @ shape.axes.T
    trust = np.sqrt((_FREEDOM + 6.0) / (_FREEDOM + _arm_square(shape, scale)))
    whitener: Float64 = trust * matrix / shape.deviation
    return whitener


def _likeliest(shapes: Sequence[_Shape]) -> float:
    """Return the scale of the arm's error that makes the errors most likely."""

    def cost(scale: float) -> float:
        return sum(
            0.5 * (_FREEDOM + 6.0) * float(np.log1p(_arm_square(shape, scale) / _FREEDOM))
            + 0.5 * float(np.log1p(scale**2 * shape.sizes).sum())
            for shape in shapes
        )

    return float(min(_SCALES, key=cost))
