"""tracker_node: where the plan stands, and the reward of each chunk, live.

Decodes, hands every message to `subtasks.tracker.Tracker`, publishes what it returns. Only this
node publishes `subtask` and `reward`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from rclpy.clock import Clock
from rclpy.clock import ClockType
from rclpy.node import Node

from structrl_ros.nodes.health import Health
from structrl_ros.nodes.hearing import hear
from structrl_ros.nodes.parameters import declare
from structrl_ros.nodes.spinning import run_node
from structrl_ros.params.tracker import TrackerParameters
from structrl_ros.rewards.structured import StructuredReward
from structrl_ros.subtasks.settings_text import SETTINGS_KEY
from structrl_ros.subtasks.settings_text import settings_to_text
from structrl_ros.subtasks.tracker import Message
from structrl_ros.subtasks.tracker import Tracker
from structrl_ros.types import Episode
from structrl_ros.types import Reward
from structrl_ros.wire import topics
from structrl_ros.wire.body_codecs import episode_from_message
from structrl_ros.wire.chunk_codecs import chunk_done_from_message
from structrl_ros.wire.plan_codecs import plan_from_message
from structrl_ros.wire.plan_codecs import subtask_status_to_message
from structrl_ros.wire.plan_codecs import verdict_from_message
from structrl_ros.wire.qos import message_type
from structrl_ros.wire.qos import publisher_qos
from structrl_ros.wire.reward_codecs import predicates_from_message
from structrl_ros.wire.reward_codecs import reward_to_message
from structrl_ros.wire.task_codecs import HealthLevel

#: Topic and decoder of everything that the tracker consumes.
_HEARD: tuple[tuple[str, Callable[[Any], Message]], ...] = (
    (topics.EPISODE, episode_from_message),
    (topics.PLAN, plan_from_message),
    (topics.VERDICT, verdict_from_message),
    (topics.PREDICATES, predicates_from_message),
    (topics.CHUNK_DONE, chunk_done_from_message),
)
#: Reports of the tracker that are shown on /diagnostics.
_SHOWN_REPORTS = 3


class TrackerNode(Node):
    """Subscribes, publishes, reports."""

    def __init__(self, **options: Any) -> None:
        """Declare parameters and subscribe.

        Raises:
            ParameterError: If a parameter is not allowed, or the file of durations is wrong.
        """
        super().__init__('tracker_node', **options)
        settings = declare(self, TrackerParameters).settings()
        import_module('scipy.optimize')  # grounding needs it; the first chunk must not wait
        self._settings_text = settings_to_text(settings)
        self._tracker = Tracker(settings, StructuredReward)
        self._last: Reward | None = None
        self._reports: list[str] = []
        self._status, self._rewards = (
            self.create_publisher(message_type(topic), topic, publisher_qos(topic))
            for topic in (topics.SUBTASK, topics.REWARD)
        )
        self._health = Health(self, 'tracker')
        for topic, decode in _HEARD:
            hear(self, topic, decode, self._consume)
        self.create_timer(1.0, self._report, clock=Clock(clock_type=ClockType.STEADY_TIME))

    @property
    def tracker(self) -> Tracker:
        """The pure tracker behind the node."""
        return self._tracker

    def _consume(self, message: Message) -> None:
        for output in self._tracker.consume(message):
            if isinstance(output, Reward):
                self._last = output
                self._rewards.publish(reward_to_message(output))
            else:
                self._status.publish(subtask_status_to_message(output))
        for line in self._tracker.take_reports():
            self.get_logger().warning(line)
            self._reports = [*self._reports, line][-_SHOWN_REPORTS:]
        if isinstance(message, Episode):
            self._reports = [] if not message.ended else self._reports
            self._report()

    def _report(self) -> None:
        waiting = self._tracker.waiting_for()
        level = HealthLevel.WARN if self._reports else HealthLevel.OK
        chunk = 'no chunk yet' if self._last is None else f'chunk {self._last.chunk} paid'
        text = '; '.join([waiting or chunk, *self._reports])
        values: dict[str, object] = {
            SETTINGS_KEY: self._settings_text,
            'ignored': self._tracker.ignored,
            'episode_return': 0.0 if self._last is None else self._last.episode_return,
        }
        self._health.tell(level, text, values)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM."""
    return run_node('tracker_node', lambda _: TrackerNode(), lambda *_: None, arguments)


if __name__ == '__main__':
    sys.exit(main())
