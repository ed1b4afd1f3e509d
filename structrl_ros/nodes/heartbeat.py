"""The heartbeat of who sends chunks: an arm holds where it stops."""

from __future__ import annotations

from typing import Any

from rclpy.clock import Clock
from rclpy.clock import ClockType
from rclpy.node import Node

from structrl_ros.wire import topics
from structrl_ros.wire.qos import message_type
from structrl_ros.wire.qos import publisher_qos
from structrl_ros.wire.stamps import RosClock
from structrl_ros.wire.stamps import header_to_message

#: Wall seconds between two heartbeats: an arm holds after one control period without.
BEAT_S = 0.02


class Heartbeat:
    """Beats from `start` to `stop`, in the executor: who hangs there has none."""

    def __init__(self, node: Node) -> None:
        """Make the publisher; `node` is whose process lives."""
        topic = topics.HEARTBEAT
        self._node, self._clock = node, RosClock(node)
        self._beats = node.create_publisher(message_type(topic), topic, publisher_qos(topic))
        self._timer: Any = None

    def start(self) -> None:
        """Begin to beat."""
        wall = Clock(clock_type=ClockType.STEADY_TIME)
        self._timer = self._node.create_timer(BEAT_S, self._beat, clock=wall)

    def stop(self) -> None:
        """Cease."""
        if self._timer is not None:
            self._node.destroy_timer(self._timer)
            self._timer = None

    def close(self) -> None:
        """Cease and free the publisher."""
        self.stop()
        self._node.destroy_publisher(self._beats)

    def _beat(self) -> None:
        if self._beats.get_subscription_count():
            self._beats.publish(header_to_message(self._clock.now_ns(), self._node.get_name()))
