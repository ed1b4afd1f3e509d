"""Subscriptions of recorder_node: raw bytes, each topic as its publishers offer it.

They ask for everything reliably and for what is latched. A publisher that offers less (a driver
with the sensor-data profile, a foreign node that latches nothing) would never be heard then, and
nothing would say so: the middleware's word of it makes the inbox ask for what all of the topic's
publishers offer.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
from functools import partial
from typing import Any

from rclpy.clock import Clock
from rclpy.clock import ClockType
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy
from rclpy.qos import QoSProfile
from rclpy.qos import ReliabilityPolicy

from structrl_ros.recording.gaps import PublicationCounter
from structrl_ros.wire.qos import message_type
from structrl_ros.wire.qos import recorder_qos

#: Seconds from the word of a publisher that is not heard to a subscription that hears it, at most.
ADAPT_S = 0.1


class RecorderInbox:
    """One subscription a topic.

    Attributes:
        publications: What the publishers sent and this node did not get.
    """

    def __init__(
        self,
        node: Node,
        take: Callable[[str, bytes], None],
        offered: Callable[[str, str], None],
    ) -> None:
        """Hear nothing yet.

        Args:
            node: Whose subscriptions they are.
            take: Gets (topic of the contract, serialised message).
            offered: Told of (topic, words) where publishers offer less than the contract.
        """
        self._node, self._take, self._offered = node, take, offered
        self._subscriptions: dict[str, Any] = {}
        self._unheard: set[str] = set()
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._adapting = node.create_timer(ADAPT_S, self._adapt, clock=steady, autostart=False)
        self.publications = PublicationCounter()

    def open(self, topic: str) -> None:
        """Hear a topic of the contract."""
        self._subscribe(topic, recorder_qos(topic))

    def close(self) -> None:
        """Take what has come and hear nothing more, until topics are opened again."""
        for topic in list(self._subscriptions):
            self._drain_and_close(topic)
        self._unheard.clear()

    def connected(self) -> list[str]:
        """Return the topics that have a publisher that is heard."""
        return [t for t, s in self._subscriptions.items() if s.get_publisher_count()]

    def _miss(self, topic: str) -> None:
        """Note a topic; its subscription cannot be replaced while it tells of this."""
        self._unheard.add(topic)
        self._adapting.reset()

    def _adapt(self) -> None:
        """Hear the publishers that were not; runs only after there were some."""
        self._adapting.cancel()
        while self._unheard:
            topic = self._unheard.pop()
            name = self._node.resolve_topic_name(topic)
            infos = self._node.get_publishers_info_by_topic(name)
            wanted = compatible_qos(recorder_qos(topic), [i.qos_profile for i in infos])
            self._drain_and_close(topic)
            self._subscribe(topic, wanted)
            self._offered(topic, qos_words(wanted))

    def _subscribe(self, topic: str, qos: QoSProfile) -> None:
        name = self._node.resolve_topic_name(topic)
        events = SubscriptionEventCallbacks(incompatible_qos=lambda _: self._miss(topic))
        self._subscriptions[topic] = self._node.create_subscription(
            message_type(topic),
            topic,
            partial(self._hear, topic, name),
            qos,
            event_callbacks=events,
            raw=True,
        )

    def _hear(self, topic: str, name: str, data: bytes, info: Any) -> None:
        number = info.get('publication_sequence_number')
        if number is not None:
            publishers = self._subscriptions[topic].get_publisher_count()
            gap = self.publications.see(name, number, publishers)
            if gap:
                self._node.get_logger().warning(
                    f'{name}: {gap} missing before publication {number}',
                    throttle_duration_sec=1.0,
                )
        self._take(topic, data)

    def _drain_and_close(self, topic: str) -> None:
        """Take what has come already, then end the subscription."""
        subscription = self._subscriptions.pop(topic)
        with subscription.handle:
            while (
                taken := subscription.handle.take_message(message_type(topic), True)
            ) is not None:
                self._take(topic, taken[0])
        self.publications.forget(self._node.resolve_topic_name(topic))
        self._node.destroy_subscription(subscription)


def compatible_qos(wanted: QoSProfile, offered: Sequence[QoSProfile]) -> QoSProfile:
    """Return the profile nearest to the wanted one that hears every publisher.

    Best effort as soon as one offers no more, volatile as soon as one latches nothing.
    """
    best_effort = any(o.reliability is ReliabilityPolicy.BEST_EFFORT for o in offered)
    volatile = any(o.durability is DurabilityPolicy.VOLATILE for o in offered)
    return QoSProfile(
        history=wanted.history,
        depth=wanted.depth,
        reliability=ReliabilityPolicy.BEST_EFFORT if best_effort else wanted.reliability,
        durability=DurabilityPolicy.VOLATILE if volatile else wanted.durability,
        liveliness=wanted.liveliness,
    )


def qos_words(qos: QoSProfile) -> str:
    """Return what decides whether two sides meet, in words."""
    reliable = qos.reliability is ReliabilityPolicy.RELIABLE
    latched = qos.durability is DurabilityPolicy.TRANSIENT_LOCAL
    return (
        f'{"reliable" if reliable else "best effort"}, '
        f'{"transient local" if latched else "volatile"}'
    )
