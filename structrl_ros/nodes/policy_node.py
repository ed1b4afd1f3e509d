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

from structrl_ros.control.chunk_requester import News
from structrl_ros.control.observation_store import ObservationStore
from structrl_ros.errors import StructRLError
from structrl_ros.nodes.hearing import hear
from structrl_ros.nodes.observation_inbox import ObservationInbox
from structrl_ros.nodes.parameters import declare
from structrl_ros.nodes.policies import PolicyMaker
from structrl_ros.nodes.policies import check_policy
from structrl_ros.nodes.policies import make_policy
from structrl_ros.nodes.policy_driver import DriverPorts
from structrl_ros.nodes.policy_driver import PolicyDriver
from structrl_ros.nodes.spinning import run_node
from structrl_ros.params.policy import PolicyParameters
from structrl_ros.types import ActionChunk
from structrl_ros.types import PolicySpec
from structrl_ros.wire import topics
from structrl_ros.wire.body_codecs import episode_from_message
from structrl_ros.wire.body_codecs import safety_from_message
from structrl_ros.wire.chunk_codecs import action_chunk_to_message
from structrl_ros.wire.chunk_codecs import chunk_done_from_message
from structrl_ros.wire.chunk_codecs import intervention_from_message
from structrl_ros.wire.plan_codecs import plan_from_message
from structrl_ros.wire.plan_codecs import subtask_status_from_message
from structrl_ros.wire.qos import message_type
from structrl_ros.wire.qos import publisher_qos
from structrl_ros.wire.stamps import RosClock
from structrl_ros.wire.stamps import header_to_message
from structrl_ros.wire.task_codecs import HealthLevel
from structrl_ros.wire.task_codecs import health_to_message

#: Wall seconds after which an undelivered chunk is worthless in real time.
LIFESPAN_S = 2.0
#: Wall seconds between two heartbeats: an arm holds after one control period without.
BEAT_S = 0.02
SUCCESS = TransitionCallbackReturn.SUCCESS
FAILURE = TransitionCallbackReturn.FAILURE

#: Topic and decoder of what decides when the policy is asked.
_HEARD: tuple[tuple[str, Callable[[Any], News]], ...] = (
    (topics.PLAN, plan_from_message),
    (topics.SUBTASK, subtask_status_from_message),
    (topics.EPISODE, episode_from_message),
    (topics.CHUNK_DONE, chunk_done_from_message),
    (topics.SAFETY, safety_from_message),
    (topics.INTERVENTION, intervention_from_message),
)


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
        self._body_clock = RosClock(self)
        self._inbox: ObservationInbox | None = None
        self._owned: list[Callable[[], Any]] = []
        self._wall_timers: list[Any] = []
        ports = DriverPorts(
            make_policy=lambda body: maker(self._settings, body),
            on_policy=self._look,
            publish=self._send,
            complain=self._complain,
            clock=self._body_clock,
        )
        self._driver = PolicyDriver(
            ports,
            lockstep=p.lockstep,
            replan_steps=p.replan_steps,
        )
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
        chunk, health = message_type(topics.ACTION_CHUNK), message_type(topics.DIAGNOSTICS)
        self._chunks = self.create_lifecycle_publisher(chunk, topics.ACTION_CHUNK, qos)
        qos = publisher_qos(topics.DIAGNOSTICS)
        self._health = self.create_publisher(health, topics.DIAGNOSTICS, qos)
        beat, qos = message_type(topics.HEARTBEAT), publisher_qos(topics.HEARTBEAT)
        self._beats = self.create_lifecycle_publisher(beat, topics.HEARTBEAT, qos)
        self._owned = [
            partial(self.destroy_publisher, publisher)
            for publisher in (self._beats, self._health, self._chunks)
        ]
        for topic, decode in _HEARD:
            subscription = hear(self, topic, decode, self._driver.see)
            self._owned.append(partial(self.destroy_subscription, subscription))
        return super().on_configure(state)

    def on_activate(self, state: Any) -> TransitionCallbackReturn:
        """Begin to ask."""
        wall = Clock(clock_type=ClockType.STEADY_TIME)
        self._wall_timers = [
            self.create_timer(0.1, self._tick, clock=wall),
            self.create_timer(1.0, self._report, clock=wall),
        ]
        if self._settings.heartbeat:
            self._wall_timers.append(self.create_timer(BEAT_S, self._beat, clock=wall))
        result = super().on_activate(state)
        self._driver.activate(True)
        return result

    def on_deactivate(self, state: Any) -> TransitionCallbackReturn:
        """Stop asking first; what the policy thinks of now is dropped."""
        self._driver.activate(False)
        for timer in self._wall_timers:
            self.destroy_timer(timer)
        return super().on_deactivate(state)

    def on_cleanup(self, state: Any) -> TransitionCallbackReturn:
        """Free the policy and everything that was subscribed to."""
        self._driver.free()
        if self._inbox is not None:
            self._inbox.close()
        for free in self._owned:
            free()
        return super().on_cleanup(state)

    def close(self) -> None:
        """End the thread and free the policy."""
        self._driver.close()

    def _look(self, spec: PolicySpec, store: ObservationStore) -> None:
        """Subscribe to what a new policy looks at."""
        if self._inbox is not None:
            self._inbox.close()
        self._inbox = ObservationInbox(
            self,
            spec,
            store,
            lock=self._driver.lock,
            lockstep=self._settings.lockstep,
            then=self._driver.consider,
        )

    def _send(self, chunk: ActionChunk) -> None:
        self._chunks.publish(action_chunk_to_message(chunk))

    def _complain(self, text: str) -> None:
        if self.context.ok():  # else it is only a signal that ends the node
            self.get_logger().error(text)

    def _beat(self) -> None:
        """Tell an arm that this process lives."""
        if self._beats.get_subscription_count():
            self._beats.publish(header_to_message(self._body_clock.now_ns(), self.get_name()))

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
        now_ns, name = self._body_clock.now_ns(), 'policy_node: policy'
        self._health.publish(health_to_message(now_ns, name, level, text, numbers))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM."""
    return run_node('policy_node', lambda _: PolicyNode(), lambda node, _: node.close(), arguments)


if __name__ == '__main__':
    sys.exit(main())
