"""Where `ee` shall be next, and the joint positions for it: the pure part of a real body.

Targets follow each other from the commanded pose, not the measured one, so an arm that lags is not
pulled back by it. A leash keeps the target near the measured pose all the same: an arm that is
held fast must not jump when it comes free.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from structrl_ros.control.action_limiter import ROTATION_SCALE_RAD
from structrl_ros.control.action_limiter import TRANSLATION_SCALE_M
from structrl_ros.control.inverse_kinematics import InverseKinematics
from structrl_ros.control.joint_limits import JointLimits
from structrl_ros.control.kinematics import Kinematics
from structrl_ros.control.limits import Limits
from structrl_ros.control.rotations import difference
from structrl_ros.control.rotations import moved
from structrl_ros.control.rotations import transform_from_pose
from structrl_ros.errors import LimitError
from structrl_ros.types import Float32
from structrl_ros.types import Float64

#: Action spaces and their dimensions: a displacement of `ee`, or its pose, then the gripper.
ACTION_DIMENSIONS = {'ee_delta_pose': 7, 'ee_pose': 8}


@dataclass(frozen=True, slots=True)
class Leash:
    """How far the target may be ahead of the measured pose: metres, radians."""

    translation: float = 0.10
    rotation: float = 0.5


class ArmTarget:
    """The commanded pose of `ee` and the waypoint of the joints that belongs to it."""

    def __init__(
        self,
        kinematics: Kinematics,
        joints: JointLimits,
        workspace: Limits,
        *,
        period_s: float,
        leash: Leash | None = None,
        rest_share: float = 0.02,
    ) -> None:
        """Start without a pose; see `seed`.

        Args:
            kinematics: The arm with its tool.
            joints: Joint limits with their margin.
            workspace: Its box is kept by the target.
            period_s: Control period, seconds.
            leash: How far the target may be ahead.
            rest_share: Share of the way to the ready posture a period, without moving `ee`.
        """
        self._kinematics = kinematics
        self._joints = joints
        self._low, self._high = np.array(workspace.box_low), np.array(workspace.box_high)
        self._step = joints.velocity * period_s
        self._leash = leash or Leash()
        self._solver = InverseKinematics(
            kinematics, joints, iterations=10, largest_step=0.2, rest_share=rest_share
        )
        self._pose: Float64 | None = None
        self._waypoint = np.zeros(joints.count)

    @property
    def is_seeded(self) -> bool:
        """Whether there is a commanded pose."""
        return self._pose is not None

    @property
    def pose(self) -> Float64:
        """The commanded pose, shape (4, 4).

        Raises:
            LimitError: If there is none.
        """
        if self._pose is None:
            raise LimitError('no commanded pose; allowed: seed(joint positions) first')
        return self._pose

    def seed(self, reference: Float64) -> None:
        """Begin at the joint positions that the arm is commanded to, shape (J,)."""
        self._waypoint = np.array(reference, dtype=np.float64)
        self._pose = self._kinematics.forward(self._waypoint)

    def drop(self) -> None:
        """Forget the pose: the arm was stopped or moved by somebody else."""
        self._pose = None

    def advance(self, translation: Float64, rotation: Float64, measured: Float64) -> Float64:
        """Move the pose, and return the waypoint for the joints, shape (J,).

        A pose that cannot be reached, or not that fast, is replaced by the one that is. Without
        a displacement the joints stand still.

        Args:
            translation: Displacement in the base frame, metres, shape (3,).
            rotation: Rotation vector in the base frame, rad, shape (3,).
            measured: Measured joint positions, shape (J,).
        """
        if not (translation.any() or rotation.any()):
            return self._waypoint
        wanted = self._leashed(moved(self.pose, translation, rotation), measured)
        wanted[:3, 3] = self._inside(wanted[:3, 3])
        solution = self._solver.solve(wanted, self._waypoint)
        change = solution.position - self._waypoint
        excess = float(np.max(np.abs(change) / self._step))
        if excess > 1.0:
            change /= excess
        self._waypoint = self._waypoint + change
        is_exact = solution.is_reached and excess <= 1.0
        self._pose = wanted if is_exact else self._kinematics.forward(self._waypoint)
        return self._waypoint

    def _inside(self, place: Float64) -> Float64:
        """Keep a place in the box; one that is outside already may stay there or come back."""
        now = self.pose[:3, 3]
        inside: Float64 = np.clip(place, np.minimum(self._low, now), np.maximum(self._high, now))
        return inside

    def _leashed(self, wanted: Float64, measured: Float64) -> Float64:
        start = self._kinematics.forward(measured)
        translation, rotation = difference(start, wanted)
        far = float(np.linalg.norm(translation)) / self._leash.translation
        turned = float(np.linalg.norm(rotation)) / self._leash.rotation
        if far <= 1.0 and turned <= 1.0:
            return wanted
        return moved(start, translation / max(1.0, far), rotation / max(1.0, turned))


def displacement(action: Float32) -> tuple[Float64, Float64]:
    """Return translation (m) and rotation vector (rad) of an `ee_delta_pose` action, (7,)."""
    wide = np.asarray(action, dtype=np.float64)
    return TRANSLATION_SCALE_M * wide[:3], ROTATION_SCALE_RAD * wide[3:6]


def delta_action(start: Float64, pose: Float64, gripper: float) -> Float32:
    """Return the `ee_delta_pose` action from a transform to a pose (xyz, quaternion xyzw), (7,).

    Entries may lie outside [-1, 1]; a quaternion is scaled to unit length.

    Raises:
        LimitError: If the quaternion has no length.
    """
    goal = np.array(pose, dtype=np.float64)
    length = float(np.linalg.norm(goal[3:7]))
    if length < 1e-6:
        raise LimitError('quaternion of length 0; allowed: xyzw of unit length')
    goal[3:7] /= length
    translation, rotation = difference(start, transform_from_pose(goal))
    return np.array(
        [*(translation / TRANSLATION_SCALE_M), *(rotation / ROTATION_SCALE_RAD), gripper],
        dtype=np.float32,
    )


def aligned_rows(actions: Float32, quat_xyzw: Float64) -> Float32:
    """Return rows of `ee_pose` with the sign of each quaternion next to that of the one before.

    A quaternion and its negative are one rotation, but a blend of the two is none.

    Args:
        actions: Shape (K, 8): position, quaternion xyzw, gripper.
        quat_xyzw: The rotation that the first row follows.
    """
    rows = np.array(actions, dtype=np.float32)
    before = np.asarray(quat_xyzw, dtype=np.float64)
    for row in rows:
        if float(row[3:7] @ before) < 0.0:
            row[3:7] = -row[3:7]
        before = row[3:7].astype(np.float64)
    return rows
