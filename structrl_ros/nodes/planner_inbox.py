"""Subscriptions of planner_node: everything that planner and monitor look at, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from rclpy.node import Node

from structrl_ros.errors import MessageError
from structrl_ros.plan.session import TaskSession
from structrl_ros.types import Progress
from structrl_ros.types import Reward
from structrl_ros.wire import topics
from structrl_ros.wire.body_codecs import episode_from_message
from structrl_ros.wire.chunk_codecs import chunk_done_from_message
from structrl_ros.wire.image_codecs import image_from_message
from structrl_ros.wire.qos import message_type
from structrl_ros.wire.qos import subscriber_qos
from structrl_ros.wire.reward_codecs import predicates_from_message
from structrl_ros.wire.reward_codecs import progress_from_message
from structrl_ros.wire.reward_codecs import reward_from_message
from structrl_ros.wire.stamps import stamp_from_header


class PlannerInbox:
    """Decodes messages into a session; one that breaks the contract is logged and dropped."""

    def __init__(
        self,
        node: Node,
        session: TaskSession,
        note: Callable[[Reward | Progress], None],
        roles: tuple[str, ...],
        *,
        lockstep: bool,
    ) -> None:
        """Subscribe.

        Args:
            node: Whose subscriptions they are.
            session: Takes what the body says.
            note: Takes rewards and progress, for the feedback of a task.
            roles: Cameras that a backend needs; images cost the body, so no others are asked for.
            lockstep: Ask for everything reliably.
        """
        self._node, self._session = node, session
        hear: dict[str, Callable[[Any], None]] = {
            topics.EPISODE: lambda m: session.see_episode(episode_from_message(m)),
            topics.CHUNK_DONE: lambda m: session.see_chunk(chunk_done_from_message(m)),
            topics.PREDICATES: lambda m: self._take('take_predicates', predicates_from_message(m)),
            topics.JOINT_STATES: lambda m: self._take('take_stamp', stamp_from_header(m.header)),
            topics.REWARD: lambda m: note(reward_from_message(m)),
            topics.PROGRESS: lambda m: note(progress_from_message(m)),
        }
        hear |= {topics.image_topic(role): partial(self._take_image, role) for role in roles}
        self._subscriptions = [
            node.create_subscription(
                message_type(topic),
                topic,
                self._guard(take),
                subscriber_qos(topic, lockstep=lockstep),
            )
            for topic, take in hear.items()
        ]

    def close(self) -> None:
        """End the subscriptions."""
        for subscription in self._subscriptions:
            self._node.destroy_subscription(subscription)
        self._subscriptions = []

    def _take(self, method: str, *values: Any) -> None:
        self._session.update(lambda latest: getattr(latest, method)(*values))

    def _take_image(self, role: str, message: Any) -> None:
        self._take('take_image', role, *image_from_message(message))

    def _guard(self, take: Callable[[Any], None]) -> Callable[[Any], None]:
        def heard(message: Any) -> None:
            try:
                take(message)
            except MessageError as error:
                self._node.get_logger().warning(str(error), throttle_duration_sec=1.0)

        return heard
