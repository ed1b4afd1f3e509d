"""recorder_node: every topic of the contract into one bag, from the first message on.

It subscribes with raw bytes, so that nothing is decoded but what carries a chunk number. Gaps are
counted by these, and by the numbers that publishers give to what they send. A disk that fails
stops the recording, not the node: the graph goes on and /diagnostics says why. SIGINT and SIGTERM
end it within two seconds with a closed bag. The service `record` ends a bag and begins the next.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rclpy.clock import Clock
from rclpy.clock import ClockType
from rclpy.executors import Executor
from rclpy.node import Node
from std_srvs.srv import SetBool

from structrl_ros.errors import MessageError
from structrl_ros.nodes.health import Health
from structrl_ros.nodes.parameters import declare
from structrl_ros.nodes.recorded_topics import bag_topic
from structrl_ros.nodes.recorded_topics import chunk_number
from structrl_ros.nodes.recorded_topics import recorded_topics
from structrl_ros.nodes.recorder_inbox import RecorderInbox
from structrl_ros.nodes.spinning import drain
from structrl_ros.nodes.spinning import run_node
from structrl_ros.params.recorder import RecorderParameters
from structrl_ros.recording.bag_format import BagFormat
from structrl_ros.recording.bag_recorder import BagRecorder
from structrl_ros.recording.bag_recorder import next_directory
from structrl_ros.wire import topics
from structrl_ros.wire.task_codecs import HealthLevel


class RecorderNode(Node):
    """Subscribes, writes, reports; `close` ends the bag."""

    def __init__(self, **options: Any) -> None:
        """Open the bag and subscribe.

        Raises:
            BagError: If the folder exists already; nothing is ever overwritten.
            ParameterError: If a parameter is not allowed.
        """
        super().__init__('recorder_node', **options)
        self._settings = p = declare(self, RecorderParameters)
        self._inbox = RecorderInbox(self, self._take, self._note_offer)
        form = BagFormat.of_settings(p.storage, p.compression, p.split_megabytes, p.split_seconds)
        self._bags = BagRecorder(form, self._inbox.publications, failed=self._say_failure)
        if p.directory:
            self._begin(Path(p.directory).expanduser().absolute())
        else:
            self.get_logger().info('parameter directory is empty: nothing is recorded')
        self._health = Health(self, 'bag')
        self.create_service(SetBool, topics.RECORD, self._on_record)
        wall = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(1.0, self._every_second, clock=wall)

    def close(self) -> None:
        """End the bag and say what it holds."""
        if self._bags.is_open:
            self.get_logger().info(self._bags.end())

    def _begin(self, path: Path) -> None:
        recorded = recorded_topics(self._settings.images)
        names = {self.resolve_topic_name(topic): bag_topic(topic) for topic in recorded}
        if self._bags.begin(path, names):
            for topic in recorded:
                self._inbox.open(topic)

    def _on_record(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        if request.data and not self._bags.is_open:
            self._begin(next_directory(self._settings.directory))
            response.success = self._bags.is_open
        elif not request.data and self._bags.is_open:
            self._inbox.close()
            self.close()
            response.success = not self._bags.error
        else:
            response.message = 'nothing to do: '
        response.message += self._bags.summary
        return response

    def _take(self, topic: str, data: bytes) -> None:
        name = self.resolve_topic_name(topic)
        self._bags.write(name, data)
        try:
            number = chunk_number(topic, data)
        except MessageError as error:
            self.get_logger().warning(f'{name}: {error}')
            return
        if number is not None and (gap := self._bags.see_chunk(name, *number)):
            self.get_logger().warning(f'{name}: {gap} missing before chunk {number[1]}')

    def _note_offer(self, topic: str, offered: str) -> None:
        """Say and keep what the publishers of a topic offer that is not the contract's."""
        name = self.resolve_topic_name(topic)
        self.get_logger().warning(f'{name} is offered {offered}: heard as such')
        self._bags.note_offer(name, offered)

    def _say_failure(self, error: str) -> None:
        self.get_logger().error(f'{error}; the graph goes on without a recording')

    def _every_second(self) -> None:
        bags = self._bags
        bags.flush_if_due()
        values = {
            'directory': self._settings.directory,
            'connected': ' '.join(self._inbox.connected()),
            **bags.numbers(),
        }
        whole = HealthLevel.WARN if bags.missing else HealthLevel.OK
        level = HealthLevel.ERROR if bags.error else whole
        self._health.tell(level, bags.summary, values)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM.

    The signals only raise a flag: a bag is never torn by an exception in the middle of a write.
    """
    return run_node('recorder_node', lambda _: RecorderNode(), _drain_and_close, arguments)


def _drain_and_close(node: RecorderNode, executor: Executor) -> None:
    """Take what is still under way, then end the bag."""
    drain(executor)
    node.close()


if __name__ == '__main__':
    sys.exit(main())
