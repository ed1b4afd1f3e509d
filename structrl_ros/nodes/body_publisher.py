"""What a body says of itself, as messages: observations, truth, episode, safety, clock."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from rclpy.event_handler import PublisherEventCallbacks
from rclpy.node import Node

from structrl_ros.control.episode_results import ChunkResult
from structrl_ros.types import Episode
from structrl_ros.types import Predicates
from structrl_ros.types import Proprioception
from structrl_ros.types import Safety
from structrl_ros.types import SimulatorState
from structrl_ros.types import UInt8
from structrl_ros.wire import topics
from structrl_ros.wire.body_codecs import episode_to_message
from structrl_ros.wire.body_codecs import safety_to_message
from structrl_ros.wire.body_codecs import simulator_state_to_message
from structrl_ros.wire.chunk_codecs import chunk_done_to_message
from structrl_ros.wire.image_codecs import camera_info_to_message
from structrl_ros.wire.image_codecs import image_to_message
from structrl_ros.wire.proprioception_codecs import proprioception_to_messages
from structrl_ros.wire.qos import message_type
from structrl_ros.wire.qos import publisher_qos
from structrl_ros.wire.reward_codecs import predicates_to_message
from structrl_ros.wire.stamps import clock_to_message

#: What the arm says of itself.
_ARM = (topics.JOINT_STATES, topics.EE_POSE, topics.WRENCH)
_PLAIN = (
    *_ARM,
    topics.PREDICATES,
    topics.CHUNK_DONE,
    topics.EPISODE,
    topics.SAFETY,
    topics.PRIVILEGED_STATE,
    topics.CLOCK,
)


class BodyPublisher:
    """All publishers of a body, for the body's thread."""

    def __init__(
        self, node: Node, roles: tuple[str, ...], *, without: Collection[str] = ()
    ) -> None:
        """Create the publishers of the contract, with images and intrinsics of the roles.

        Args:
            node: Whose publishers they are.
            roles: Cameras that the body draws itself.
            without: Topics that this body has nothing to say on.
        """
        self._publishers: dict[str, Any] = {}
        names = [*_PLAIN, *map(topics.image_topic, roles), *map(topics.camera_info_topic, roles)]
        for topic in (name for name in names if name not in without):
            # Whoever subscribes with another QoS warns itself; the executor looks at every event
            # handler for each message, which was most of what a chunk cost.
            self._publishers[topic] = node.create_publisher(
                message_type(topic),
                topic,
                publisher_qos(topic),
                event_callbacks=PublisherEventCallbacks(use_default_callbacks=False),
            )
        self._roles = roles
        self._counts: dict[str, int] = {}
        self._clock_ns = 0

    def wanted_roles(self) -> tuple[str, ...]:
        """Return the camera roles that somebody subscribes to."""
        return tuple(r for r in self._roles if self._count(topics.image_topic(r)))

    @property
    def wants_state(self) -> bool:
        """Whether somebody subscribes to the privileged state."""
        return self._count(topics.PRIVILEGED_STATE) > 0

    @property
    def wants_proprioception(self) -> bool:
        """Whether somebody subscribes to the arm's own state."""
        return any(self._count(topic) for topic in _ARM)

    def readers(self) -> dict[str, int]:
        """Count, and return, the subscribers of each topic that is not latched."""
        images = [topics.image_topic(role) for role in self._roles]
        loose = [topics.CLOCK, *_ARM, topics.PREDICATES, topics.PRIVILEGED_STATE, *images]
        self._counts = {}
        return {topic: self._count(topic) for topic in loose}

    def clock(self, now_ns: int) -> None:
        """Publish `/clock` to its readers; a time before one that was published is left out."""
        if now_ns >= self._clock_ns and self._count(topics.CLOCK):
            self._clock_ns = now_ns
            self._send(topics.CLOCK, clock_to_message(now_ns))

    def proprioception(self, state: Proprioception) -> None:
        """Publish joint states, pose and, where there is one, wrench."""
        messages = proprioception_to_messages(state)
        self._send(topics.JOINT_STATES, messages.joint_states)
        self._send(topics.EE_POSE, messages.ee_pose)
        if messages.wrench is not None:
            self._send(topics.WRENCH, messages.wrench)

    def image(self, role: str, image: UInt8, stamp_ns: int, vertical_fov: float | None) -> None:
        """Publish a picture and, where the field of view (rad) is known, its intrinsics."""
        frame = f'{role}_camera_optical'
        if vertical_fov is not None:
            height, width, _ = image.shape
            info = camera_info_to_message(stamp_ns, frame, width, height, vertical_fov)
            self._send(topics.camera_info_topic(role), info)
        self._send(topics.image_topic(role), image_to_message(image, stamp_ns, frame))

    def state(self, state: SimulatorState) -> None:
        """Publish the privileged state."""
        self._send(topics.PRIVILEGED_STATE, simulator_state_to_message(state))

    def predicates(self, predicates: Predicates) -> None:
        """Publish truth over a chunk."""
        self._send(topics.PREDICATES, predicates_to_message(predicates))

    def episode(self, episode: Episode | None) -> None:
        """Publish start or end of an episode, latched."""
        if episode is not None:
            self._send(topics.EPISODE, episode_to_message(episode))

    def safety(self, safety: Safety) -> None:
        """Publish the safety state, latched."""
        self._send(topics.SAFETY, safety_to_message(safety))

    def result(self, result: ChunkResult | None) -> None:
        """Publish what a chunk did, and the end of the episode if it was the last."""
        if result is not None:
            self.predicates(result.predicates)
            self._send(topics.CHUNK_DONE, chunk_done_to_message(result.done))
            self.episode(result.end)

    def _count(self, topic: str) -> int:
        """Return the number of subscribers when `readers` was last asked for, or now."""
        count = self._counts.get(topic)
        if count is None:
            publisher = self._publishers.get(topic)
            count = 0 if publisher is None else int(publisher.get_subscription_count())
            self._counts[topic] = count
        return count

    def _send(self, topic: str, message: Any) -> None:
        if topic in self._publishers:
            self._publishers[topic].publish(message)
