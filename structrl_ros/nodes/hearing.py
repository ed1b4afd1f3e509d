"""Subscriptions that decode first; a message that breaks the contract is logged and dropped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from typing import TypeVar

from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription

from structrl_ros.errors import MessageError
from structrl_ros.wire.qos import message_type
from structrl_ros.wire.qos import subscriber_qos

Value = TypeVar('Value')


def hear(
    node: Node,
    topic: str,
    decode: Callable[[Any], Value],
    take: Callable[[Value], None],
    qos: QoSProfile | None = None,
    *,
    kind: type[Any] | None = None,
) -> Subscription:
    """Subscribe to a topic of the contract.

    Args:
        node: Whose subscription it is.
        topic: Relative name.
        decode: Makes a value of a message; its MessageError is a warning, once a second at most.
        take: Takes the value, in the executor's thread.
        qos: Default: that of subscribers.
        kind: Type of the messages; default: that of the topic.
    """

    def heard(message: Any) -> None:
        try:
            value = decode(message)
        except MessageError as error:
            node.get_logger().warning(f'{topic}: {error}', throttle_duration_sec=1.0)
            return
        take(value)

    qos = subscriber_qos(topic) if qos is None else qos
    kind = message_type(topic) if kind is None else kind
    return node.create_subscription(kind, topic, heard, qos)


class Ears:
    """Subscriptions of one part of a node, which end together."""

    def __init__(self, node: Node, qos: Callable[[str], QoSProfile] = subscriber_qos) -> None:
        """Hear nothing yet; `qos` is asked for the profile of each topic."""
        self._node, self._qos = node, qos
        self._subscriptions: list[Subscription] = []

    def hear(
        self, topic: str, decode: Callable[[Any], Value], take: Callable[[Value], None]
    ) -> None:
        """Subscribe, as the function `hear` does."""
        self._subscriptions.append(hear(self._node, topic, decode, take, self._qos(topic)))

    def close(self) -> None:
        """End the subscriptions; a second call does nothing."""
        while self._subscriptions:
            self._node.destroy_subscription(self._subscriptions.pop())
