"""Targets as the messages that each ROS 2 controller of an arm expects."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import Any

from builtin_interfaces.msg import Duration
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point
from geometry_msgs.msg import Pose
from geometry_msgs.msg import PoseStamped
from geometry_msgs.msg import Quaternion
from sensor_msgs.msg import JointState
from std_msgs.msg import Float32
from std_msgs.msg import Float64MultiArray
from std_msgs.msg import Header
from trajectory_msgs.msg import JointTrajectory
from trajectory_msgs.msg import JointTrajectoryPoint

from structrl_ros.control.joint_segments import JointMotion
from structrl_ros.control.kinematics import Kinematics
from structrl_ros.drivers.crisp_settings import CrispSettings

TARGET_TYPES = {
    'target_joint': JointState,
    'target_pose': PoseStamped,
    'gello': JointState,
    'joint_trajectory': JointTrajectory,
}
#: Gripper commands: GELLO's is a share of the width, the other the position of a controller.
GRIPPER_TYPES = {'gello': Float32}
#: Position of an open gripper for a position controller, metres a finger.
OPEN_M = 0.04


def target_maker(
    settings: CrispSettings, kinematics: Kinematics
) -> Callable[[JointMotion, int], Any]:
    """Return what makes the message of a motion at a stamp in nanoseconds."""
    names = list(settings.joint_names)
    period_ns = round(1e9 / settings.command_rate_hz)

    def joints(motion: JointMotion, stamp_ns: int) -> Any:
        return JointState(
            header=_header(stamp_ns, ''),
            name=names,
            position=array('d', motion.position),
            velocity=array('d', motion.velocity),
        )

    def pose(motion: JointMotion, stamp_ns: int) -> Any:
        x, y, z, qx, qy, qz, qw = kinematics.pose(motion.position).tolist()
        place = Pose(position=Point(x=x, y=y, z=z), orientation=Quaternion(x=qx, y=qy, z=qz, w=qw))
        return PoseStamped(header=_header(stamp_ns, settings.base_frame), pose=place)

    def trajectory(motion: JointMotion, stamp_ns: int) -> Any:
        del stamp_ns  # a stamp of 0 means: from now on
        seconds, nanoseconds = divmod(2 * period_ns, 1_000_000_000)
        point = JointTrajectoryPoint(
            positions=array('d', motion.position + 2e-9 * period_ns * motion.velocity),
            velocities=array('d', motion.velocity),
            time_from_start=Duration(sec=seconds, nanosec=nanoseconds),
        )
        return JointTrajectory(joint_names=names, points=[point])

    return {'target_pose': pose, 'joint_trajectory': trajectory}.get(settings.style, joints)


def gripper_message(style: str, closed: bool) -> Any:
    """Return the command that closes or opens the gripper."""
    if style == 'gello':
        return Float32(data=0.0 if closed else 1.0)
    return Float64MultiArray(data=array('d', [0.0 if closed else OPEN_M]))


def _header(stamp_ns: int, frame: str) -> Header:
    seconds, nanoseconds = divmod(stamp_ns, 1_000_000_000)
    return Header(stamp=Time(sec=seconds, nanosec=nanoseconds), frame_id=frame)
