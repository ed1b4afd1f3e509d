"""The arm's pose at the time of a picture, from poses that come at times of their own."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation
from scipy.spatial.transform import Slerp

from structrl_ros.calibration.transforms import difference
from structrl_ros.calibration.transforms import matrix_from_pose
from structrl_ros.types import Float64

#: Longest gap between two poses that is bridged, nanoseconds.
MAX_GAP_NS = 120_000_000
#: Time before a picture in which the arm should not have moved, nanoseconds.
STILL_NS = 300_000_000


@dataclass(frozen=True, slots=True)
class PoseAt:
    """Pose (7,) at a stamp, and how far the arm moved since STILL_NS before: mm, degrees."""

    pose: Float64
    moved_mm: float
    moved_deg: float


class PoseTrack:
    """The poses of the last seconds; stamps that go back begin it anew."""

    def __init__(self, length: int = 4000) -> None:
        """Keep `length` poses at most."""
        self._stamps: deque[int] = deque(maxlen=length)
        self._poses: deque[Float64] = deque(maxlen=length)

    def add(self, stamp_ns: int, pose: Float64) -> None:
        """Add x, y, z and quaternion xyzw, (7,)."""
        if self._stamps and stamp_ns <= self._stamps[-1]:
            if stamp_ns == self._stamps[-1]:
                return
            self._stamps.clear()
            self._poses.clear()
        self._stamps.append(stamp_ns)
        self._poses.append(np.asarray(pose, np.float64))

    @property
    def newest_ns(self) -> int | None:
        """Stamp of the newest pose."""
        return self._stamps[-1] if self._stamps else None

    def at(self, stamp_ns: int) -> PoseAt | None:
        """Return the pose at a stamp, interpolated; None if there is none before or after it."""
        pose = self._interpolated(stamp_ns)
        if pose is None:
            return None
        here = matrix_from_pose(pose)
        moved_mm = moved_deg = 0.0
        for then, other in zip(self._stamps, self._poses, strict=True):
            if stamp_ns - STILL_NS <= then <= stamp_ns:
                mm, deg = difference(here, matrix_from_pose(other))
                moved_mm, moved_deg = max(moved_mm, mm), max(moved_deg, deg)
        return PoseAt(pose, moved_mm, moved_deg)

    def _interpolated(self, stamp_ns: int) -> Float64 | None:
        after = bisect_left(self._stamps, stamp_ns)
        if after == len(self._stamps):
            return None
        if self._stamps[after] == stamp_ns:
            return self._poses[after]
        if after == 0 or self._stamps[after] - self._stamps[after - 1] > MAX_GAP_NS:
            return None
        first, last = self._stamps[after - 1], self._stamps[after]
        part = (stamp_ns - first) / (last - first)
        a, b = self._poses[after - 1], self._poses[after]
        turn = Slerp([0.0, 1.0], Rotation.from_quat([a[3:], b[3:]]))(part)
        return np.concatenate([(1.0 - part) * a[:3] + part * b[:3], turn.as_quat()])
