"""Publishes calibrated transforms, latched: on `/tf_static`, or singly without tf2_msgs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from collections.abc import Sequence
from typing import Any

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy
from rclpy.qos import QoSProfile

from structrl_ros.errors import MessageError
from structrl_ros.nodes.spinning import run_node
from structrl_ros.types import Float64
from structrl_ros.wire.stamps import RosClock
from structrl_ros.wire.transform_codecs import tf_message_type
from structrl_ros.wire.transform_codecs import transform_to_message
from structrl_ros.wire.transform_codecs import transforms_to_message

TF_STATIC = '/tf_static'
#: Topic of single geometry_msgs/TransformStamped, for graphs from wheels; one topic a child.
SINGLE = 'calibration/{child}'


class StaticTransforms(Node):
    """Keeps transforms published as long as it lives.

    Attributes:
        topics: What it publishes on.
    """

    def __init__(self, transforms: Sequence[tuple[str, str, Float64]], **options: Any) -> None:
        """Publish.

        Args:
            transforms: Parent, child and pose (x, y, z, quaternion xyzw) of each.
            **options: Of rclpy's Node.

        Raises:
            MessageError: If a transform is no transform.
        """
        super().__init__('static_transforms', **options)
        now_ns = RosClock(self).now_ns()
        messages = [transform_to_message(p, c, pose, now_ns) for p, c, pose in transforms]
        latched = QoSProfile(
            depth=max(len(messages), 1), durability=DurabilityPolicy.TRANSIENT_LOCAL
        )
        self.topics: list[str] = []
        try:
            self._publish(tf_message_type(), TF_STATIC, transforms_to_message(messages), latched)
        except MessageError:
            for message in messages:
                topic = SINGLE.format(child=message.child_frame_id)
                self._publish(type(message), topic, message, latched)

    def _publish(self, kind: type[Any], topic: str, message: Any, qos: QoSProfile) -> None:
        self.create_publisher(kind, topic, qos).publish(message)
        self.topics.append(topic)


def publish_until_signal(
    transforms: Sequence[tuple[str, str, Float64]], *, tell: Callable[[list[str]], None]
) -> list[str]:
    """Publish until SIGINT or SIGTERM and return the topics.

    Args:
        transforms: Parent, child and pose of each.
        tell: Called with the topics once they are published.
    """
    topics: list[str] = []

    def make(ended: threading.Event) -> StaticTransforms:
        node = StaticTransforms(transforms)
        topics.extend(node.topics)
        tell(node.topics)
        return node

    run_node('static_transforms', make, lambda node, executor: node.destroy_node())
    return topics
