"""Subscriptions to what a policy looks at, and nothing else."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from rclpy.node import Node

from structrl_ros.control.observation_store import ObservationStore
from structrl_ros.nodes.hearing import Ears
from structrl_ros.nodes.hearing import Value
from structrl_ros.types import PolicySpec
from structrl_ros.types import Proprioception
from structrl_ros.types import UInt8
from structrl_ros.wire import topics
from structrl_ros.wire.body_codecs import simulator_state_from_message
from structrl_ros.wire.image_codecs import image_from_message
from structrl_ros.wire.proprioception_codecs import proprioception_from_messages
from structrl_ros.wire.qos import subscriber_qos


class ObservationInbox:
    """Decodes observations into a store and says when something came.

    Privileged state is subscribed to only if `PolicySpec.privileged` is set, pictures only for the
    policy's roles. Joint states and pose make one state of the arm when their stamps agree.
    """

    def __init__(
        self,
        node: Node,
        spec: PolicySpec,
        store: ObservationStore,
        *,
        lock: threading.RLock,
        lockstep: bool,
        then: Callable[[], None],
    ) -> None:
        """Subscribe.

        Args:
            node: Whose subscriptions they are.
            spec: What the policy looks at.
            store: Where it goes, touched only with `lock` held.
            lock: Shared with who reads the store.
            lockstep: Ask for everything reliably.
            then: Called after everything that was taken.
        """
        self._ears = Ears(node, partial(subscriber_qos, lockstep=lockstep))
        self._lock = lock
        self._store = store
        self._then = then
        self._joints: Any = None
        self._pose: Any = None
        self._hear(topics.JOINT_STATES, self._with_joints, self._take_pair)
        self._hear(topics.EE_POSE, self._with_pose, self._take_pair)
        for role in spec.roles:
            take = partial(self._take_image, role)
            self._hear(topics.image_topic(role), image_from_message, take)
        if spec.privileged:
            state = topics.PRIVILEGED_STATE
            self._hear(state, simulator_state_from_message, store.take_simulator)

    def close(self) -> None:
        """End the subscriptions."""
        self._ears.close()

    def _hear(
        self, topic: str, decode: Callable[[Any], Value], take: Callable[[Value], None]
    ) -> None:
        def taken(value: Value) -> None:
            with self._lock:
                take(value)
            self._then()

        self._ears.hear(topic, decode, taken)

    def _with_joints(self, message: Any) -> Proprioception | None:
        self._joints = message
        return self._pair()

    def _with_pose(self, message: Any) -> Proprioception | None:
        self._pose = message
        return self._pair()

    def _pair(self) -> Proprioception | None:
        joints, pose = self._joints, self._pose
        if joints is None or pose is None or joints.header.stamp != pose.header.stamp:
            return None
        self._joints = self._pose = None
        return proprioception_from_messages(joints, pose)

    def _take_pair(self, pair: Proprioception | None) -> None:
        if pair is not None:
            self._store.take_proprioception(pair)

    def _take_image(self, role: str, stamped: tuple[int, UInt8]) -> None:
        self._store.take_image(role, *stamped)
