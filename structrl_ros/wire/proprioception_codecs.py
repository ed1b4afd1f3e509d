"""Codecs of the arm's own state: Proprioception to JointState, PoseStamped and WrenchStamped."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from geometry_msgs.msg import Point
from geometry_msgs.msg import Pose
from geometry_msgs.msg import PoseStamped
from geometry_msgs.msg import Quaternion
from geometry_msgs.msg import Vector3
from geometry_msgs.msg import Wrench
from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import JointState

from structrl_ros.errors import MessageError
from structrl_ros.types import Float64
from structrl_ros.types import Proprioception
from structrl_ros.wire.checks import as_array
from structrl_ros.wire.checks import checked_names
from structrl_ros.wire.checks import checked_values
from structrl_ros.wire.checks import refuse_shape
from structrl_ros.wire.stamps import header_to_message
from structrl_ros.wire.stamps import stamp_from_header

#: Names of the two gripper fingers, the last two entries of `observation/joint_states`.
FINGERS = ('finger_joint1', 'finger_joint2')
BASE_FRAME = 'base_link'
EE_FRAME = 'ee'


@dataclass(frozen=True, slots=True)
class ProprioceptionMessages:
    """The messages of one state; `wrench` is None where the arm measures none."""

    joint_states: JointState
    ee_pose: PoseStamped
    wrench: WrenchStamped | None


def proprioception_to_messages(state: Proprioception) -> ProprioceptionMessages:
    """Return the messages of the arm's own state, all with its stamp.

    Finger velocities are unknown and sent as zero.

    Raises:
        MessageError: If a shape is wrong or a number not finite.
    """
    names = checked_names('JointState', 'name', state.joint_names)
    positions = _vector('JointState', 'position', state.joint_positions, len(names))
    velocities = _vector('JointState', 'velocity', state.joint_velocities, len(names))
    fingers = _vector('JointState', 'position of the fingers', state.gripper, 2)
    joints = JointState(
        header=header_to_message(state.stamp_ns, BASE_FRAME),
        name=[*names, *FINGERS],
        position=as_array(np.concatenate([positions, fingers])),
        velocity=as_array(np.concatenate([velocities, np.zeros(2)])),
    )
    return ProprioceptionMessages(joints, _pose_to_message(state), _wrench_to_message(state))


def proprioception_from_messages(
    joint_states: JointState, ee_pose: PoseStamped, wrench: WrenchStamped | None = None
) -> Proprioception:
    """Return the arm's own state; its stamp is the oldest of the messages'.

    Raises:
        MessageError: If there are less than the two fingers, sizes differ, a number is not finite
            or the quaternion is not of unit length (to 1e-3).
    """
    names = tuple(checked_names('JointState', 'name', joint_states.name))
    if len(names) < 2:
        raise MessageError(f'JointState.name has {len(names)} entries; allowed: 2 or more')
    positions = _vector('JointState', 'position', joint_states.position, len(names))
    velocities = _vector('JointState', 'velocity', joint_states.velocity, len(names))
    stamped = [joint_states, ee_pose] if wrench is None else [joint_states, ee_pose, wrench]
    return Proprioception(
        stamp_ns=min(stamp_from_header(message.header) for message in stamped),
        joint_names=names[:-2],
        joint_positions=positions[:-2],
        joint_velocities=velocities[:-2],
        ee_pose=_pose_from_message(ee_pose.pose),
        gripper=positions[-2:],
        wrench=None if wrench is None else _wrench_from_message(wrench.wrench),
    )


def joints_from_message(message: JointState, count: int) -> tuple[int, Float64, Float64]:
    """Return stamp, positions and velocities of so many joints, fingers included, (count,) each.

    Raises:
        MessageError: If there are more or fewer, or a number is not finite.
    """
    position = _vector('JointState', 'position', message.position, count)
    velocity = _vector('JointState', 'velocity', message.velocity, count)
    return stamp_from_header(message.header), position, velocity


def pose_from_stamped(message: PoseStamped) -> Float64:
    """Return position (m) and quaternion xyzw of a pose, (7,).

    Raises:
        MessageError: If a number is not finite or the quaternion not of unit length (to 1e-3).
    """
    return _pose_from_message(message.pose)


def _pose_to_message(state: Proprioception) -> PoseStamped:
    x, y, z, qx, qy, qz, qw = _checked_pose(state.ee_pose).tolist()
    return PoseStamped(
        header=header_to_message(state.stamp_ns, BASE_FRAME),
        pose=Pose(position=Point(x=x, y=y, z=z), orientation=Quaternion(x=qx, y=qy, z=qz, w=qw)),
    )


def _pose_from_message(pose: Pose) -> Float64:
    p, q = pose.position, pose.orientation
    return _checked_pose(np.array([p.x, p.y, p.z, q.x, q.y, q.z, q.w], dtype=np.float64))


def _checked_pose(values: Float64) -> Float64:
    pose = _vector('PoseStamped', 'pose', values, 7)
    norm = float(np.linalg.norm(pose[3:]))
    if abs(norm - 1.0) > 1e-3:
        raise MessageError(
            f'PoseStamped.orientation has length {norm:.4f}; allowed: unit quaternions (xyzw)'
        )
    return pose


def _wrench_to_message(state: Proprioception) -> WrenchStamped | None:
    if state.wrench is None:
        return None
    fx, fy, fz, tx, ty, tz = _vector('WrenchStamped', 'wrench', state.wrench, 6).tolist()
    return WrenchStamped(
        header=header_to_message(state.stamp_ns, EE_FRAME),
        wrench=Wrench(force=Vector3(x=fx, y=fy, z=fz), torque=Vector3(x=tx, y=ty, z=tz)),
    )


def _wrench_from_message(wrench: Wrench) -> Float64:
    f, t = wrench.force, wrench.torque
    return _vector('WrenchStamped', 'wrench', [f.x, f.y, f.z, t.x, t.y, t.z], 6)


def _vector(message: str, field: str, values: object, size: int) -> Float64:
    vector = checked_values(message, field, values, np.float64)
    if vector.shape != (size,):
        refuse_shape(message, field, vector.shape, f'({size},)')
    return vector
