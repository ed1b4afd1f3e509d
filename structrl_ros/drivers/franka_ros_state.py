"""Mode and errors of an arm under franka_ros2, where its messages are installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from rclpy.qos import QoSProfile

from structrl_ros.errors import ArmError
from structrl_ros.types import ArmMode


def errors_of(message: Any) -> tuple[str, ...]:
    """Return the names of the errors that are set in a franka_msgs/Errors."""
    names = message.get_fields_and_field_types()
    return tuple(name for name in names if getattr(message, name) is True)


def watch_robot_state(
    node: Node, topic: str, note: Callable[[ArmMode, tuple[str, ...]], None]
) -> None:
    """Have mode and errors of each FrankaRobotState noted.

    Raises:
        ArmError: If franka_msgs is not installed.
    """
    try:
        from franka_msgs.msg import FrankaRobotState
    except ImportError:
        raise ArmError(
            f'franka_msgs is not installed, so {topic} cannot be read: source the ROS 2 workspace '
            'of franka_ros2, or leave the topic of the robot state empty'
        ) from None

    def heard(message: Any) -> None:
        note(ArmMode(int(message.robot_mode)), errors_of(message.current_errors))

    node.create_subscription(FrankaRobotState, topic, heard, QoSProfile(depth=1))
