"""teleop_node: devices in a person's hand take the arm from the policy, and give it back.

A gamepad on `teleop/joy` (its right trigger is the dead-man switch) and velocities on
`teleop/twist` (what is not zero is a press, zero or silence a release). While somebody is in
control the body takes chunks of source 'teleop' alone; who acted is recorded with the time of the
takeover, not by chunk. Buttons of the gamepad mark success and failure, reset and stop.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped
from rclpy.clock import Clock
from rclpy.clock import ClockType
from rclpy.node import Node

from structrl_ros.console.live_state import LiveState
from structrl_ros.control.gamepad import gamepad_reading
from structrl_ros.control.operator_motion import LARGEST_STEP
from structrl_ros.control.operator_motion import MotionScale
from structrl_ros.control.takeover import Control
from structrl_ros.control.teleop_desk import TeleopDesk
from structrl_ros.errors import MessageError
from structrl_ros.nodes.console_operator import RosOperator
from structrl_ros.nodes.health import Health
from structrl_ros.nodes.hearing import hear
from structrl_ros.nodes.parameters import declare
from structrl_ros.nodes.spinning import run_node
from structrl_ros.params.teleop import TeleopParameters
from structrl_ros.types import Episode
from structrl_ros.types import Float64
from structrl_ros.types import OperatorCommand
from structrl_ros.wire import topics
from structrl_ros.wire.body_codecs import episode_from_message
from structrl_ros.wire.body_codecs import safety_from_message
from structrl_ros.wire.chunk_codecs import action_chunk_from_message
from structrl_ros.wire.chunk_codecs import action_chunk_to_message
from structrl_ros.wire.chunk_codecs import chunk_done_from_message
from structrl_ros.wire.chunk_codecs import intervention_from_message
from structrl_ros.wire.chunk_codecs import intervention_to_message
from structrl_ros.wire.proprioception_codecs import pose_from_stamped
from structrl_ros.wire.qos import message_type
from structrl_ros.wire.qos import publisher_qos
from structrl_ros.wire.stamps import RosClock
from structrl_ros.wire.stamps import stamp_from_header
from structrl_ros.wire.task_codecs import HealthLevel
from structrl_ros.wire.teleop_codecs import joy_from_message
from structrl_ros.wire.teleop_codecs import twist_from_message

TWIST = 'twist'
_PLAIN = MotionScale(translation=1.0, rotation=1.0, dead_zone=0.0)


class TeleopNode(Node):
    """Subscribes, asks the desk, publishes."""

    def __init__(self, **options: Any) -> None:
        """Declare parameters and subscribe.

        Raises:
            ParameterError: If a parameter is not allowed.
        """
        super().__init__('teleop_node', **options)
        p = declare(self, TeleopParameters)
        self._desk = TeleopDesk(p.rules(), p.control_rate_hz, lockstep=p.lockstep)
        self._scale, self._shares = p.scale(), LARGEST_STEP * p.control_rate_hz
        self._body_clock, self._state = RosClock(self), LiveState()
        self._operator = RosOperator(self, self._state, lambda: None)
        self._down: frozenset[str] = frozenset()
        self._takeovers, self._chunks = (
            self.create_publisher(message_type(topic), topic, publisher_qos(topic))
            for topic in (topics.INTERVENTION, topics.ACTION_CHUNK)
        )
        self._health = Health(self, 'takeover')
        hear(self, topics.EPISODE, episode_from_message, self._on_episode)
        hear(self, topics.SAFETY, safety_from_message, self._desk.see_safety)
        hear(self, topics.EE_POSE, _stamped_pose, lambda pose: self._desk.see_pose(*pose))
        hear(self, topics.ACTION_CHUNK, action_chunk_from_message, self._desk.see_chunk)
        hear(self, topics.CHUNK_DONE, chunk_done_from_message, self._desk.see_done)
        hear(self, topics.INTERVENTION, intervention_from_message, self._desk.see_release)
        hear(self, topics.TELEOP_JOY, joy_from_message, self._on_joy)
        hear(self, topics.TELEOP_TWIST, twist_from_message, self._on_twist)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(1.0 / p.control_rate_hz, self._publish, clock=steady)
        self.create_timer(1.0, self._report, clock=steady)

    def _on_episode(self, episode: Episode) -> None:
        self._state.take(episode)
        self._desk.see_episode(episode)
        self._publish()

    def _on_joy(self, joy: tuple[tuple[float, ...], tuple[int, ...]]) -> None:
        try:
            command, down = gamepad_reading(*joy)
        except MessageError as error:
            self.get_logger().warning(str(error), throttle_duration_sec=5.0)
            return
        fresh, self._down = down - self._down, down
        if 'emergency_stop' in fresh:
            self._operator.emergency_stop()
        if 'reset' in fresh:
            self._operator.new_episode()
        for word in fresh & {'success', 'failure'}:
            self._operator.mark(word == 'success')
        self._desk.take(command, self._scale, time.monotonic_ns())

    def _on_twist(self, twist: tuple[Float64, bool]) -> None:
        velocity, is_tool = twist
        engaged = float(np.isfinite(velocity).all() and velocity.any())
        command = OperatorCommand(TWIST, engaged, velocity / self._shares)
        self._desk.take(command, _PLAIN, time.monotonic_ns(), tool=is_tool)

    def _publish(self) -> None:
        news, chunk = self._desk.tick(time.monotonic_ns(), self._body_clock.now_ns())
        if news is not None:
            self._takeovers.publish(intervention_to_message(news))
            self._report()
        if chunk is not None:
            self._chunks.publish(action_chunk_to_message(chunk))

    def _report(self) -> None:
        takeover, (began, taken) = self._desk.takeover, self._desk.episodes
        level = HealthLevel.WARN if takeover.control is Control.HELD else HealthLevel.OK
        by = f' by {takeover.device}' if takeover.device else ''
        values = {
            'device': takeover.device,
            'refused': takeover.refused,
            'episodes': began,
            'takeovers': taken,
        }
        self._health.tell(level, f'in control: {takeover.control.value}{by}', values)


def _stamped_pose(message: PoseStamped) -> tuple[int, Float64]:
    return stamp_from_header(message.header), pose_from_stamped(message)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM."""
    return run_node('teleop_node', lambda _: TeleopNode(), lambda *_: None, arguments)


if __name__ == '__main__':
    sys.exit(main())
