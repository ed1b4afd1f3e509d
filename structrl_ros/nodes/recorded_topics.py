"""Which topics of the contract recorder_node takes, as what, and which of them it counts."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from typing import Any

from rclpy.qos import DurabilityPolicy
from rclpy.qos import ReliabilityPolicy
from rclpy.serialization import deserialize_message

from structrl_ros.recording.bag_format import TopicQos
from structrl_ros.wire import topics
from structrl_ros.wire.chunk_codecs import chunk_done_from_message
from structrl_ros.wire.qos import TOPICS
from structrl_ros.wire.qos import message_type
from structrl_ros.wire.qos import publisher_qos
from structrl_ros.wire.qos import type_name
from structrl_ros.wire.reward_codecs import predicates_from_message
from structrl_ros.wire.reward_codecs import reward_from_message

#: Topics whose messages are numbered by chunk without a hole.
NUMBERED: Mapping[str, Callable[[Any], Any]] = {
    topics.PREDICATES: predicates_from_message,
    topics.CHUNK_DONE: chunk_done_from_message,
    topics.REWARD: reward_from_message,
}


def recorded_topics(images: str) -> tuple[str, ...]:
    """Return the topics of the contract to record; `images` is 'head', 'all' or 'none'."""
    roles = {'head': ('head',), 'none': ()}.get(images)
    if roles is None:
        return TOPICS
    cameras = {*topics.IMAGES, *topics.CAMERA_INFOS, *topics.DEPTHS}
    names = (topics.image_topic, topics.camera_info_topic, topics.depth_topic)
    wanted = {name(role) for role in roles for name in names}
    return tuple(topic for topic in TOPICS if topic not in cameras or topic in wanted)


def bag_topic(topic: str) -> tuple[str, TopicQos]:
    """Return what a bag keeps of a topic of the contract: type, profile of its publishers."""
    offered = publisher_qos(topic)
    qos = TopicQos(
        reliable=offered.reliability == ReliabilityPolicy.RELIABLE,
        transient_local=offered.durability == DurabilityPolicy.TRANSIENT_LOCAL,
        depth=offered.depth,
    )
    return type_name(topic), qos


def chunk_number(topic: str, data: bytes) -> tuple[int, int] | None:
    """Return (episode, chunk) of a serialised message, None if its topic is not numbered.

    Raises:
        MessageError: If the message breaks the contract.
    """
    decode = NUMBERED.get(topic)
    if decode is None:
        return None
    value = decode(deserialize_message(data, message_type(topic)))
    return value.episode, value.chunk
