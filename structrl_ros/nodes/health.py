"""What a node says of one of its parts on /diagnostics."""

from __future__ import annotations

from collections.abc import Mapping

from rclpy.node import Node

from structrl_ros.wire import topics
from structrl_ros.wire.qos import message_type
from structrl_ros.wire.qos import publisher_qos
from structrl_ros.wire.stamps import RosClock
from structrl_ros.wire.task_codecs import HealthLevel
from structrl_ros.wire.task_codecs import health_to_message


class Health:
    """Publishes the state of a part under one name, `<node>: <part>`."""

    def __init__(self, node: Node, part: str) -> None:
        """Make the publisher.

        Args:
            node: Whose part it is, and whose clock stamps it.
            part: Its name.
        """
        topic = topics.DIAGNOSTICS
        self._publisher = node.create_publisher(message_type(topic), topic, publisher_qos(topic))
        self._node, self._name = node, f'{node.get_name()}: {part}'
        self._clock = RosClock(node)

    def tell(
        self,
        level: HealthLevel,
        text: str,
        values: Mapping[str, object],
        *,
        stamp_ns: int | None = None,
    ) -> None:
        """Publish the state.

        Args:
            level: How bad it is.
            text: It, in a line.
            values: Numbers and names for who looks closer.
            stamp_ns: What time it is about; now by default.
        """
        stamp_ns = self._clock.now_ns() if stamp_ns is None else stamp_ns
        self._publisher.publish(health_to_message(stamp_ns, self._name, level, text, values))

    def close(self) -> None:
        """Free the publisher."""
        self._node.destroy_publisher(self._publisher)
