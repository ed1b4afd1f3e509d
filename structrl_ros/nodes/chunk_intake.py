"""Chunks for a body, decoded and offered to its loop; refused ones are counted and logged."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from collections.abc import Sequence
from typing import Any

from rclpy.node import Node

from structrl_ros.errors import MessageError
from structrl_ros.nodes.body_inbox import BodyInbox
from structrl_ros.nodes.body_thread import Counters
from structrl_ros.nodes.publishers import publisher_names
from structrl_ros.types import ActionChunk
from structrl_ros.wire import topics
from structrl_ros.wire.chunk_codecs import action_chunk_from_message
from structrl_ros.wire.qos import message_type
from structrl_ros.wire.qos import subscriber_qos

#: Chunks that wait to be judged: with one alone, a second publisher would go unseen.
CHUNKS_KEPT = 10
#: Seconds until a reason is said again; numbers (an age, a count) make no other reason of it.
REPEAT_S = 1.0
_NUMBER = re.compile(r'\d+(?:\.\d+)?')

#: Takes a chunk, and who publishes chunks if that matters; returns why it is refused, or ''.
Offer = Callable[[ActionChunk, Callable[[], Sequence[str]]], str]


def chunk_inbox(node: Node) -> BodyInbox:
    """Return an inbox that hears the chunks for a body."""
    topic = topics.ACTION_CHUNK
    qos = subscriber_qos(topic)
    qos.depth = CHUNKS_KEPT
    return BodyInbox(node, topic, message_type(topic), qos)


class ChunkIntake:
    """Takes the messages of an inbox, in the body's thread."""

    def __init__(
        self,
        node: Node,
        offer: Offer,
        distrust: Callable[[str], None],
        counters: Counters,
        *,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """Remember who judges.

        Args:
            node: Whose log tells what was refused.
            offer: Judges a chunk.
            distrust: Told why a message is no chunk at all.
            counters: Of the body; refused chunks are added.
            now_s: Seconds of a clock that does not go back.
        """
        self._node, self._offer, self._distrust = node, offer, distrust
        self._counters = counters
        self._now_s = now_s
        self._said_s: dict[str, float] = {}

    def take(self, message: Any) -> None:
        """Decode a message and offer the chunk."""
        try:
            chunk = action_chunk_from_message(message)
        except MessageError as error:
            self._distrust(str(error))
            self._count(int(message.chunk), str(error))
            return
        reason = self._offer(chunk, lambda: publisher_names(self._node, topics.ACTION_CHUNK))
        if reason:
            self._count(chunk.chunk, reason)

    def _count(self, number: int, reason: str) -> None:
        """Count a refusal, and log it: at once for a new reason, else once a second at most."""
        self._counters.rejected += 1
        now_s, words = self._now_s(), _NUMBER.sub('#', reason)
        self._said_s = {w: at for w, at in self._said_s.items() if now_s - at < REPEAT_S}
        if words not in self._said_s:
            self._said_s[words] = now_s
            self._node.get_logger().warning(f'chunk {number} rejected: {reason}')
