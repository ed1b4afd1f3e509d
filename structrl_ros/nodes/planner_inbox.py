"""Subscriptions of planner_node: everything that planner and monitor look at, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from rclpy.node import Node

from structrl_ros.nodes.hearing import Ears
from structrl_ros.plan.session import TaskSession
from structrl_ros.types import Predicates
from structrl_ros.types import Progress
from structrl_ros.types import Reward
from structrl_ros.types import UInt8
from structrl_ros.wire import topics
from structrl_ros.wire.body_codecs import episode_from_message
from structrl_ros.wire.chunk_codecs import chunk_done_from_message
from structrl_ros.wire.image_codecs import image_from_message
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
        self._session = session
        self._ears = ears = Ears(node, partial(subscriber_qos, lockstep=lockstep))
        ears.hear(topics.EPISODE, episode_from_message, session.see_episode)
        ears.hear(topics.CHUNK_DONE, chunk_done_from_message, session.see_chunk)
        ears.hear(topics.PREDICATES, predicates_from_message, self._take_predicates)
        ears.hear(topics.JOINT_STATES, _stamp, self._take_stamp)
        ears.hear(topics.REWARD, reward_from_message, note)
        ears.hear(topics.PROGRESS, progress_from_message, note)
        for role in roles:
            take = partial(self._take_image, role)
            ears.hear(topics.image_topic(role), image_from_message, take)

    def close(self) -> None:
        """End the subscriptions."""
        self._ears.close()

    def _take_predicates(self, predicates: Predicates) -> None:
        self._session.update(lambda latest: latest.take_predicates(predicates))

    def _take_stamp(self, stamp_ns: int) -> None:
        self._session.update(lambda latest: latest.take_stamp(stamp_ns))

    def _take_image(self, role: str, stamped: tuple[int, UInt8]) -> None:
        self._session.update(lambda latest: latest.take_image(role, *stamped))


def _stamp(message: Any) -> int:
    return stamp_from_header(message.header)
