"""Pictures with the arm's pose at their stamps, from streams that know nothing of each other."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from structrl_ros.calibration.pose_track import PoseAt
from structrl_ros.calibration.pose_track import PoseTrack
from structrl_ros.types import Float64
from structrl_ros.types import UInt8

#: Pictures that wait for a pose behind them; older ones are dropped.
_WAITING = 4


@dataclass(frozen=True, slots=True)
class Pair:
    """A picture (RGB), its stamp, and the arm's pose at it."""

    image: UInt8
    stamp_ns: int
    at: PoseAt


class Pairing:
    """Pairs pictures and poses by their stamps; a picture without poses around it is dropped."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._track = PoseTrack()
        self._waiting: deque[tuple[int, UInt8]] = deque(maxlen=_WAITING)
        self.unpaired = 0

    def add_pose(self, stamp_ns: int, pose: Float64) -> None:
        """Add x, y, z and quaternion xyzw of the gripper in the base frame, (7,)."""
        self._track.add(stamp_ns, pose)

    def add_image(self, stamp_ns: int, image: UInt8) -> None:
        """Add a picture."""
        if len(self._waiting) == _WAITING:
            self.unpaired += 1
        self._waiting.append((stamp_ns, image))

    def ready(self) -> list[Pair]:
        """Return the pictures whose pose is known by now, oldest first."""
        found: list[Pair] = []
        newest_ns = self._track.newest_ns
        while self._waiting and newest_ns is not None and self._waiting[0][0] <= newest_ns:
            stamp_ns, image = self._waiting.popleft()
            at = self._track.at(stamp_ns)
            if at is None:
                self.unpaired += 1
            else:
                found.append(Pair(image, stamp_ns, at))
        return found
