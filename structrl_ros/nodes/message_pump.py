"""Waits for messages and answers without an executor, for a client that does nothing else.

An executor looks at every entity of the node, makes a wait set and a task for each message; for a
trainer that waits for three messages a chunk this would be most of what the bridge costs. As in
rclpy's own `wait_for_message`, the wait set is used directly.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node

from structrl_ros.errors import SimulationError

#: Longest time without looking whether somebody died or a signal came, seconds.
LOOK_S = 0.2
#: Time after which quiet topics are looked at again when something came, seconds.
SOON_S = 0.001


class MessagePump:
    """Subscriptions and clients of a node, served by whoever waits."""

    def __init__(self, node: Node) -> None:
        """Serve a node that no executor serves."""
        self._node = node
        self._takers: dict[Any, Callable[[Any], None]] = {}
        self._loud: list[Any] = []
        self._quiet: list[Any] = []
        self._clients: list[Any] = []
        self._wait_set: Any = None

    def hear(
        self,
        kind: type[Any],
        topic: str,
        qos: Any,
        take: Callable[[Any], None],
        *,
        is_quiet: bool = False,
    ) -> None:
        """Subscribe; `take` is called with each message while somebody waits.

        A quiet topic is one whose message is followed by one of another topic. It does not end a
        wait by itself: one wake-up brings all that belongs together.
        """
        subscription = self._node.create_subscription(kind, topic, take, qos)
        self._takers[subscription] = take
        (self._quiet if is_quiet else self._loud).append(subscription)
        self._wait_set = None

    def client(self, kind: type[Any], service: str) -> Any:
        """Return a client whose futures are done while somebody waits."""
        client = self._node.create_client(kind, service)
        self._clients.append(client)
        self._wait_set = None
        return client

    def wait_until(
        self,
        happened: Callable[[], bool],
        limit_s: float,
        complaint: Callable[[], str],
        look: Callable[[], None] = lambda: None,
    ) -> None:
        """Serve until something happened.

        Args:
            happened: Looked at after every message.
            limit_s: Wall seconds.
            complaint: Says what did not happen.
            look: Called some times a second; raises to give up earlier.

        Raises:
            SimulationError: If it does not happen within the limit.
        """
        end = time.monotonic() + limit_s
        next_look = time.monotonic() + LOOK_S
        pause_s = LOOK_S
        while not happened():
            # A quiet message that was overtaken is looked for soon, then ever more rarely.
            was_woken = self._serve(min(pause_s, limit_s))
            pause_s = SOON_S if was_woken else min(2.0 * pause_s, LOOK_S)
            now = time.monotonic()
            if now >= next_look and not happened():
                look()
                next_look = now + LOOK_S
                if now >= end:
                    raise SimulationError(f'{complaint()} within {limit_s:g} s')

    def close(self) -> None:
        """Forget everything, before the node is destroyed."""
        self._takers, self._loud, self._quiet, self._clients = {}, [], [], []
        self._wait_set = None

    def _serve(self, limit_s: float) -> bool:
        """Wait for anything that is not quiet, take all that is there; tell whether it came."""
        wait_set = self._wait_set or self._make_wait_set()
        wait_set.clear_entities()
        for subscription in self._loud:
            wait_set.add_subscription(subscription.handle)
        for client in self._clients:
            wait_set.add_client(client.handle)
        wait_set.wait(round(1e9 * limit_s))
        ready = set(wait_set.get_ready_entities('subscription'))
        for subscription in self._loud if ready else ():
            if subscription.handle.pointer in ready:
                self._take(subscription)
        for subscription in self._quiet:
            self._take(subscription)
        answered = set(wait_set.get_ready_entities('client'))
        for client in self._clients if answered else ():
            if client.handle.pointer in answered:
                _answer(client)
        return bool(ready or answered)

    def _make_wait_set(self) -> Any:
        counts = (len(self._loud), 0, 0, len(self._clients), 0, 0)
        context = self._node.context.handle
        self._wait_set = rclpy_implementation.WaitSet(*counts, context)
        return self._wait_set

    def _take(self, subscription: Any) -> None:
        """Take one message; what is left is taken after the next wait."""
        taken = subscription.handle.take_message(subscription.msg_type, subscription.raw)
        if taken is not None:
            self._takers[subscription](taken[0])


def _answer(client: Any) -> None:
    header, response = client.handle.take_response(client.srv_type.Response)
    if header is None:
        return
    try:
        future = client.get_pending_request(header.request_id.sequence_number)
    except KeyError:
        return  # nobody waits for it any more
    future.set_result(response)
