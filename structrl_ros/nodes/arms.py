"""Arms by name, for arm_node: driver, body, limits and guards from its parameters."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from rclpy.node import Node

from structrl_ros.control.action_limiter import ActionLimiter
from structrl_ros.control.arm_target import ArmTarget
from structrl_ros.control.arm_target import Leash
from structrl_ros.control.kinematics import Kinematics
from structrl_ros.control.limits import Limits
from structrl_ros.control.robot_description import load_robot
from structrl_ros.drivers.arm_body import ArmBody
from structrl_ros.drivers.dry_arm import DryArm
from structrl_ros.drivers.fake_arm import FakeArm
from structrl_ros.drivers.fci_arm import FciArm
from structrl_ros.drivers.fci_settings import FciSettings
from structrl_ros.drivers.fci_settings import StreamSettings
from structrl_ros.params.arm import ArmParameters
from structrl_ros.ports import Arm
from structrl_ros.types import Float64

#: Jerk limits: what the acceleration may change by within this many control periods.
JERK_PERIODS = 2.0


def stream_settings(p: ArmParameters) -> StreamSettings:
    """Return how waypoints become commands."""
    return StreamSettings(
        robot=p.robot,
        waypoint_period_s=p.period_s,
        velocity_share=p.velocity_share,
        acceleration_share=p.acceleration_share,
        jerk_share=p.jerk_share,
        position_margin=p.position_margin,
        lead_s=min(0.02, 0.5 * p.period_s),
    )


def workspace(p: ArmParameters) -> Limits:
    """Return the limits of the motion of `ee`.

    Raises:
        LimitError: If the box is empty.
    """
    release_s = JERK_PERIODS * p.period_s
    return Limits(
        box_low=(p.box_low[0], p.box_low[1], p.box_low[2]),
        box_high=(p.box_high[0], p.box_high[1], p.box_high[2]),
        translation_velocity=p.translation_velocity,
        translation_acceleration=p.translation_acceleration,
        translation_jerk=p.translation_acceleration / release_s,
        rotation_velocity=p.rotation_velocity,
        rotation_acceleration=p.rotation_acceleration,
        rotation_jerk=p.rotation_acceleration / release_s,
    )


def make_arm(node: Node, p: ArmParameters, show: Callable[[Float64], None]) -> Arm:
    """Return the arm, connected; on hardware a dry run of it unless that is switched off.

    Raises:
        ArmError: If it does not answer.
        StructRLError: If a setting is not allowed.
    """
    stream = stream_settings(p)
    robot = load_robot(p.robot)
    prefix = p.joint_prefix or f'{p.robot}_'
    if p.arm == 'fake':
        return FakeArm(robot, stream)
    if p.arm == 'fci':
        real: Arm = FciArm(_fci_settings(p, stream), prefix=prefix, gripper=p.tool == 'hand')
    else:
        real = _crisp_arm(node, p, stream, tuple(prefix + name for name in robot.joint_names))
    return DryArm(real, FakeArm(robot, stream), show=show) if p.dry_run else real


def make_body(p: ArmParameters, arm: Arm) -> tuple[ArmBody, ActionLimiter]:
    """Return the body around an arm, and the limiter of its actions.

    Raises:
        StructRLError: If a limit is not allowed.
    """
    kinematics = Kinematics(load_robot(p.robot), p.tool)
    limits = workspace(p)
    limiter = ActionLimiter(limits, period_s=p.period_s)
    target = ArmTarget(
        kinematics,
        stream_settings(p).limits(),
        limits,
        period_s=p.period_s,
        leash=Leash(p.leash_m, 5.0 * p.leash_m),
    )
    body = ArmBody(
        arm,
        kinematics,
        target,
        limiter,
        control_rate_hz=p.control_rate_hz,
        action_space=p.action_space,
        horizon_steps=int(np.ceil(p.horizon_s * p.control_rate_hz)),
        objects=p.objects,
    )
    return body, limiter


def _fci_settings(p: ArmParameters, stream: StreamSettings) -> FciSettings:
    return FciSettings(
        address=p.address,
        stream=stream,
        interface=p.interface,
        controller=p.controller,
        realtime=p.realtime,
        stiffness=p.stiffness,
        torque_threshold=p.torque_threshold,
        force_threshold=p.force_threshold,
        grip_force=p.grip_force,
    )


def _crisp_arm(
    node: Node, p: ArmParameters, stream: StreamSettings, names: tuple[str, ...]
) -> Arm:
    from structrl_ros.drivers.crisp_arm import CrispArm
    from structrl_ros.drivers.crisp_settings import CrispSettings
    from structrl_ros.drivers.franka_ros_recovery import franka_recovery
    from structrl_ros.drivers.franka_ros_state import watch_robot_state

    recovery = None
    if p.recovery_controller:
        recovery = franka_recovery(
            node, controller=p.recovery_controller, hardware=p.recovery_hardware
        )
    settings = CrispSettings(
        stream=stream,
        style=p.style,
        command_rate_hz=p.command_rate_hz,
        joint_names=names,
        joint_states_topic=p.joint_states_topic,
        target_topic=p.target_topic,
        gripper_topic=p.gripper_topic,
        tool=p.tool,
    )
    arm = CrispArm(node, settings, recovery=recovery)
    if p.robot_state_topic:
        watch_robot_state(node, p.robot_state_topic, arm.note_mode)
    return arm
