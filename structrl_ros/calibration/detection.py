"""A board in a picture: its corners, how sharp they are, and where the board is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from structrl_ros.calibration.board import Board
from structrl_ros.calibration.board import opencv
from structrl_ros.calibration.transforms import matrix_from_vector
from structrl_ros.camera_types import Intrinsics
from structrl_ros.errors import CalibrationError
from structrl_ros.types import Float64
from structrl_ros.types import UInt8

#: Fewest corners that say where a board is.
MIN_CORNERS = 6
#: Widest edge between black and white that is sharp enough, pixels.
MAX_EDGE_PX = 4.5
#: Furthest that the corners may move between two pictures of a board that stands still, pixels.
MAX_MOTION_PX = 0.7


@dataclass(frozen=True, slots=True)
class Detection:
    """Corners of a board: numbers (N,), pixels (N, 2), and places on the board (N, 3) in m."""

    ids: np.ndarray[Any, Any]
    corners: Float64
    points: Float64
    edge_px: float

    def __len__(self) -> int:
        """Return the number of corners."""
        return len(self.ids)


class BoardDetector:
    """Finds one board in pictures."""

    def __init__(self, board: Board) -> None:
        """Prepare OpenCV's detector.

        Raises:
            CalibrationError: If OpenCV is absent or the board impossible.
        """
        self._cv2 = opencv()
        self._board = board.charuco()
        self._detector = self._cv2.aruco.CharucoDetector(self._board)

    def detect(self, image: UInt8) -> Detection:
        """Return the board's corners in an RGB or grey picture.

        Raises:
            CalibrationError: If less than MIN_CORNERS corners are seen.
        """
        grey = image if image.ndim == 2 else self._cv2.cvtColor(image, self._cv2.COLOR_RGB2GRAY)
        found, ids, _, _ = self._detector.detectBoard(grey)
        count = 0 if ids is None else len(ids)
        if count < MIN_CORNERS:
            raise CalibrationError(
                f'{count} corners of the board are seen; allowed: at least {MIN_CORNERS}'
            )
        # OpenCV 5 gives other shapes than 4: a difference would broadcast in silence.
        corners = np.asarray(found, np.float64).reshape(-1, 2)
        numbers = np.asarray(ids).reshape(-1).astype(int)
        places = np.asarray(self._board.getChessboardCorners(), np.float64).reshape(-1, 3)
        points = places[numbers]
        return Detection(numbers, corners, points, edge_width(grey, corners, points))


def edge_width(grey: UInt8, corners: Float64, points: Float64) -> float:
    """Return the width in pixels of the edges between black and white on a board.

    Contrast over the steepest slope across the rows and across the columns of the board, the
    wider of the two: motion blurs one of them alone. A Gaussian blur of s pixels gives 2.5 s.

    Args:
        grey: The picture (H, W).
        corners: Pixels (N, 2).
        points: The same corners on the board (N, 3).
    """
    low = np.maximum(np.floor(corners.min(axis=0)).astype(int) - 2, 0)
    high = np.ceil(corners.max(axis=0)).astype(int) + 3
    part = grey[low[1] : high[1], low[0] : high[0]].astype(np.float32)
    if min(part.shape) < 5:
        return 0.0
    # Central differences, smoothed along the edge: noise of the sensor is no edge.
    rows = (part[:-2] + part[1:-1] + part[2:]) / 3.0
    columns = (part[:, :-2] + part[:, 1:-1] + part[:, 2:]) / 3.0
    across, down = (rows[:, 2:] - rows[:, :-2]) / 2.0, (columns[2:] - columns[:-2]) / 2.0
    # Directions of the board's rows and columns in the picture.
    flat = np.column_stack([points[:, :2], np.ones(len(points))])
    axes = np.linalg.lstsq(flat, corners, rcond=None)[0][:2]
    dark, bright = np.percentile(part, (5, 95))
    slopes = []
    for x, y in axes / np.maximum(np.linalg.norm(axes, axis=1, keepdims=True), 1e-9):
        slopes.append(np.percentile(np.abs(across * -y + down * x), 99))
    return float((bright - dark) / max(min(slopes), 1e-6))


def motion_px(before: Detection, after: Detection) -> float:
    """Return how far the corners that both see have moved, in pixels (mean); inf without any."""
    shared, first, second = np.intersect1d(before.ids, after.ids, return_indices=True)
    if not shared.size:
        return float('inf')
    moved = before.corners[first] - after.corners[second]
    return float(np.linalg.norm(moved, axis=1).mean())


def board_pose(detection: Detection, intrinsics: Intrinsics) -> Float64:
    """Return the board's frame in the camera's optical frame, shape (4, 4).

    Raises:
        CalibrationError: If no pose explains the corners.
    """
    cv2 = opencv()
    lens = np.asarray(intrinsics.distortion, np.float64)
    arguments = (detection.points, detection.corners, intrinsics.matrix, lens)
    try:
        # A plane has two poses that look alike; the first of these has the smaller error.
        found = cv2.solvePnPGeneric(*arguments, flags=cv2.SOLVEPNP_IPPE)
        if not found[0]:
            raise CalibrationError('no pose explains the corners of the board')
        turned, moved = cv2.solvePnPRefineLM(*arguments, found[1][0], found[2][0])
    except cv2.error as error:
        reason = ' '.join(str(error).split())
        raise CalibrationError(f'no pose explains the corners of the board: {reason}') from None
    return matrix_from_vector(np.concatenate([np.ravel(turned), np.ravel(moved)]))
