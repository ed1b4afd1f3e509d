"""An arm that a ROS 2 controller moves: targets by topic, from a stream within the limits."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from structrl_ros.control.joint_stream import JointStream
from structrl_ros.control.kinematics import Kinematics
from structrl_ros.control.robot_description import load_robot
from structrl_ros.drivers.crisp_messages import GRIPPER_TYPES
from structrl_ros.drivers.crisp_messages import TARGET_TYPES
from structrl_ros.drivers.crisp_messages import gripper_message
from structrl_ros.drivers.crisp_messages import target_maker
from structrl_ros.drivers.crisp_settings import CrispSettings
from structrl_ros.errors import ArmError
from structrl_ros.types import ArmMode
from structrl_ros.types import ArmState
from structrl_ros.types import Float64

#: Targets between two looks for other publishers.
LOOK_EVERY = 20
#: Seconds that a state may be old when control begins.
FRESH_S = 0.5
#: Seconds until the robot says that a reflex is over, after a recovery.
REFLEX_OVER_S = 5.0

#: The steps of a recovery, in order, each raising ArmError where it fails.
Recovery = Callable[[], None]


class CrispArm:
    """The Arm port over topics; the node's executor must spin.

    crisp_controllers ignores all targets while a topic has two publishers, so an arm whose topic
    somebody else publishes on is not started, and stopped if somebody begins to.
    """

    is_hardware = True

    def __init__(
        self, node: Node, settings: CrispSettings, *, recovery: Recovery | None = None
    ) -> None:
        """Subscribe and publish; nothing is sent before `start`.

        Args:
            node: Owns the subscriptions and publishers.
            settings: Topics and rates.
            recovery: Clears errors and activates the controller; None: a person does.
        """
        robot = load_robot(settings.stream.robot)
        self.name = f'{settings.style} on {node.resolve_topic_name(settings.target)}'
        self.joint_names = settings.joint_names
        self._node, self._settings, self._recovery = node, settings, recovery
        self._lock = threading.RLock()
        self._stream = JointStream(
            settings.stream.limits(),
            waypoint_period_s=settings.stream.waypoint_period_s,
            period_s=1.0 / settings.command_rate_hz,
        )
        self._make = target_maker(settings, Kinematics(robot, settings.tool))
        self._targets = node.create_publisher(
            TARGET_TYPES[settings.style], settings.target, QoSProfile(depth=1)
        )
        kind = GRIPPER_TYPES.get(settings.style, Float64MultiArray)
        self._gripper = settings.gripper and node.create_publisher(
            kind, settings.gripper, QoSProfile(depth=1)
        )
        self._subscription = node.create_subscription(
            JointState, settings.joint_states_topic, self._hear, qos_profile_sensor_data
        )
        self._on_period: Callable[[], None] | None = None
        self._position: Float64 | None = None
        self._velocity = np.zeros(7)
        self._mode = ArmMode.IDLE
        self._errors: tuple[str, ...] = ()
        self._came_s = -math.inf
        self._time_ns = 0
        self._opening = 0.08
        self._is_due_told = False
        self._why = ''
        self._thread: threading.Thread | None = None
        self._ending = threading.Event()

    @property
    def age_s(self) -> float:
        """Seconds since the newest joint states."""
        return time.monotonic() - self._came_s

    @property
    def complaint(self) -> str:
        """Why the arm was stopped last, '' if it was not."""
        return self._why

    def note_mode(self, mode: ArmMode, errors: tuple[str, ...]) -> None:
        """Take what the robot's own state says of mode and errors."""
        self._mode, self._errors = mode, errors

    def start(self, on_period: Callable[[], None]) -> None:
        """Send targets from now on, beginning where the arm is.

        Raises:
            ArmError: If there are no joint states, or somebody else publishes targets.
        """
        if self._position is None or self.age_s > FRESH_S:
            topic = self._node.resolve_topic_name(self._settings.joint_states_topic)
            raise ArmError(f'no joint states of {self.joint_names[0]} ... on {topic}')
        self._refuse_others()
        with self._lock:
            self._stream.seed(self._position)
            self._on_period, self._why = on_period, ''
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name='targets', daemon=True)
            self._thread.start()

    def state(self) -> ArmState | None:
        """Return the newest state; None before the first joint states."""
        with self._lock:
            if self._position is None:
                return None
            is_moved = self._on_period is not None
            mode = ArmMode.MOVE if is_moved and self._mode is ArmMode.IDLE else self._mode
            return ArmState(
                time_ns=self._time_ns,
                mode=mode,
                position=self._position,
                velocity=self._velocity,
                reference=self._stream.motion.position if is_moved else self._position,
                is_still=self._stream.is_still if is_moved else True,
                opening=self._opening,
                errors=self._errors,
            )

    def follow(self, waypoint: Float64) -> None:
        """Be at a position one control period after the last waypoint.

        Raises:
            ArmError: If the arm was stopped because somebody else publishes targets.
        """
        with self._lock:
            if self._why:
                raise ArmError(self._why)
            self._stream.follow(waypoint)

    def stop(self) -> None:
        """Stop as fast as the limits allow and forget all waypoints."""
        with self._lock:
            if self._on_period is not None:
                self._stream.stop()

    def grip(self, closed: bool) -> None:
        """Publish the gripper's command, once."""
        if self._gripper:
            self._gripper.publish(gripper_message(self._settings.style, closed))

    def recover(self) -> None:
        """Clear errors, then begin again from where the arm is.

        Raises:
            ArmError: If a step of the recovery fails, or there is none.
        """
        on_period = self._on_period
        with self._lock:
            self._on_period = None  # no target while nothing listens
        if self._recovery is None and self._mode is ArmMode.REFLEX:
            raise ArmError(f'{self.name} is in reflex; recover it in its own node, then resume')
        if self._recovery is not None:
            self._recovery()
            self._wait_for_end_of_reflex()
        if on_period is not None:
            self.start(on_period)

    def _wait_for_end_of_reflex(self) -> None:
        """Wait until the robot's own state says so: an old one would stop the arm again."""
        end = time.monotonic() + REFLEX_OVER_S
        while self._mode is ArmMode.REFLEX:
            if time.monotonic() > end:
                raise ArmError(f'{self.name} is in reflex after the recovery')
            time.sleep(0.01)

    def close(self) -> None:
        """Come to rest, then fall silent."""
        self.stop()
        end = time.monotonic() + 2.0
        while self._thread is not None and time.monotonic() < end and not self._stream.is_still:
            time.sleep(0.02)
        self._ending.set()
        if self._thread is not None:
            self._thread.join(1.0)
            self._thread = None

    def _hear(self, message: Any) -> None:
        places = {name: place for place, name in enumerate(message.name)}
        if any(name not in places for name in self.joint_names):
            return
        count = len(message.name)
        if len(message.position) != count or len(message.velocity) not in (0, count):
            return
        order = [places[name] for name in self.joint_names]
        position = np.array(message.position)[order]
        velocity = np.array(message.velocity)[order] if len(message.velocity) else np.zeros(7)
        if not (np.isfinite(position).all() and np.isfinite(velocity).all()):
            return
        stamp = message.header.stamp
        with self._lock:
            self._position, self._velocity = position, velocity
            self._time_ns = stamp.sec * 1_000_000_000 + stamp.nanosec
            self._came_s = time.monotonic()

    def _run(self) -> None:
        period_s = 1.0 / self._settings.command_rate_hz
        due, count = time.monotonic(), 0
        while not self._ending.is_set():
            due = max(due + period_s, time.monotonic() - 5.0 * period_s)
            self._ending.wait(max(0.0, due - time.monotonic()))
            count += 1
            if count % LOOK_EVERY == 0:
                self._look_for_others()
            self._send()

    def _send(self) -> None:
        with self._lock:
            if self._on_period is None:
                return
            motion = self._stream.step()
            self._stream.prepare()
            is_due = self._stream.wants_waypoint_in_s <= self._settings.stream.lead_s
            tell, on_period = is_due and not self._is_due_told, self._on_period
            self._is_due_told = is_due
        self._targets.publish(self._make(motion, self._node.get_clock().now().nanoseconds))
        if tell:
            on_period()

    def _look_for_others(self) -> None:
        try:
            self._refuse_others()
        except ArmError as error:
            if not self._why:
                self._why = str(error)
                self.stop()

    def _refuse_others(self) -> None:
        count = self._node.count_publishers(self._settings.target)
        if count > 1:
            topic = self._node.resolve_topic_name(self._settings.target)
            infos = self._node.get_publishers_info_by_topic(self._settings.target)
            names = sorted({f'{i.node_namespace.rstrip("/")}/{i.node_name}' for i in infos})
            raise ArmError(
                f'{count} publishers on {topic} ({", ".join(names)}); allowed: this one'
            )
