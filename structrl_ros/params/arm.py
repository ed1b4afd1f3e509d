"""Parameters of arm_node."""

from __future__ import annotations

from dataclasses import dataclass

from structrl_ros.errors import ParameterError
from structrl_ros.params.parameter import check_parameters
from structrl_ros.params.parameter import parameter

_SHARE = (0.01, 1.0)


@dataclass(frozen=True, kw_only=True)
class ArmParameters:
    """Which arm, how it may move, and what must be true for it to be moved at all."""

    arm: str = parameter(
        description='Driver: fci (direct), crisp (a ROS 2 controller), fake (no robot).',
        choices=('fci', 'crisp', 'fake'),
    )
    dry_run: bool = parameter(
        True, description='On hardware: publish what would be sent, send nothing.'
    )
    robot: str = parameter('fr3', description='Kind of the arm.', choices=('fr3', 'panda'))
    tool: str = parameter(
        'hand', description='Tool at the flange, from the description.', choices=('hand', 'none')
    )
    joint_prefix: str = parameter('', description="Before joint names; '' = robot's, as 'fr3_'.")
    task: str = parameter('manual', description='Task of the first episode, as a sentence.')
    objects: tuple[str, ...] = parameter((), description='Names of the things in reach.')
    horizon_s: float = parameter(
        3600.0,
        description='Seconds of motion after which an episode is truncated.',
        bounds=(1, None),
    )
    control_rate_hz: float = parameter(
        20.0, description='Rows of a chunk a second.', bounds=(1.0, 50.0)
    )
    action_space: str = parameter(
        'ee_delta_pose',
        description='What a row of a chunk is.',
        choices=('ee_delta_pose', 'ee_pose'),
    )
    blend_steps: int = parameter(
        3, description='Rows over which a newer chunk fades in.', bounds=(0, 100)
    )
    simulated_clock: bool = parameter(
        False,
        description='A simulated controller: stamps are of its time, published on /clock.',
    )

    box_low: tuple[float, ...] = parameter(
        description='Lower corner of the workspace of ee in the base frame, metres; z: floor.'
    )
    box_high: tuple[float, ...] = parameter(description='Upper corner of the workspace, metres.')
    translation_velocity: float = parameter(
        description='Largest speed of ee along each axis, m/s.', bounds=(0.001, 1.5)
    )
    rotation_velocity: float = parameter(
        description='Largest angular speed of ee about each axis, rad/s.', bounds=(0.001, 2.5)
    )
    translation_acceleration: float = parameter(
        2.0, description='Largest acceleration of ee, m/s^2.', bounds=(0.01, 9.0)
    )
    rotation_acceleration: float = parameter(
        8.0, description='Largest angular acceleration of ee, rad/s^2.', bounds=(0.01, 17.0)
    )
    velocity_share: float = parameter(
        0.5, description="Share of the vendor's joint velocity limits.", bounds=_SHARE
    )
    acceleration_share: float = parameter(
        0.5, description="Share of the vendor's joint acceleration limits.", bounds=_SHARE
    )
    jerk_share: float = parameter(
        0.5, description="Share of the vendor's joint jerk limits.", bounds=_SHARE
    )
    position_margin: float = parameter(
        0.05, description='Kept off both ends of each joint, rad.', bounds=(0.0, 0.5)
    )
    leash_m: float = parameter(
        0.10,
        description='Farthest that the target may be ahead of ee, metres.',
        bounds=(0.01, 0.5),
    )

    roles: tuple[str, ...] = parameter(
        (), description='Cameras whose pictures the policy needs: no fresh picture, no motion.'
    )
    calibration: str = parameter(
        '', description='Calibration file of the cameras; must be given where roles are.'
    )
    max_image_age_s: float = parameter(
        0.5,
        description='Oldest picture with which the arm may move, seconds.',
        bounds=(0.02, 10.0),
    )
    max_state_age_s: float = parameter(
        0.1, description='Oldest state of the arm, seconds.', bounds=(0.01, 2.0)
    )
    max_chunk_age_s: float = parameter(
        1.0, description='Oldest observation behind a chunk, seconds.', bounds=(0.05, 10.0)
    )
    heartbeat_timeout_s: float = parameter(
        0.0,
        description='Longest silence of who sends chunks, seconds; 0 = one control period.',
        bounds=(0.0, 5.0),
    )
    recoveries: int = parameter(
        3, description='Recoveries that are allowed within a minute.', bounds=(0, 20)
    )

    address: str = parameter('', description='fci: address of the controller of the arm.')
    interface: str = parameter(
        'joint_position',
        description='fci: what is commanded.',
        choices=('joint_position', 'joint_velocity'),
    )
    controller: str = parameter(
        'joint_impedance',
        description="fci: the arm's own controller that follows.",
        choices=('joint_impedance', 'cartesian_impedance'),
    )
    realtime: str = parameter(
        'require',
        description='fci: real-time scheduling.',
        choices=('require', 'try', 'ignore'),
    )
    stiffness: tuple[float, ...] = parameter(
        (), description="fci: joint stiffness, Nm/rad, 7 numbers; none: the arm's own."
    )
    torque_threshold: float = parameter(
        20.0, description='fci: contact torque at which the arm stops, Nm.', bounds=(1.0, 100.0)
    )
    force_threshold: float = parameter(
        20.0, description='fci: contact force at which the arm stops, N.', bounds=(1.0, 100.0)
    )
    grip_force: float = parameter(
        20.0, description='fci: force of a grasp, N.', bounds=(1.0, 70.0)
    )

    style: str = parameter(
        'target_joint',
        description='crisp: kind of targets.',
        choices=('target_joint', 'target_pose', 'gello', 'joint_trajectory'),
    )
    command_rate_hz: float = parameter(
        100.0, description='crisp: targets a second.', bounds=(20.0, 1000.0)
    )
    joint_states_topic: str = parameter('joint_states', description="crisp: the arm's joints.")
    target_topic: str = parameter('', description="crisp: topic of targets; '' = the style's.")
    gripper_topic: str = parameter(
        '', description="crisp: topic of the gripper; '' = the style's, none = no gripper."
    )
    robot_state_topic: str = parameter(
        '', description='crisp: franka_msgs/FrankaRobotState, for mode and errors.'
    )
    recovery_controller: str = parameter(
        '', description="crisp: controller that a recovery activates; '' = a person recovers."
    )
    recovery_hardware: str = parameter(
        'FrankaHardwareInterface', description='crisp: hardware that a recovery activates.'
    )
    partner: str = parameter(
        '', description='Namespace of the other of two arms, to report how far apart they are.'
    )
    autostart: bool = parameter(
        True, description='Configure and activate at start, without a lifecycle manager.'
    )

    def __post_init__(self) -> None:
        """Refuse what is not allowed."""
        check_parameters(self)
        for name, example in (('box_low', '0.3,-0.4,0.02'), ('box_high', '0.7,0.4,0.5')):
            if len(getattr(self, name)) != 3:
                raise ParameterError(
                    f'parameter {name!r} is {getattr(self, name)}; allowed: 3 metres, a corner '
                    f'of the workspace in the base frame, such as {name}:={example}'
                )
        if self.arm == 'fci' and not self.address:
            raise ParameterError("parameter 'address' must be given for arm 'fci'")
        if self.roles and not self.calibration and self.arm != 'fake':
            raise ParameterError("parameter 'calibration' must be given where 'roles' are")

    @property
    def period_s(self) -> float:
        """Control period, seconds."""
        return 1.0 / self.control_rate_hz

    @property
    def heartbeat_limit_s(self) -> float:
        """Longest silence of who sends chunks, seconds."""
        return self.heartbeat_timeout_s or self.period_s
