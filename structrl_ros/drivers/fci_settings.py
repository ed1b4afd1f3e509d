"""Settings of the process that speaks to a Franka, as they travel to it."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

from structrl_ros.control.joint_limits import JointLimits
from structrl_ros.control.robot_description import load_robot
from structrl_ros.errors import ParameterError

INTERFACES = ('joint_position', 'joint_velocity')
CONTROLLERS = ('joint_impedance', 'cartesian_impedance')
REALTIME = ('require', 'try', 'ignore')

_POSITIVE = (
    'torque_threshold',
    'force_threshold',
    'grip_speed',
    'grip_force',
    'open_width',
    'gripper_timeout_s',
)


@dataclass(frozen=True, kw_only=True)
class StreamSettings:
    """How waypoints become commands.

    Attributes:
        robot: Name of the description.
        waypoint_period_s: Seconds between two waypoints.
        velocity_share: Share of the vendor's velocity limits, in (0, 1].
        acceleration_share: Share of the acceleration limits, in (0, 1].
        jerk_share: Share of the jerk limits, in (0, 1].
        position_margin: Kept off both ends of each joint's range, rad.
        lead_s: A waypoint is asked for so long before it is taken up, seconds.
    """

    robot: str = 'fr3'
    waypoint_period_s: float
    velocity_share: float = 0.5
    acceleration_share: float = 0.5
    jerk_share: float = 0.5
    position_margin: float = 0.05
    lead_s: float = 0.02

    def __post_init__(self) -> None:
        """Refuse what is no time.

        Raises:
            ParameterError: If a time is out of range.
        """
        if not 0.0 < self.waypoint_period_s <= 1.0:
            raise ParameterError(
                f'waypoint period is {self.waypoint_period_s} s; allowed: above 0, at most 1'
            )
        if not 0.0 <= self.lead_s < self.waypoint_period_s:
            raise ParameterError(
                f'lead is {self.lead_s} s; allowed: 0 to below the waypoint period '
                f'{self.waypoint_period_s} s'
            )

    def limits(self) -> JointLimits:
        """Return the limits in force.

        Raises:
            LimitError: If a share would loosen a limit.
            ParameterError: If the robot is not described.
        """
        return load_robot(self.robot).limits.scaled(
            velocity=self.velocity_share,
            acceleration=self.acceleration_share,
            jerk=self.jerk_share,
            position_margin=self.position_margin,
        )


@dataclass(frozen=True, kw_only=True)
class FciSettings:
    """All that the process needs; see `check` for what is allowed.

    Attributes:
        address: IP address or host name of the controller.
        stream: How waypoints become commands.
        interface: What is commanded.
        controller: The arm's own controller that follows the commands.
        realtime: Real-time scheduling: refuse to run without, take it if allowed, or do without.
        stiffness: Joint stiffness of joint_impedance, Nm/rad, 7 values; none: the arm's own.
        torque_threshold: Contact torque that makes the arm stop, Nm, above 0.
        force_threshold: Contact force that makes the arm stop, N, above 0.
        grip_speed: Speed of the fingers, m/s.
        grip_force: Force of a grasp, N.
        open_width: Width of the open gripper, metres.
        gripper_timeout_s: A gripper that is busy for longer gets a new process, seconds.
    """

    address: str
    stream: StreamSettings
    interface: str = 'joint_position'
    controller: str = 'joint_impedance'
    realtime: str = 'require'
    stiffness: tuple[float, ...] = ()
    torque_threshold: float = 20.0
    force_threshold: float = 20.0
    grip_speed: float = 0.1
    grip_force: float = 20.0
    open_width: float = 0.08
    gripper_timeout_s: float = 6.0

    def __post_init__(self) -> None:
        """Refuse what is not allowed.

        Raises:
            ParameterError: If a value is not allowed.
        """
        for name, allowed in (
            ('interface', INTERFACES),
            ('controller', CONTROLLERS),
            ('realtime', REALTIME),
        ):
            if getattr(self, name) not in allowed:
                raise ParameterError(
                    f'{name} is {getattr(self, name)!r}; allowed: {", ".join(allowed)}'
                )
        if not self.address:
            raise ParameterError('address of the arm is empty; allowed: an IP address or a name')
        if len(self.stiffness) not in (0, 7):
            raise ParameterError(f'{len(self.stiffness)} joint stiffnesses; allowed: 7, or none')
        values = [(name, getattr(self, name)) for name in _POSITIVE]
        values += [('stiffness', value) for value in self.stiffness]
        for name, value in values:
            if not (math.isfinite(value) and value > 0.0):
                raise ParameterError(f'{name} is {value}; allowed: finite and above 0')

    def to_json(self) -> dict[str, Any]:
        """Return the settings as plain values."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> FciSettings:
        """Return the settings that `to_json` gave."""
        stream = StreamSettings(**values.pop('stream'))
        stiffness = tuple(values.pop('stiffness'))
        return cls(stream=stream, stiffness=stiffness, **values)
