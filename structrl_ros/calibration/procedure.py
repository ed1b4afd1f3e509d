"""The whole calibration: from views to a transform with its quality, or a clear refusal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from structrl_ros.calibration.hand_eye import MIN_POSES
from structrl_ros.calibration.hand_eye import HandEye
from structrl_ros.calibration.hand_eye import Setup
from structrl_ros.calibration.hand_eye import solve_hand_eye
from structrl_ros.calibration.observability import MotionSpread
from structrl_ros.calibration.observability import motion_spread
from structrl_ros.calibration.observability import refuse_unobservable
from structrl_ros.calibration.quality import Quality
from structrl_ros.calibration.quality import judge
from structrl_ros.calibration.refinement import View
from structrl_ros.calibration.refinement import boards_of
from structrl_ros.calibration.refinement import carriers_of
from structrl_ros.calibration.refinement import refine
from structrl_ros.calibration.transforms import difference
from structrl_ros.calibration.weighting import Noise
from structrl_ros.calibration.weighting import refine_weighted
from structrl_ros.camera_types import Intrinsics
from structrl_ros.errors import CalibrationError
from structrl_ros.types import Float64

#: What follows the closed form: reprojection weighted by the arm's error, plain, or nothing.
REFINEMENTS = ('weighted', 'corners', 'none')
#: Largest jackknife standard error of a result that may be written.
MAX_ERROR_MM = 20.0
MAX_ERROR_DEG = 3.0


@dataclass(frozen=True, slots=True)
class Calibration:
    """A result: the camera in its carrier's frame and all that is known of its worth.

    `noise` is estimated by the weighted refinement alone. `moved_mm` and `moved_deg` say how far
    the refinement went from the closed form.
    """

    setup: Setup
    method: str
    refinement: str
    found: HandEye
    spread: MotionSpread
    quality: Quality
    noise: Noise | None
    moved_mm: float
    moved_deg: float


def fit(
    views: Sequence[View],
    intrinsics: Intrinsics,
    setup: Setup,
    *,
    method: str = 'park',
    refinement: str = 'weighted',
    start: HandEye | None = None,
) -> tuple[HandEye, Noise | None]:
    """Return camera and board of some views, and the noise where it was estimated.

    Nothing is said of what that is worth: `calibrate` does.

    Args:
        views: At least MIN_POSES.
        intrinsics: Of the camera.
        setup: What carries the camera.
        method: Closed form, one of `hand_eye.METHODS`.
        refinement: One of REFINEMENTS.
        start: A result that is near, to begin the refinement with.

    Raises:
        CalibrationError: If a name is unknown or nothing is found.
    """
    if refinement not in REFINEMENTS:
        raise CalibrationError(
            f'unknown refinement {refinement!r}; known: {", ".join(REFINEMENTS)}'
        )
    if start is None or refinement == 'none':
        first = solve_hand_eye(method, carriers_of(views), boards_of(views))
    else:
        first = start
    if refinement == 'none':
        return first, None
    if refinement == 'corners' or start is None:
        first = refine(first, views, intrinsics)
    if refinement == 'corners':
        return first, None
    return refine_weighted(first, views, intrinsics, setup)


def calibrate(
    views: Sequence[View],
    intrinsics: Intrinsics,
    setup: Setup,
    centre: Float64,
    *,
    method: str = 'park',
    refinement: str = 'weighted',
) -> Calibration:
    """Return where the camera is on its carrier, and what that is worth.

    Args:
        views: Poses of the carrier (`hand_eye.carrier_poses`) with the corners seen from each.
        intrinsics: Of the camera.
        setup: What carries the camera.
        centre: Centre of the board in its frame, metres, (3,).
        method: Closed form, one of `hand_eye.METHODS`.
        refinement: One of REFINEMENTS.

    Raises:
        CalibrationError: If there are too few views, their motion does not determine the
            transform, or the result depends on single views.
    """
    if len(views) < MIN_POSES + 1:
        raise CalibrationError(
            f'{len(views)} views can be used; allowed: at least {MIN_POSES + 1}, better 20'
        )
    spread = motion_spread(carriers_of(views))
    refuse_unobservable(spread, setup)

    def again(chosen: Sequence[View], start: HandEye | None = None) -> HandEye:
        choice = {'method': method, 'refinement': refinement}
        return fit(chosen, intrinsics, setup, start=start, **choice)[0]

    found, noise = fit(views, intrinsics, setup, method=method, refinement=refinement)
    quality = judge(again, found, views, intrinsics, centre)
    if not (quality.error_mm <= MAX_ERROR_MM and quality.error_deg <= MAX_ERROR_DEG):
        raise CalibrationError(
            f'the result depends on single views: standard error {quality.error_mm:.1f} mm, '
            f'{quality.error_deg:.2f} degrees; allowed: {MAX_ERROR_MM:g} mm, '
            f'{MAX_ERROR_DEG:g} degrees. Take more poses, turned further'
        )
    closed = solve_hand_eye(method, carriers_of(views), boards_of(views))
    moved_mm, moved_deg = difference(closed.camera, found.camera)
    return Calibration(
        setup, method, refinement, found, spread, quality, noise, moved_mm, moved_deg
    )
