"""How long ago something last came, on a steady clock: heartbeats, pictures of a role."""

from __future__ import annotations

import math
import time
from typing import Any

from rclpy.node import Node

from structrl_ros.wire import topics
from structrl_ros.wire.qos import message_type
from structrl_ros.wire.qos import subscriber_qos


class Freshness:
    """Age of the newest message of a topic; one whose stamp does not rise does not count."""

    def __init__(self, node: Node, topic: str) -> None:
        """Subscribe."""
        self._came_s = -math.inf
        self._stamp = (-1, 0)
        node.create_subscription(message_type(topic), topic, self._hear, subscriber_qos(topic))

    @property
    def age_s(self) -> float:
        """Seconds since something new came; infinite before."""
        return time.monotonic() - self._came_s

    def _hear(self, message: Any) -> None:
        header = getattr(message, 'header', message)
        stamp = (header.stamp.sec, header.stamp.nanosec)
        if stamp > self._stamp:
            self._stamp, self._came_s = stamp, time.monotonic()


def picture_freshness(node: Node, role: str) -> Freshness:
    """Return the freshness of a role's pictures, by their intrinsics, which are small."""
    return Freshness(node, topics.camera_info_topic(role))
