"""What a bag waits for when it stands in for a body: a plan, and in lock-step each answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.node import Node

from structrl_ros.errors import MessageError
from structrl_ros.recording.bag_reader import BagReader
from structrl_ros.recording.bag_reader import RawMessage
from structrl_ros.recording.decoding import time_ns
from structrl_ros.recording.stamp_order import stamp_ns
from structrl_ros.wire import topics
from structrl_ros.wire.plan_codecs import subtask_status_from_message
from structrl_ros.wire.qos import message_type
from structrl_ros.wire.qos import recorder_qos
from structrl_ros.wire.qos import type_name


class ReplayGate:
    """Hears the brain, and tells which messages of a bag may be played.

    A tracker answers to chunk k with a `subtask` of chunk k, once it has the verdict of its end:
    the same that a policy waits for before it asks for chunk k + 1.

    Attributes:
        has_plan: Whether somebody published a plan.
    """

    def __init__(self, node: Node, reader: BagReader) -> None:
        """Read where the chunks of the bag end, and hear the brain."""
        self.has_plan = False
        self._node = node
        self._ends: list[int] = []
        self._places: dict[tuple[int, int], int] = {}
        for message in self._recorded(reader, topics.CHUNK_DONE):
            self._places[int(message.episode), int(message.chunk)] = len(self._ends)
            self._ends.append(time_ns(message.header.stamp))
        chunk = next(self._recorded(reader, topics.ACTION_CHUNK), None)
        first_end_ns = self._ends[0] if self._ends else 2**63 - 1
        self._begin_ns = time_ns(chunk.header.stamp) if chunk else first_end_ns - 1
        self._open_ns = first_end_ns
        self._subscribe(topics.PLAN, self._see_plan)
        self._subscribe(topics.SUBTASK, self._see_status)

    def is_before_chunks(self, message: RawMessage) -> bool:
        """Tell whether a message tells of the time before the body began to move."""
        return (stamp_ns(message) or 0) <= self._begin_ns

    def may_pass(self, message: RawMessage) -> bool:
        """Tell whether a message may be played in lock-step: no further than the open chunk."""
        return (stamp_ns(message) or 0) <= self._open_ns

    def open_next(self) -> None:
        """Let the next chunk pass without an answer."""
        self._open_ns = next((end for end in self._ends if end > self._open_ns), 2**63 - 1)

    @staticmethod
    def _recorded(reader: BagReader, topic: str) -> Any:
        names = [
            name
            for name, summary in reader.topics.items()
            if name.endswith(topic) and summary.msgtype == type_name(topic)
        ]
        return (message for _, _, _, message in reader.messages(names)) if names else iter(())

    def _subscribe(self, topic: str, take: Callable[[Any], None]) -> None:
        self._node.create_subscription(message_type(topic), topic, take, recorder_qos(topic))

    def _see_plan(self, message: Any) -> None:
        self.has_plan |= bool(message.subtasks)

    def _see_status(self, message: Any) -> None:
        try:
            status = subtask_status_from_message(message)
        except MessageError as error:
            self._node.get_logger().warning(f'subtask: {error}')
            return
        place = self._places.get((status.episode, status.chunk))
        if place is None:
            return
        following = self._ends[place + 1] if place + 1 < len(self._ends) else 2**63 - 1
        self._open_ns = max(self._open_ns, following)
