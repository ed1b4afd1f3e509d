"""Which pictures become samples: sharp, still, with the board in them, and of a new view."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from structrl_ros.calibration.board import Board
from structrl_ros.calibration.detection import MAX_EDGE_PX
from structrl_ros.calibration.detection import MAX_MOTION_PX
from structrl_ros.calibration.detection import BoardDetector
from structrl_ros.calibration.detection import Detection
from structrl_ros.calibration.detection import motion_px
from structrl_ros.calibration.hand_eye import Setup
from structrl_ros.calibration.hand_eye import carrier_poses
from structrl_ros.calibration.observability import MotionSpread
from structrl_ros.calibration.observability import advice
from structrl_ros.calibration.observability import motion_spread
from structrl_ros.calibration.pose_track import PoseAt
from structrl_ros.calibration.transforms import difference
from structrl_ros.calibration.transforms import matrix_from_pose
from structrl_ros.errors import CalibrationError
from structrl_ros.types import Float64
from structrl_ros.types import UInt8

#: How far the arm may have moved just before a picture.
MAX_MOVED_MM = 0.5
MAX_MOVED_DEG = 0.1
#: A view is new if it is this far from every other, in place or in turn.
NEW_MM = 25.0
NEW_DEG = 6.0


@dataclass(frozen=True, slots=True)
class Offer:
    """What became of a picture; `reason` is '' for one that was accepted."""

    accepted: bool
    reason: str
    corners: int


class Gate:
    """Judges pictures one after the other and remembers the views it accepted."""

    def __init__(self, board: Board, setup: Setup) -> None:
        """Prepare.

        Raises:
            CalibrationError: If OpenCV is absent or the board impossible.
        """
        self._detector = BoardDetector(board)
        self._setup = setup
        self._before: Detection | None = None
        self._poses: list[Float64] = []

    @property
    def spread(self) -> MotionSpread:
        """Spread of the views that were accepted."""
        poses = np.array(self._poses).reshape(-1, 4, 4)
        return motion_spread(carrier_poses(self._setup, poses))

    @property
    def advice(self) -> list[str]:
        """What more views should bring."""
        return advice(self.spread, self._setup)

    def offer(self, image: UInt8, at: PoseAt, *, sequence: bool = True) -> Offer:
        """Judge a picture with the arm's pose at its stamp.

        Args:
            image: RGB (H, W, 3).
            at: Pose, and how far the arm moved just before.
            sequence: Pictures follow each other in time, so that corners that move between two
                of them tell of motion; the first of a sequence is never accepted.
        """
        before, self._before = self._before, None
        try:
            seen = self._detector.detect(image)
        except CalibrationError as error:
            return Offer(False, str(error), 0)
        self._before = seen
        reason = self._refusal(seen, before if sequence else seen, at)
        if not reason:
            self._poses.append(matrix_from_pose(at.pose))
        return Offer(not reason, reason, len(seen))

    def _refusal(self, seen: Detection, before: Detection | None, at: PoseAt) -> str:
        if at.moved_mm > MAX_MOVED_MM or at.moved_deg > MAX_MOVED_DEG:
            return (
                f'the arm moves: {at.moved_mm:.1f} mm, {at.moved_deg:.2f} degrees; allowed: '
                f'{MAX_MOVED_MM:g} mm, {MAX_MOVED_DEG:g} degrees in 0.3 s'
            )
        if seen.edge_px > MAX_EDGE_PX:
            return f'blurred: edges are {seen.edge_px:.1f} pixels wide; allowed: {MAX_EDGE_PX:g}'
        if before is None:
            return 'waiting for a second picture, to see that nothing moves'
        moved = motion_px(before, seen)
        if moved > MAX_MOTION_PX:
            return f'the board moves by {moved:.1f} pixels a picture; allowed: {MAX_MOTION_PX:g}'
        here = matrix_from_pose(at.pose)
        for pose in self._poses:
            mm, deg = difference(pose, here)
            if mm < NEW_MM and deg < NEW_DEG:
                return f'this view is there already; {self._wish()}'
        return ''

    def _wish(self) -> str:
        words = self.advice
        return words[0] if words else 'enough views'
