"""What a hand-eye result is worth: on views it has not seen, and when views are left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from structrl_ros.calibration.hand_eye import MIN_POSES
from structrl_ros.calibration.hand_eye import HandEye
from structrl_ros.calibration.refinement import Reprojection
from structrl_ros.calibration.refinement import View
from structrl_ros.calibration.transforms import apply
from structrl_ros.calibration.transforms import difference
from structrl_ros.calibration.transforms import inverse
from structrl_ros.calibration.transforms import rotation_vectors
from structrl_ros.camera_types import Intrinsics
from structrl_ros.types import Float64

#: Parts that the views are dealt into; each is predicted from the others.
FOLDS = 5


class Fit(Protocol):
    """Makes camera and board of views, from nothing or from a result that is near."""

    def __call__(self, views: Sequence[View], start: HandEye | None = None, /) -> HandEye:
        """Return the result."""


@dataclass(frozen=True, slots=True)
class Residuals:
    """How far a view's board is from where camera and board say, each (N,).

    `px` is the root mean square over the corners, `mm` the distance at the board's centre, `deg`
    the angle; the last two against the board's pose in that picture alone.
    """

    px: Float64
    mm: Float64
    deg: Float64


@dataclass(frozen=True, slots=True)
class Quality:
    """Residuals of views that were held out, and the spread when one view is left out.

    `spread_mm` and `spread_deg` are the standard deviations, (3,), of the camera's place and turn
    over all results with one view left out. `error_mm` and `error_deg` are the jackknife's
    standard errors, over all axes: sqrt(N - 1) times the length of the spread.
    """

    heldout: Residuals
    fitted: Residuals
    spread_mm: Float64
    spread_deg: Float64
    error_mm: float
    error_deg: float


def residuals_of(
    found: HandEye, views: Sequence[View], intrinsics: Intrinsics, centre: Float64
) -> Residuals:
    """Return the residuals of views under camera and board.

    Args:
        found: Camera and board.
        views: At least one.
        intrinsics: Of the camera.
        centre: Centre of the board in its frame, metres, (3,).
    """
    corners = Reprojection(views, intrinsics)
    errors = corners.errors(found)
    pixels = [np.sqrt(2.0 * np.mean(errors[part] ** 2)) for part in corners.parts]
    places, turns = [], []
    for view in views:
        expected = inverse(found.camera) @ inverse(view.carrier) @ found.board
        moved = apply(expected, centre) - apply(view.camera_board, centre)
        places.append(1000.0 * float(np.linalg.norm(moved)))
        turns.append(difference(expected, view.camera_board)[1])
    return Residuals(np.array(pixels), np.array(places), np.array(turns))


def judge(
    fit: Fit, found: HandEye, views: Sequence[View], intrinsics: Intrinsics, centre: Float64
) -> Quality:
    """Return the quality of a result; runs the fit some N + FOLDS times.

    Args:
        fit: What made the result.
        found: The result of all views.
        views: At least MIN_POSES + 1.
        intrinsics: Of the camera.
        centre: Centre of the board in its frame, metres, (3,).
    """
    count = len(views)
    folds = FOLDS if count - -(-count // FOLDS) >= MIN_POSES else count
    pieces: list[tuple[list[int], Residuals]] = []
    for fold in range(min(folds, count)):
        held = list(range(fold, count, folds))
        rest = [view for at, view in enumerate(views) if at not in held]
        unseen = [views[at] for at in held]
        pieces.append((held, residuals_of(fit(rest), unseen, intrinsics, centre)))
    order = np.argsort(np.concatenate([held for held, _ in pieces]))
    heldout = Residuals(
        *(np.concatenate([getattr(r, f) for _, r in pieces])[order] for f in ('px', 'mm', 'deg'))
    )
    spread_mm, spread_deg = _leave_one_out(fit, found, views)
    grow = np.sqrt(max(count - 1, 1))
    return Quality(
        heldout=heldout,
        fitted=residuals_of(found, views, intrinsics, centre),
        spread_mm=spread_mm,
        spread_deg=spread_deg,
        error_mm=float(grow * np.linalg.norm(spread_mm)),
        error_deg=float(grow * np.linalg.norm(spread_deg)),
    )


def _leave_one_out(fit: Fit, found: HandEye, views: Sequence[View]) -> tuple[Float64, Float64]:
    rests = ([*views[:at], *views[at + 1 :]] for at in range(len(views)))
    cameras = np.array([fit(rest, found).camera for rest in rests])
    turns = rotation_vectors(inverse(found.camera) @ cameras)
    places = 1000.0 * (cameras[:, :3, 3] - found.camera[:3, 3])
    return places.std(axis=0), np.degrees(turns.std(axis=0))
