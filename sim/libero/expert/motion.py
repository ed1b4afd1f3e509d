"""The hand of the simulated Panda: reading it and steering it with `ee_delta_pose` actions.

Everything here is in the world frame of the simulator, whose axes are parallel to the base
frame. The *hand frame* is the grip site between the finger pads: x is the closing axis (the
fingers sit at +-x), y the lateral axis, z points out of the hand, away from the palm. Hand down
means z = -world z.

The controller is robosuite's operational space controller (kp 150, critically damped, goal =
pose now plus action): in steady motion the hand runs at about 6.1/s times the commanded offset,
so 0.31 m/s at most, and it comes to rest at the target as a critically damped second-order
system.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

if TYPE_CHECKING:
    from structrl_ros.types import Float32
    from structrl_ros.types import Float64

#: What an action of 1 means per control step (docs/architecture.md, `ActionChunk`).
METRES_PER_UNIT = 0.05
RADIANS_PER_UNIT = 0.5

OPEN = -1.0
CLOSE = 1.0

#: Part of the velocity that is taken off the commanded offset (s): with a gain of 1.5 the hand
#: comes to rest without overshoot.
DAMPING = 0.03

#: Joint 7 of the Panda turns +-2.8973 rad; plans stay this far inside (rad).
WRIST_LIMIT = 2.65


@dataclass(frozen=True, slots=True)
class Hand:
    """State of the hand.

    Attributes:
        position: Grip site in the world frame (m), shape (3,).
        rotation: Hand frame in the world frame, shape (3, 3).
        velocity: Linear velocity of the grip site in the world frame (m/s), shape (3,).
        opening: Distance of the finger pads (m), 0 to 0.08.
        opening_rate: Its rate (m/s); negative while closing.
        joints: Arm joint angles (rad), shape (7,).
        base: Position of the robot base in the world frame (m), shape (3,).
    """

    position: Float64
    rotation: Float64
    velocity: Float64
    opening: float
    opening_rate: float
    joints: Float64
    base: Float64

    @property
    def yaw(self) -> float:
        """Angle of the closing axis in the horizontal plane (rad), in (-pi, pi]."""
        return yaw_of(self.rotation)


def yaw_of(rotation: Float64) -> float:
    """Return the angle of the closing axis of a hand's rotation, shape (3, 3), in (-pi, pi]."""
    return float(np.arctan2(rotation[1, 0], rotation[0, 0]))


def read_hand(body: Any) -> Hand:
    """Read the hand of `body`, a `LiberoBody`."""
    robot = body.environment.robots[0]
    data = robot.sim.data
    site = robot.eef_site_id
    fingers = np.array([data.qpos[i] for i in robot._ref_gripper_joint_pos_indexes])
    rates = np.array([data.qvel[i] for i in robot._ref_gripper_joint_vel_indexes])
    return Hand(
        position=np.array(data.site_xpos[site]),
        rotation=np.array(data.site_xmat[site]).reshape(3, 3),
        velocity=np.array(data.get_site_xvelp(robot.gripper.important_sites['grip_site'])),
        opening=float(fingers[0] - fingers[1]),
        opening_rate=float(rates[0] - rates[1]),
        joints=np.array(data.qpos[robot._ref_joint_pos_indexes]),
        base=np.array(robot.base_pos),
    )


def hand_down(yaw: float) -> Float64:
    """Return the rotation, shape (3, 3), of a hand that points down.

    Args:
        yaw: Angle of the closing axis (hand x) in the horizontal plane (rad).
    """
    c, s = np.cos(yaw), np.sin(yaw)
    return np.array([[c, s, 0.0], [s, -c, 0.0], [0.0, 0.0, -1.0]])


def rotation_error(now: Float64, target: Float64) -> Float64:
    """Return the axis-angle vector (rad, world), shape (3,), that turns `now` to `target`."""
    return Rotation.from_matrix(target @ now.T).as_rotvec()


def wrap(angle: float) -> float:
    """Return the angle (rad) in [-pi, pi)."""
    return float((angle + np.pi) % (2.0 * np.pi) - np.pi)


def servo(
    hand: Hand,
    position: Float64,
    rotation: Float64,
    gripper: float,
    *,
    gain: float = 1.5,
    speed: float = 1.0,
    turn: float = 0.6,
) -> Float32:
    """Return the action of one control step towards a pose.

    Args:
        hand: The hand now.
        position: Target of the grip site (m), shape (3,).
        rotation: Target rotation of the hand frame, shape (3, 3).
        gripper: -1 open, +1 close.
        gain: Commanded offset over position error.
        speed: Limit of the translation command on each axis, in (0, 1].
        turn: Limit of the rotation command, as a vector norm, in (0, 1].

    Returns:
        Action of shape (7,), float32, in [-1, 1].
    """
    move = (gain * (position - hand.position) - DAMPING * hand.velocity) / METRES_PER_UNIT
    move *= min(1.0, speed / max(float(np.abs(move).max()), 1e-9))
    spin = rotation_error(hand.rotation, rotation) / RADIANS_PER_UNIT
    spin *= min(1.0, turn / max(float(np.linalg.norm(spin)), 1e-9))
    return np.concatenate([move, spin, [gripper]]).astype(np.float32)


def hold(hand: Hand, gripper: float, rotation: Float64 | None = None) -> Float32:
    """Return the action that stays in place, with the gripper as told."""
    return servo(hand, hand.position, hand.rotation if rotation is None else rotation, gripper)


def wrist_after(hand: Hand, position: Float64, yaw: float) -> float:
    """Return a prediction of joint 7 (rad) for a hand that points down.

    The chain of a Panda with its hand down is planar in a vertical plane at azimuth `a`: the
    closing axis stands at `a - joint7` plus a constant, so the constant is read from the pose
    now.

    Args:
        hand: The hand now.
        position: Target of the grip site (m), shape (3,).
        yaw: Target angle of the closing axis (rad).
    """
    now = np.arctan2(*(hand.position - hand.base)[1::-1])
    then = np.arctan2(*(position - hand.base)[1::-1])
    return float(hand.joints[6] + wrap(float(then - now)) - wrap(yaw - hand.yaw))


def reachable_yaws(hand: Hand, position: Float64, yaw: float) -> list[float]:
    """Return the equivalents of `yaw` (mod pi: the fingers are alike) that the wrist can turn to.

    Sorted, the least wrist rotation first; empty if none is within the joint's range.
    """
    options = [hand.yaw + wrap(yaw + turn - hand.yaw) for turn in (0.0, np.pi)]
    options = [o for o in options if abs(wrist_after(hand, position, o)) < WRIST_LIMIT]
    return sorted(options, key=lambda option: abs(option - hand.yaw))
