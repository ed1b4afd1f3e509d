"""A picture that shows whether a calibration is right: where it says that things are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from structrl_ros.calibration.board import Board
from structrl_ros.calibration.board import opencv
from structrl_ros.calibration.detection import BoardDetector
from structrl_ros.calibration.document import CalibrationFile
from structrl_ros.calibration.hand_eye import carrier_poses
from structrl_ros.calibration.transforms import apply
from structrl_ros.calibration.transforms import inverse
from structrl_ros.calibration.transforms import matrix_from_pose
from structrl_ros.camera_types import Intrinsics
from structrl_ros.camera_types import project
from structrl_ros.errors import CalibrationError
from structrl_ros.types import Float64
from structrl_ros.types import UInt8

#: Length of the drawn axes of a frame, metres.
AXIS_M = 0.05
_COLOURS = ((230, 40, 40), (40, 190, 40), (60, 90, 250))


@dataclass(frozen=True, slots=True)
class Verification:
    """The picture with what was drawn, and what can be said of it.

    `tool_px` is where the tool should be, (2,), or None where it is behind the camera.
    `corner_px` is the mean distance of the board's corners from where they should be, None where
    no board is seen.
    """

    picture: UInt8
    tool_px: Float64 | None
    tool_inside: bool
    corner_px: float | None


def verify(
    calibration: CalibrationFile,
    intrinsics: Intrinsics,
    board: Board,
    image: UInt8,
    pose: Float64,
    tool_xyz: Float64,
) -> Verification:
    """Draw the tool's frame (x red, y green, z blue) and the board's corners into a picture.

    Args:
        calibration: What is verified.
        intrinsics: Of the camera.
        board: That may be in the picture, where it was during the calibration.
        image: RGB (H, W, 3).
        pose: Of the gripper in the base frame at the stamp of the picture, (7,).
        tool_xyz: Tip of the tool in the gripper's frame, metres, (3,).
    """
    base_gripper = matrix_from_pose(pose)
    carrier = carrier_poses(calibration.setup, base_gripper[None])[0]
    camera_carrier = inverse(matrix_from_pose(calibration.camera.pose))
    # The gripper is the carrier itself, or stands before the base that carries the camera.
    gripper = np.eye(4) if calibration.setup == 'eye_in_hand' else inverse(carrier)
    tool = np.eye(4)
    tool[:3, 3] = tool_xyz
    drawn = image.copy()
    pixels = _draw_frame(drawn, intrinsics, camera_carrier @ gripper @ tool)
    expected = camera_carrier @ inverse(carrier) @ matrix_from_pose(calibration.board.pose)
    corner_px = _draw_board(drawn, image, intrinsics, board, expected)
    is_seen = bool(np.isfinite(pixels).all())
    inside = is_seen and bool(
        ((pixels >= 0) & (pixels < (intrinsics.width, intrinsics.height))).all()
    )
    return Verification(drawn, pixels if is_seen else None, inside, corner_px)


def _draw_frame(image: UInt8, intrinsics: Intrinsics, camera_frame: Float64) -> Float64:
    """Draw the axes of a frame and return the pixel of its origin (NaN if it is behind)."""
    cv2 = opencv()
    ends = np.vstack([np.zeros(3), AXIS_M * np.eye(3)])
    pixels = project(intrinsics, apply(camera_frame, ends))
    if np.isfinite(pixels).all():
        clipped = [tuple(int(v) for v in np.clip(p, -10_000, 10_000)) for p in pixels]
        for end, colour in zip(clipped[1:], _COLOURS, strict=True):
            cv2.line(image, clipped[0], end, colour, 2, cv2.LINE_AA)
        cv2.circle(image, clipped[0], 6, (255, 220, 0), 2, cv2.LINE_AA)
    origin: Float64 = pixels[0]
    return origin


def _draw_board(
    drawn: UInt8, image: UInt8, intrinsics: Intrinsics, board: Board, camera_board: Float64
) -> float | None:
    """Circle the corners where they should be, dot them where they are; mean distance in px."""
    cv2 = opencv()
    try:
        seen = BoardDetector(board).detect(image)
    except CalibrationError:
        return None
    expected = project(intrinsics, apply(camera_board, seen.points))
    for there, here in zip(expected, seen.corners, strict=True):
        if np.isfinite(there).all():
            centre = tuple(int(v) for v in np.clip(np.round(there), -10_000, 10_000))
            cv2.circle(drawn, centre, 5, (255, 0, 200), 1, cv2.LINE_AA)
        dot = tuple(int(v) for v in np.round(here))
        cv2.circle(drawn, dot, 1, (0, 230, 230), -1, cv2.LINE_AA)
    return float(np.nanmean(np.linalg.norm(expected - seen.corners, axis=1)))
