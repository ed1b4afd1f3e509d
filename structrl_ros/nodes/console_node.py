"""console_node: hears a graph for the console and carries out what its page asks for.

`console_link` runs it inside `structrl console`, whose server has a thread of its own. Cameras are
subscribed to only while somebody looks at them: a simulator draws for subscribers alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.clock import Clock
from rclpy.clock import ClockType
from rclpy.node import Node
from rclpy.qos import ReliabilityPolicy

from structrl_ros.console.live_state import Event
from structrl_ros.console.live_state import LiveState
from structrl_ros.console.pictures import PictureShelf
from structrl_ros.nodes.console_operator import RosOperator
from structrl_ros.nodes.hearing import hear
from structrl_ros.types import ROLES
from structrl_ros.types import Intervention
from structrl_ros.types import Safety
from structrl_ros.wire import topics
from structrl_ros.wire.body_codecs import episode_from_message
from structrl_ros.wire.body_codecs import safety_from_message
from structrl_ros.wire.chunk_codecs import action_chunk_from_message
from structrl_ros.wire.chunk_codecs import intervention_from_message
from structrl_ros.wire.image_codecs import image_from_message
from structrl_ros.wire.plan_codecs import plan_from_message
from structrl_ros.wire.plan_codecs import subtask_status_from_message
from structrl_ros.wire.plan_codecs import verdict_from_message
from structrl_ros.wire.qos import subscriber_qos
from structrl_ros.wire.reward_codecs import progress_from_message
from structrl_ros.wire.reward_codecs import reward_from_message
from structrl_ros.wire.task_codecs import health_from_message

_HEARD: dict[str, Callable[[Any], Event]] = {
    topics.PLAN: plan_from_message,
    topics.VERDICT: verdict_from_message,
    topics.SUBTASK: subtask_status_from_message,
    topics.REWARD: reward_from_message,
    topics.PROGRESS: progress_from_message,
    topics.SAFETY: safety_from_message,
    topics.EPISODE: episode_from_message,
    topics.INTERVENTION: intervention_from_message,
    topics.ACTION_CHUNK: action_chunk_from_message,
}
#: Seconds between two looks at which cameras are wanted, and at what is there.
CAMERAS_S = 0.2
LOOK_AROUND_S = 0.5


class ConsoleNode(Node):
    """Feeds `LiveState` and `PictureShelf`; `operator` does what a person asks for."""

    def __init__(self, state: LiveState, shelf: PictureShelf, **options: Any) -> None:
        """Subscribe to all but the cameras."""
        super().__init__('console_node', **options)
        self._state = state
        self._shelf = shelf
        self._cameras: dict[str, Any] = {}
        self.operator = RosOperator(self, state, self._look_around)
        for topic, decode in _HEARD.items():
            self._hear(topic, decode, self._take)
        self._hear(topics.DIAGNOSTICS, health_from_message, self._take_health)
        wall = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(CAMERAS_S, self._follow_viewers, clock=wall)
        self.create_timer(LOOK_AROUND_S, self._look_around, clock=wall)

    def _hear(self, topic: str, decode: Callable[[Any], Any], take: Callable[[Any], None]) -> Any:
        qos = subscriber_qos(topic)
        if topic == topics.ACTION_CHUNK:  # a watcher must never hold up who sends chunks
            qos.reliability = ReliabilityPolicy.BEST_EFFORT
        return hear(self, topic, decode, take, qos)

    def _take(self, event: Event) -> None:
        self._state.take(event)
        if isinstance(event, (Safety, Intervention)):
            self._look_around()

    def _take_health(self, components: list[Any]) -> None:
        for name, level, text, _ in components:
            self._state.take_health(name, int(level), text)

    def _follow_viewers(self) -> None:
        """Subscribe to the cameras that are looked at, and to no other."""
        wanted = self._shelf.wanted_roles
        for role in wanted - set(self._cameras):
            self._cameras[role] = self._hear(
                topics.image_topic(role), image_from_message, self._picture_taker(role)
            )
        for role in set(self._cameras) - wanted:
            self.destroy_subscription(self._cameras.pop(role))

    def _picture_taker(self, role: str) -> Callable[[Any], None]:
        def take(picture: Any) -> None:
            stamp_ns, image = picture
            self._shelf.put(role, stamp_ns, image)

        return take

    def _look_around(self) -> None:
        roles = [r for r in ROLES if self.count_publishers(topics.image_topic(r))]
        self._state.look_around(self.operator.present(), self.operator.reasons(), roles)
