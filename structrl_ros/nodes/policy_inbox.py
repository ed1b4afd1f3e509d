"""Subscriptions of policy_node: what decides when the policy is asked, and what it looks at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.node import Node

from structrl_ros.control.chunk_requester import News
from structrl_ros.control.observation_store import ObservationStore
from structrl_ros.nodes.hearing import Ears
from structrl_ros.nodes.observation_inbox import ObservationInbox
from structrl_ros.nodes.policy_driver import PolicyDriver
from structrl_ros.types import PolicySpec
from structrl_ros.wire import topics
from structrl_ros.wire.body_codecs import episode_from_message
from structrl_ros.wire.body_codecs import safety_from_message
from structrl_ros.wire.chunk_codecs import chunk_done_from_message
from structrl_ros.wire.chunk_codecs import intervention_from_message
from structrl_ros.wire.plan_codecs import plan_from_message
from structrl_ros.wire.plan_codecs import subtask_status_from_message

#: Topic and decoder of what decides when the policy is asked.
_HEARD: tuple[tuple[str, Callable[[Any], News]], ...] = (
    (topics.PLAN, plan_from_message),
    (topics.SUBTASK, subtask_status_from_message),
    (topics.EPISODE, episode_from_message),
    (topics.CHUNK_DONE, chunk_done_from_message),
    (topics.SAFETY, safety_from_message),
    (topics.INTERVENTION, intervention_from_message),
)


class PolicyInbox:
    """Hears the news for a driver, and the observations that its policy wants."""

    def __init__(self, node: Node, driver: PolicyDriver, *, lockstep: bool) -> None:
        """Subscribe to the news; observations follow with `look`.

        Args:
            node: Whose subscriptions they are.
            driver: Takes what is heard.
            lockstep: Ask for every observation reliably.
        """
        self._node, self._driver, self._lockstep = node, driver, lockstep
        self._observations: ObservationInbox | None = None
        self._news = Ears(node)
        for topic, decode in _HEARD:
            self._news.hear(topic, decode, driver.see)

    def look(self, spec: PolicySpec, store: ObservationStore) -> None:
        """Subscribe to what a new policy looks at, in place of what the last one did."""
        if self._observations is not None:
            self._observations.close()
        self._observations = ObservationInbox(
            self._node,
            spec,
            store,
            lock=self._driver.lock,
            lockstep=self._lockstep,
            then=self._driver.consider,
        )

    def close(self) -> None:
        """Free the subscriptions."""
        if self._observations is not None:
            self._observations.close()
        self._news.close()
