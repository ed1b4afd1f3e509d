"""What a body's thread waits for: chunks, and requests of other threads.

Chunks are taken by the body's thread itself. Through the executor each of them would cost two wait
sets over everything that the node has, and a switch of threads: more than all else of the bridge.
"""

from __future__ import annotations

import queue
import time
from collections.abc import Callable
from typing import Any

from rclpy.callback_groups import CallbackGroup
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node

Action = Callable[[], None]


class _NotOfTheExecutor(CallbackGroup):
    """A group that no executor serves."""

    def can_execute(self, entity: Any) -> bool:
        return False

    def beginning_execution(self, entity: Any) -> bool:
        return False

    def ending_execution(self, entity: Any) -> None:
        return None


class BodyInbox:
    """`put` from any thread, `get` from the body's thread alone; requests go before chunks."""

    def __init__(self, node: Node, topic: str, kind: type[Any], qos: Any) -> None:
        """Subscribe to the topic of chunks."""
        self._requests: queue.SimpleQueue[Action | None] = queue.SimpleQueue()
        self._node = node
        self._group = _NotOfTheExecutor()
        self._subscription = node.create_subscription(
            kind,
            topic,
            lambda _: None,
            qos,
            callback_group=self._group,
            event_callbacks=SubscriptionEventCallbacks(use_default_callbacks=False),
        )
        self._bell = node.create_guard_condition(lambda: None, callback_group=self._group)
        self._wait_set = rclpy_implementation.WaitSet(1, 1, 0, 0, 0, 0, node.context.handle)
        self.heard: Callable[[Any], None] = lambda _: None

    def put(self, request: Action | None) -> None:
        """Add a request; None only wakes the thread."""
        self._requests.put(request)
        self._bell.trigger()

    def get(self, wait_s: float, *, with_chunks: bool = True) -> Action | None:
        """Return what is to be done next, None if nothing came within the time.

        Args:
            wait_s: Longest time to wait, seconds; 0 only looks.
            with_chunks: Whether chunks are taken, too; without, they wait. To ask for one costs
                as much as a small step of a world.
        """
        action = self._request() or (self._chunk() if with_chunks else None)
        end = time.monotonic() + wait_s
        while action is None and wait_s > 0.0:
            self._wait_set.clear_entities()
            if with_chunks:
                self._wait_set.add_subscription(self._subscription.handle)
            self._wait_set.add_guard_condition(self._bell.handle)
            self._wait_set.wait(round(1e9 * wait_s))
            action = self._request() or (self._chunk() if with_chunks else None)
            wait_s = end - time.monotonic()
        return action

    def _request(self) -> Action | None:
        try:
            return self._requests.get_nowait() or (lambda: None)
        except queue.Empty:
            return None

    def _chunk(self) -> Action | None:
        subscription = self._subscription
        taken = subscription.handle.take_message(subscription.msg_type, subscription.raw)
        return None if taken is None else lambda: self.heard(taken[0])
