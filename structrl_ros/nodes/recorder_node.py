"""recorder_node: every topic of the contract into one bag, from the first message on.

It subscribes with raw bytes, so that nothing is decoded but what carries a chunk number. Gaps are
counted by these, and by the numbers that publishers give to what they send. A disk that fails
stops the recording, not the node: the graph goes on and /diagnostics says why. SIGINT and SIGTERM
end it within two seconds with a closed bag. The service `record` ends a bag and begins the next.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from datetime import datetime
from itertools import chain
from itertools import count
from pathlib import Path
from typing import Any
from typing import cast

from rclpy.clock import Clock
from rclpy.clock import ClockType
from rclpy.executors import Executor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy
from rclpy.qos import ReliabilityPolicy
from rclpy.serialization import deserialize_message
from std_srvs.srv import SetBool

from structrl_ros.errors import BagError
from structrl_ros.errors import MessageError
from structrl_ros.nodes.parameters import declare
from structrl_ros.nodes.recorder_inbox import ADAPT_S
from structrl_ros.nodes.recorder_inbox import RecorderInbox
from structrl_ros.nodes.spinning import run_node
from structrl_ros.params.recorder import RecorderParameters
from structrl_ros.recording.bag_format import BagFormat
from structrl_ros.recording.bag_format import TopicQos
from structrl_ros.recording.bag_metadata import MISSING
from structrl_ros.recording.bag_metadata import OFFERED
from structrl_ros.recording.bag_parts import Compression
from structrl_ros.recording.bag_parts import Storage
from structrl_ros.recording.bag_writer import BagWriter
from structrl_ros.recording.gaps import GapCounter
from structrl_ros.recording.gaps import PublicationCounter
from structrl_ros.wire import topics
from structrl_ros.wire.chunk_codecs import chunk_done_from_message
from structrl_ros.wire.qos import TOPICS
from structrl_ros.wire.qos import message_type
from structrl_ros.wire.qos import publisher_qos
from structrl_ros.wire.qos import type_name
from structrl_ros.wire.reward_codecs import predicates_from_message
from structrl_ros.wire.reward_codecs import reward_from_message
from structrl_ros.wire.stamps import RosClock
from structrl_ros.wire.task_codecs import HealthLevel
from structrl_ros.wire.task_codecs import health_to_message

#: Topics whose messages are numbered by chunk without a hole.
NUMBERED: Mapping[str, Callable[[Any], Any]] = {
    topics.PREDICATES: predicates_from_message,
    topics.CHUNK_DONE: chunk_done_from_message,
    topics.REWARD: reward_from_message,
}
#: Seconds of wall time after a signal in which messages under way are still taken.
DRAIN_S = 0.5
#: Seconds for one write from which the disk is told as a reason for what is missing.
SLOW_S = 0.5


class RecorderNode(Node):
    """Subscribes, writes, reports; `close` ends the bag."""

    def __init__(self, **options: Any) -> None:
        """Open the bag and subscribe.

        Raises:
            BagError: If the folder exists already; nothing is ever overwritten.
            ParameterError: If a parameter is not allowed.
        """
        super().__init__('recorder_node', **options)
        self._settings = declare(self, RecorderParameters)
        self._clock_ns = RosClock(self)
        self._gaps = GapCounter()
        self._error = ''
        self._inbox = RecorderInbox(self, self._take, self._note_offer)
        self._ended = 'nothing is recorded: parameter directory is empty'
        self._bag = self._open(self._settings.directory)
        self._health = self.create_publisher(
            message_type(topics.DIAGNOSTICS),
            topics.DIAGNOSTICS,
            publisher_qos(topics.DIAGNOSTICS),
        )
        self.create_service(SetBool, topics.RECORD, self._on_record)
        wall = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(1.0, self._every_second, clock=wall)
        self.create_timer(ADAPT_S, self._inbox.adapt, clock=wall)

    def close(self) -> None:
        """End the bag and say what it holds."""
        if self._bag is None:
            return
        self._note_missing(self._bag)
        self._try(self._bag.close)
        self._ended = f'ended: {self._summary()}'
        self.get_logger().info(self._ended)
        self._bag = None

    def _open(self, directory: str) -> BagWriter | None:
        if not directory:
            self.get_logger().info('parameter directory is empty: nothing is recorded')
            return None
        path = Path(directory).expanduser().absolute()
        if path.exists():
            raise BagError(f'{path} exists already; nothing is overwritten, give a new folder')
        try:
            bag = BagWriter(path, form=self._form())
        except BagError as error:
            self._fail(error)
            return None
        for topic in recorded_topics(self._settings.images):
            self._record(bag, topic)
        return bag

    def _on_record(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        if request.data and self._bag is None:
            self._error, self._gaps = '', GapCounter()
            self._inbox.publications = PublicationCounter()
            self._bag = self._open(str(next_directory(self._settings.directory)))
            response.success = self._bag is not None
        elif not request.data and self._bag is not None:
            self._inbox.close()
            self.close()
            response.success = not self._error
        else:
            response.message = 'nothing to do: '
        response.message += self._summary()
        return response

    def _form(self) -> BagFormat:
        p = self._settings
        return BagFormat(
            storage=cast(Storage, p.storage),
            compression=cast(Compression, p.compression),
            split_bytes=round(p.split_megabytes * 1e6),
            split_seconds=p.split_seconds,
        )

    def _record(self, bag: BagWriter, topic: str) -> None:
        name = self.resolve_topic_name(topic)
        offered = publisher_qos(topic)
        qos = TopicQos(
            reliable=offered.reliability == ReliabilityPolicy.RELIABLE,
            transient_local=offered.durability == DurabilityPolicy.TRANSIENT_LOCAL,
            depth=offered.depth,
        )
        bag.add_topic(name, type_name(topic), qos)
        self._inbox.open(topic)

    def _take(self, topic: str, data: bytes) -> None:
        if self._bag is None:
            return
        name = self.resolve_topic_name(topic)
        self._try(self._bag.write, name, data)
        if decode := NUMBERED.get(topic):
            self._count(name, data, message_type(topic), decode)

    def _note_offer(self, topic: str, offered: str) -> None:
        """Say and keep what the publishers of a topic offer that is not the contract's."""
        name = self.resolve_topic_name(topic)
        self.get_logger().warning(f'{name} is offered {offered}: heard as such')
        if self._bag is not None:
            self._bag.notes[f'{OFFERED}{name}'] = offered

    def _count(
        self, name: str, data: bytes, kind: type[Any], decode: Callable[[Any], Any]
    ) -> None:
        try:
            value = decode(deserialize_message(data, kind))
        except MessageError as error:
            self.get_logger().warning(f'{name}: {error}')
            return
        if gap := self._gaps.see(name, value.episode, value.chunk):
            self.get_logger().warning(f'{name}: {gap} missing before chunk {value.chunk}')

    def _note_missing(self, bag: BagWriter) -> None:
        bag.notes |= {f'{MISSING}{name}': str(n) for name, n in self._missing().items()}

    def _missing(self) -> Counter[str]:
        """Return the messages that were missed, by the name of their topic."""
        return +(self._gaps.missing | self._inbox.publications.missing)

    def _try(self, action: Callable[..., None], *arguments: Any) -> None:
        try:
            action(*arguments)
        except BagError as error:
            self._fail(error)

    def _fail(self, error: BagError) -> None:
        self._error = str(error)
        self.get_logger().error(f'{error}; the graph goes on without a recording')

    def _every_second(self) -> None:
        if self._bag is not None:
            self._note_missing(self._bag)
            self._try(self._bag.flush_if_due)
        gaps = {f'gap {name}': n for name, n in self._missing().items()}
        level = HealthLevel.ERROR if self._error else HealthLevel.WARN if gaps else HealthLevel.OK
        values = {
            'directory': self._settings.directory,
            'connected': ' '.join(self._inbox.connected()),
            **gaps,
        }
        if self._bag is not None:
            values['messages'] = self._bag.counts.total()
            values['lost'] = self._bag.lost.total()
            values['slowest_write_s'] = f'{self._bag.slowest_s:.3f}'
        message = health_to_message(
            self._clock_ns.now_ns(), f'{self.get_name()}: bag', level, self._summary(), values
        )
        self._health.publish(message)

    def _summary(self) -> str:
        if self._error:
            return self._error
        if self._bag is None:
            return self._ended
        missing = self._missing().total()
        holes = f', {missing} missing' if missing else ''
        if missing and self._bag.slowest_s > SLOW_S:
            holes += f' (the disk took {self._bag.slowest_s:.1f} s for a write)'
        return f'{self._bag.counts.total()} messages in {self._bag.path}{holes}'


def next_directory(directory: str) -> Path:
    """Return a free folder for a bag: `directory`, else with _2, _3, ...; '': runs/<time>/bag."""
    if not directory:
        return Path('runs', datetime.now().strftime('%Y-%m-%d_%H-%M-%S_%f')[:-3], 'bag')
    first = Path(directory).expanduser().absolute()
    others = (first.with_name(f'{first.name}_{number}') for number in count(2))
    return next(path for path in chain((first,), others) if not path.exists())


def recorded_topics(images: str) -> tuple[str, ...]:
    """Return the topics of the contract to record; `images` is 'head', 'all' or 'none'."""
    roles = {'head': ('head',), 'none': ()}.get(images)
    if roles is None:
        return TOPICS
    cameras = {*topics.IMAGES, *topics.CAMERA_INFOS, *topics.DEPTHS}
    names = (topics.image_topic, topics.camera_info_topic, topics.depth_topic)
    wanted = {name(role) for role in roles for name in names}
    return tuple(topic for topic in TOPICS if topic not in cameras or topic in wanted)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM.

    The signals only raise a flag: a bag is never torn by an exception in the middle of a write.
    """
    return run_node('recorder_node', lambda _: RecorderNode(), _drain_and_close, arguments)


def _drain_and_close(node: RecorderNode, executor: Executor) -> None:
    """Take what is still under way, then end the bag."""
    deadline = time.monotonic() + DRAIN_S
    while time.monotonic() < deadline:
        executor.spin_once(timeout_sec=0.05)
    node.close()


if __name__ == '__main__':
    sys.exit(main())
