"""Settings of an arm behind a ROS 2 controller: which topics carry targets, and how."""

from __future__ import annotations

from dataclasses import dataclass

from structrl_ros.drivers.fci_settings import StreamSettings
from structrl_ros.errors import ParameterError

#: Kinds of targets, with the topic and the gripper's topic that each stack expects.
STYLES = {
    'target_joint': ('target_joint', 'gripper/gripper_position_controller/commands'),
    'target_pose': ('target_pose', 'gripper/gripper_position_controller/commands'),
    'gello': ('gello/joint_states', 'gripper/gripper_client/target_gripper_width_percent'),
    'joint_trajectory': ('fr3_arm_controller/joint_trajectory', ''),
}


@dataclass(frozen=True, kw_only=True)
class CrispSettings:
    """An arm that a ROS 2 controller moves: crisp_controllers, GELLO's, or a trajectory one.

    Attributes:
        stream: How waypoints become targets.
        style: A key of `STYLES`.
        command_rate_hz: Targets a second.
        joint_names: As in `joint_states_topic`, in the order of the description.
        joint_states_topic: Where the arm's positions come from.
        target_topic: Where targets go; '' takes the style's.
        gripper_topic: Where the gripper's go; '' takes the style's, 'none': no gripper.
        base_frame: Frame of `target_pose`.
        tool: Name of the tool in the description whose frame `target_pose` is of.
        robot_state_topic: franka_msgs/FrankaRobotState, for mode and errors; '': not read.
        controller: Name of the controller that a recovery activates; '': no recovery.
        hardware: Name of the hardware component that a recovery activates.
    """

    stream: StreamSettings
    style: str = 'target_joint'
    command_rate_hz: float = 100.0
    joint_names: tuple[str, ...]
    joint_states_topic: str = 'joint_states'
    target_topic: str = ''
    gripper_topic: str = ''
    base_frame: str = 'base'
    tool: str = 'hand'
    robot_state_topic: str = ''
    controller: str = ''
    hardware: str = 'FrankaHardwareInterface'

    def __post_init__(self) -> None:
        """Refuse what is not allowed.

        Raises:
            ParameterError: If a value is not allowed.
        """
        if self.style not in STYLES:
            raise ParameterError(f'style is {self.style!r}; allowed: {", ".join(STYLES)}')
        if len(set(self.joint_names)) != 7:
            raise ParameterError(f'joint names {self.joint_names}; allowed: 7 different ones')
        slowest = 1.0 / self.stream.waypoint_period_s
        if not slowest <= self.command_rate_hz <= 1000.0:
            raise ParameterError(
                f'command rate is {self.command_rate_hz} Hz; allowed: {slowest:g} to 1000'
            )

    @property
    def target(self) -> str:
        """Topic of the targets."""
        return self.target_topic or STYLES[self.style][0]

    @property
    def gripper(self) -> str:
        """Topic of the gripper, '' without one."""
        topic = self.gripper_topic or STYLES[self.style][1]
        return '' if topic == 'none' else topic
