"""Where the messages of a bag go out, and whether who needs them listens."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping

from rclpy.node import Node

from structrl_ros.recording.bag_reader import RawMessage
from structrl_ros.wire import topics
from structrl_ros.wire.qos import message_type
from structrl_ros.wire.qos import publisher_qos
from structrl_ros.wire.stamps import clock_to_message

#: What a tracker must not miss a message of.
NEEDED = (topics.EPISODE, topics.PLAN, topics.VERDICT, topics.PREDICATES, topics.CHUNK_DONE)


class ReplayOutlets:
    """One publisher a topic that is played, and one of `/clock`.

    Attributes:
        played: How many messages of the bag went out.
    """

    def __init__(self, node: Node, names: Mapping[str, str]) -> None:
        """Make the publishers.

        Args:
            node: Whose they are.
            names: Name in the bag to topic of the contract, see `played_topics`.
        """
        self._node, self._names = node, names
        self._has_clock = topics.CLOCK in names.values()
        self._outlets = {
            topic: node.create_publisher(message_type(topic), topic, publisher_qos(topic))
            for topic in dict.fromkeys([*names.values(), topics.CLOCK])
        }
        self.played = 0

    def publish(self, messages: Iterable[RawMessage]) -> int:
        """Publish messages byte for byte, and return how many they were."""
        count = 0
        for message in messages:
            self._outlets[self._names[message.topic]].publish(message.data)
            count += 1
        self.played += count
        return count

    def tell_time(self, now_ns: int) -> None:
        """Publish the bag's time, nanoseconds, where no clock was recorded."""
        if not self._has_clock:
            self._outlets[topics.CLOCK].publish(clock_to_message(now_ns))

    def is_heard(self, subscribers: int, listeners: Collection[str]) -> bool:
        """Return whether enough listen to what a brain cannot do without.

        Args:
            subscribers: Of each topic of `NEEDED` that is played.
            listeners: Names of nodes that must have subscribed to a picture.
        """
        needed = [topic for topic in NEEDED if topic in self._outlets]
        counts = [self._outlets[topic].get_subscription_count() for topic in needed]
        enough = min(counts, default=0) >= subscribers
        return enough and all(self._hears_pictures(name) for name in listeners)

    def _hears_pictures(self, name: str) -> bool:
        """Return whether a node subscribes to a picture that is played, if any is."""
        played = [topic for topic in self._outlets if topic in topics.IMAGES]
        infos = [i for topic in played for i in self._node.get_subscriptions_info_by_topic(topic)]
        return not played or any(info.node_name == name for info in infos)
