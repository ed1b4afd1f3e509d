"""policy_node: asks a policy for chunks and publishes them (lifecycle, autostart)."""

from __future__ import annotations

import sys
from collections.abc import Callable
from collections.abc import Sequence
from functools import partial
from typing import Any

from rclpy.clock import Clock
from rclpy.clock import ClockType
from rclpy.lifecycle import LifecycleNode
from rclpy.lifecycle import TransitionCallbackReturn

from structrl_ros.errors import StructRLError
from structrl_ros.nodes.health import Health
from structrl_ros.nodes.heartbeat import Heartbeat
from structrl_ros.nodes.parameters import declare
from structrl_ros.nodes.policies import PolicyMaker
from structrl_ros.nodes.policies import check_policy
from structrl_ros.nodes.policies import make_policy
from structrl_ros.nodes.policy_driver import DriverPorts
from structrl_ros.nodes.policy_driver import PolicyDriver
from structrl_ros.nodes.policy_inbox import PolicyInbox
from structrl_ros.nodes.spinning import run_node
from structrl_ros.params.policy import PolicyParameters
from structrl_ros.types import ActionChunk
from structrl_ros.wire import topics
from structrl_ros.wire.chunk_codecs import action_chunk_to_message
from structrl_ros.wire.qos import message_type
from structrl_ros.wire.qos import publisher_qos
from structrl_ros.wire.stamps import RosClock
from structrl_ros.wire.task_codecs import HealthLevel

#: Wall seconds after which an undelivered chunk is worthless in real time.
LIFESPAN_S = 2.0
SUCCESS = TransitionCallbackReturn.SUCCESS
FAILURE = TransitionCallbackReturn.FAILURE


class PolicyNode(LifecycleNode):
    """Subscribes, publishes, reports; `PolicyDriver` decides. `close` ends its thread."""

    def __init__(self, *, maker: PolicyMaker = make_policy, **options: Any) -> None:
        """Declare parameters; with `autostart`, configure and activate.

        Args:
            maker: Makes the policy for a body; tests give their own.
            **options: Of rclpy's Node.

        Raises:
            StructRLError: If a parameter is not allowed.
        """
        super().__init__('policy_node', **options)
        self._settings = p = declare(self, PolicyParameters)
        self._owned: list[Callable[[], Any]] = []
        self._wall_timers: list[Any] = []
        ports = DriverPorts(
            make_policy=lambda body: maker(self._settings, body),
            on_policy=lambda *policy: self._inbox.look(*policy),
            publish=self._send,
            complain=self._complain,
            clock=RosClock(self),
        )
        self._driver = PolicyDriver(ports, lockstep=p.lockstep, replan_steps=p.replan_steps)
        if p.autostart and self.trigger_configure() == SUCCESS:
            self.trigger_activate()

    def on_configure(self, state: Any) -> TransitionCallbackReturn:
        """Check that the policy can be had; subscribe to what decides when it is asked."""
        try:
            check_policy(self._settings)
        except StructRLError as error:
            self.get_logger().error(str(error))
            return FAILURE
        lifespan_s = None if self._settings.lockstep else LIFESPAN_S
        qos = publisher_qos(topics.ACTION_CHUNK, lifespan_s=lifespan_s)
        chunk = message_type(topics.ACTION_CHUNK)
        self._chunks = self.create_lifecycle_publisher(chunk, topics.ACTION_CHUNK, qos)
        self._health, self._heartbeat = Health(self, 'policy'), Heartbeat(self)
        self._inbox = PolicyInbox(self, self._driver, lockstep=self._settings.lockstep)
        self._owned = [
            *(self._inbox.close, self._heartbeat.close, self._health.close),
            partial(self.destroy_publisher, self._chunks),
        ]
        return super().on_configure(state)

    def on_activate(self, state: Any) -> TransitionCallbackReturn:
        """Begin to ask."""
        wall = Clock(clock_type=ClockType.STEADY_TIME)
        self._wall_timers = [
            self.create_timer(0.1, self._tick, clock=wall),
            self.create_timer(1.0, self._report, clock=wall),
        ]
        if self._settings.heartbeat:
            self._heartbeat.start()
        result = super().on_activate(state)
        self._driver.activate(True)
        return result

    def on_deactivate(self, state: Any) -> TransitionCallbackReturn:
        """Stop asking first; what the policy thinks of now is dropped."""
        self._driver.activate(False)
        self._heartbeat.stop()
        for timer in self._wall_timers:
            self.destroy_timer(timer)
        return super().on_deactivate(state)

    def on_cleanup(self, state: Any) -> TransitionCallbackReturn:
        """Free the policy and everything that was subscribed to."""
        self._driver.free()
        for free in self._owned:
            free()
        return super().on_cleanup(state)

    def close(self) -> None:
        """End the thread and free the policy."""
        self._driver.close()

    def _send(self, chunk: ActionChunk) -> None:
        self._chunks.publish(action_chunk_to_message(chunk))

    def _complain(self, text: str) -> None:
        if self.context.ok():  # else it is only a signal that ends the node
            self.get_logger().error(text)

    def _tick(self) -> None:
        self._driver.replan(int(self.get_parameter('replan_steps').value))
        self._driver.tick()

    def _report(self) -> None:
        waiting, numbers = self._driver.health()
        trouble = f'{waiting}: no chunk' if waiting else self._driver.slowness()
        text = trouble or f'latency {numbers["latency_s"]} s'
        if trouble:
            self.get_logger().warning(text, throttle_duration_sec=5.0)
        level = HealthLevel.WARN if trouble else HealthLevel.OK
        self._health.tell(level, text, numbers)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM."""
    return run_node('policy_node', lambda _: PolicyNode(), lambda node, _: node.close(), arguments)


if __name__ == '__main__':
    sys.exit(main())
