"""An arm, a camera and a board that exist only in numbers, to rehearse a calibration.

The truth is known, so a rehearsal shows what the tools are worth: in the tests, in
benchmarks/calibration_accuracy.py, and as `structrl calibrate rehearse`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from structrl_ros.calibration.board import Board
from structrl_ros.calibration.board import opencv
from structrl_ros.calibration.board_print import board_picture
from structrl_ros.calibration.detection import Detection
from structrl_ros.calibration.detection import board_pose
from structrl_ros.calibration.hand_eye import Setup
from structrl_ros.calibration.hand_eye import carrier_poses
from structrl_ros.calibration.refinement import View
from structrl_ros.calibration.transforms import apply
from structrl_ros.calibration.transforms import inverse
from structrl_ros.calibration.transforms import matrix_from_vector
from structrl_ros.camera_types import Intrinsics
from structrl_ros.camera_types import project
from structrl_ros.types import Float32
from structrl_ros.types import Float64
from structrl_ros.types import UInt8

#: A camera like many: 640 x 480, 56 degrees wide.
CAMERA = Intrinsics(640, 480, 605.0, 606.0, 321.3, 243.8)
#: Rotation vector (rad) and translation (m) of the truth: the camera on its carrier.
TRUE_CAMERA = {
    Setup.EYE_IN_HAND: (0.06, -0.05, -1.52, 0.052, -0.031, 0.044),
    Setup.EYE_TO_HAND: (-2.05, 0.06, 0.08, 0.42, 0.55, 0.63),
}
#: ... and the board on what does not carry the camera.
TRUE_BOARD = {
    Setup.EYE_IN_HAND: (3.1, 0.03, 0.02, 0.38, 0.12, 0.015),
    Setup.EYE_TO_HAND: (0.02, -0.04, 1.55, -0.11, 0.08, 0.06),
}
_PIXELS_PER_MM = 4.0
_MARGIN_MM = 20.0


@dataclass(frozen=True, slots=True)
class RehearsedView:
    """One pose of the arm: gripper in base as measured, board in camera in truth, both (4, 4)."""

    base_gripper: Float64
    camera_board: Float64


class Rehearsal:
    """Draws poses and pictures; the same seed gives the same."""

    def __init__(
        self,
        setup: Setup,
        *,
        seed: int,
        board: Board | None = None,
        intrinsics: Intrinsics = CAMERA,
        arm_noise_mm: float = 0.0,
        arm_noise_deg: float = 0.0,
    ) -> None:
        """Place camera and board.

        Args:
            setup: What carries the camera.
            seed: Of all noise and poses.
            board: The default one.
            intrinsics: Of the camera, with distortion if wanted.
            arm_noise_mm: Standard deviation of the arm's own error, along each axis.
            arm_noise_deg: The same about each axis.
        """
        self.setup = setup
        self.board = board or Board()
        self.intrinsics = intrinsics
        self.true_camera = matrix_from_vector(np.array(TRUE_CAMERA[setup]))
        self.true_board = matrix_from_vector(np.array(TRUE_BOARD[setup]))
        self._noise = np.array([arm_noise_deg * np.pi / 180] * 3 + [0.001 * arm_noise_mm] * 3)
        self._random = np.random.default_rng(seed)
        self._flat: UInt8 | None = None
        self._rays: Float32 | None = None

    def views(
        self, count: int, tilt_rad: tuple[float, float, float] = (0.5, 0.5, 0.8)
    ) -> list[RehearsedView]:
        """Return poses of the arm from which the whole board is seen, 0.35 to 0.6 m away.

        Args:
            count: How many.
            tilt_rad: Largest turn of the board against the picture about x, y and z.
        """
        found: list[RehearsedView] = []
        while len(found) < count:
            turn = self._random.uniform(-1, 1, 3) * tilt_rad
            away = np.append(self._random.uniform(-0.06, 0.06, 2), self._random.uniform(0.35, 0.6))
            camera_board = matrix_from_vector(np.concatenate([turn, np.zeros(3)]))
            camera_board[:3, 3] = away - camera_board[:3, :3] @ self.board.centre
            if self._is_whole(camera_board):
                found.append(RehearsedView(self._measured(camera_board), camera_board))
        return found

    def corners(self, view: RehearsedView, noise_px: float = 0.0) -> tuple[Float64, Float64]:
        """Return places on the board (N, 3) and their pixels (N, 2) with Gaussian noise."""
        side = 0.001 * self.board.square_mm
        columns, rows = np.meshgrid(
            np.arange(1, self.board.columns) * side, np.arange(1, self.board.rows) * side
        )
        points = np.stack([columns, rows, np.zeros_like(rows)], axis=-1).reshape(-1, 3)
        pixels = project(self.intrinsics, apply(view.camera_board, points))
        return points, pixels + self._random.normal(0.0, noise_px, pixels.shape)

    def seen_views(self, poses: list[RehearsedView], noise_px: float) -> list[View]:
        """Return views as detection would give them, with Gaussian noise on the corners."""
        found = []
        for pose in poses:
            points, corners = self.corners(pose, noise_px)
            seen = Detection(np.arange(len(points)), corners, points, 0.0)
            carrier = carrier_poses(self.setup, pose.base_gripper[None])[0]
            found.append(View(carrier, points, corners, board_pose(seen, self.intrinsics)))
        return found

    def picture(
        self, view: RehearsedView, *, blur_px: float = 0.7, noise_levels: float = 4.0
    ) -> UInt8:
        """Return the RGB picture of a view, drawn at twice the size and then averaged.

        Args:
            view: Where the board is.
            blur_px: Of the lens, standard deviation.
            noise_levels: Of the sensor, standard deviation.
        """
        cv2 = opencv()
        if self._flat is None:
            self._flat = board_picture(self.board, _PIXELS_PER_MM, _MARGIN_MM)
        rays = self._sight()
        # The plane z = 0 of the board, seen from the camera: a homography.
        plane = view.camera_board[:3, [0, 1, 3]]
        margin = _MARGIN_MM * _PIXELS_PER_MM - 0.5
        scale = 1000.0 * _PIXELS_PER_MM
        pixels = np.array([[scale, 0.0, margin], [0.0, scale, margin], [0.0, 0.0, 1.0]])
        x, y, w = (pixels @ np.linalg.inv(plane)).astype(np.float32) @ rays
        shape = (2 * self.intrinsics.height, 2 * self.intrinsics.width)
        columns, rows = (x / w).reshape(shape), (y / w).reshape(shape)
        drawn = cv2.remap(self._flat, columns, rows, cv2.INTER_LINEAR, borderValue=(120,))
        size = (self.intrinsics.width, self.intrinsics.height)
        small = cv2.resize(drawn, size, interpolation=cv2.INTER_AREA)
        if blur_px > 0:
            small = cv2.GaussianBlur(small, (0, 0), blur_px)
        noise = self._random.standard_normal(small.shape, np.float32) * np.float32(noise_levels)
        levels = 20.0 + np.float32(0.8) * small + noise
        return np.repeat(np.clip(levels, 0, 255).astype(np.uint8)[..., None], 3, axis=2)

    def _sight(self) -> Float32:
        """Return the ray of every half pixel, (3, 4 H W), the lens's distortion undone."""
        if self._rays is None:
            i = self.intrinsics
            columns, rows = np.meshgrid(
                np.arange(2 * i.width) / 2 - 0.25, np.arange(2 * i.height) / 2 - 0.25
            )
            pixels = np.stack([columns, rows], axis=-1).reshape(-1, 1, 2)
            lens = np.asarray(i.distortion, np.float64)
            flat = opencv().undistortPoints(pixels, i.matrix, lens).reshape(-1, 2)
            self._rays = np.vstack([flat.T, np.ones(len(flat))]).astype(np.float32)
        return self._rays

    def _is_whole(self, camera_board: Float64) -> bool:
        width, height = (0.001 * side for side in self.board.size_mm)
        outline = np.array([[0, 0, 0], [width, 0, 0], [0, height, 0], [width, height, 0]])
        pixels = project(self.intrinsics, apply(camera_board, outline))
        size = np.array([self.intrinsics.width, self.intrinsics.height])
        return bool(((pixels > 8) & (pixels < size - 8)).all())

    def _measured(self, camera_board: Float64) -> Float64:
        """Return gripper in base as the arm tells it: carrier . camera . board = anchor board."""
        carrier = self.true_board @ inverse(camera_board) @ inverse(self.true_camera)
        gripper = carrier if self.setup is Setup.EYE_IN_HAND else inverse(carrier)
        return gripper @ matrix_from_vector(self._random.normal(0.0, 1.0, 6) * self._noise)
