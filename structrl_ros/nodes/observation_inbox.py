"""Subscriptions to what a policy looks at, and nothing else."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from rclpy.node import Node

from structrl_ros.control.observation_store import ObservationStore
from structrl_ros.errors import MessageError
from structrl_ros.types import PolicySpec
from structrl_ros.wire import topics
from structrl_ros.wire.body_codecs import simulator_state_from_message
from structrl_ros.wire.image_codecs import image_from_message
from structrl_ros.wire.proprioception_codecs import proprioception_from_messages
from structrl_ros.wire.qos import message_type
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
        self._node = node
        self._lock = lock
        self._store = store
        self._then = then
        self._joints: Any = None
        self._pose: Any = None
        self._lockstep = lockstep
        self._subscriptions: list[Any] = []
        self._hear(topics.JOINT_STATES, _as_it_is, self._take_joints)
        self._hear(topics.EE_POSE, _as_it_is, self._take_pose)
        for role in spec.roles:
            self._hear(topics.image_topic(role), image_from_message, self._image_taker(role))
        if spec.privileged:
            state = topics.PRIVILEGED_STATE
            self._hear(state, simulator_state_from_message, store.take_simulator)

    def close(self) -> None:
        """End the subscriptions."""
        for subscription in self._subscriptions:
            self._node.destroy_subscription(subscription)
        self._subscriptions = []

    def _guard(self, take: Callable[[Any], None]) -> Callable[[Any], None]:
        def heard(message: Any) -> None:
            try:
                with self._lock:
                    take(message)
            except MessageError as error:
                self._node.get_logger().warning(str(error), throttle_duration_sec=1.0)
                return
            self._then()

        return heard

    def _take_joints(self, message: Any) -> None:
        self._joints = message
        self._pair()

    def _take_pose(self, message: Any) -> None:
        self._pose = message
        self._pair()

    def _pair(self) -> None:
        joints, pose = self._joints, self._pose
        if joints is None or pose is None or joints.header.stamp != pose.header.stamp:
            return
        self._joints = self._pose = None
        self._store.take_proprioception(proprioception_from_messages(joints, pose))

    def _image_taker(self, role: str) -> Callable[[Any], None]:
        def take(message: Any) -> None:
            stamp_ns, image = image_from_message(message)
            self._store.take_image(role, stamp_ns, image)

        return take

    def _take_state(self, message: Any) -> None:
        self._store.take_simulator(simulator_state_from_message(message))
