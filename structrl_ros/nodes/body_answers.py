"""What one sim_node answers to a trainer: the newest of each kind, pictures, and faults."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from structrl_ros.nodes.message_pump import MessagePump
from structrl_ros.types import ChunkDone
from structrl_ros.types import Predicates
from structrl_ros.types import Safety
from structrl_ros.types import UInt8
from structrl_ros.wire import topics
from structrl_ros.wire.body_codecs import episode_from_message
from structrl_ros.wire.body_codecs import safety_from_message
from structrl_ros.wire.body_codecs import simulator_state_from_message
from structrl_ros.wire.chunk_codecs import chunk_done_from_message
from structrl_ros.wire.image_codecs import image_from_message
from structrl_ros.wire.plan_codecs import subtask_status_from_message
from structrl_ros.wire.qos import message_type
from structrl_ros.wire.qos import subscriber_qos
from structrl_ros.wire.reward_codecs import predicates_from_message

#: A body publishes these before `chunk_done`.
_QUIET = (topics.PREDICATES, topics.PRIVILEGED_STATE, *topics.IMAGES)
#: In the order of discovery: a body that sends the last one sends all of them.
_HEARD: tuple[tuple[str, Callable[[Any], Any]], ...] = (
    (topics.CHUNK_DONE, chunk_done_from_message),
    (topics.EPISODE, episode_from_message),
    (topics.SAFETY, safety_from_message),
    (topics.PREDICATES, predicates_from_message),
    (topics.PRIVILEGED_STATE, simulator_state_from_message),
)


class BodyAnswers:
    """Hears a body in lock-step; nothing but the next chunk of the present episode may come.

    Attributes:
        fault: What is wrong, '' if nothing is.
        episode: Number of the present episode, 0 while there is none.
        chunk: Number of its last chunk.
    """

    def __init__(
        self, pump: MessagePump, prefix: str, *, tracked: bool, wants_state: bool
    ) -> None:
        """Subscribe to the topics with a prefix.

        Args:
            pump: Brings the messages.
            prefix: Namespace with a slash at its end, or ''.
            tracked: Whether the tracker is heard, too.
            wants_state: Whether the simulator's state is heard.
        """
        self.fault = ''
        self.episode = self.chunk = 0
        self._pump = pump
        self._prefix = prefix
        self._last: dict[type[Any], Any] = {}
        self._pictures: dict[str, tuple[int, UInt8]] = {}
        self._drawn: set[str] = set()
        for topic, decode in _HEARD:
            if wants_state or topic != topics.PRIVILEGED_STATE:
                self._hear(topic, decode)
        if tracked:
            self._hear(topics.SUBTASK, subtask_status_from_message)

    def last(self, kind: type[Any]) -> Any:
        """Return the newest message of a kind, None if none came."""
        return self._last.get(kind)

    def forget(self, kind: type[Any]) -> None:
        """Forget the newest message of a kind."""
        self._last.pop(kind, None)

    def next(self, kind: type[Any]) -> Any:
        """Return the newest message of a kind if it is about the next chunk, else None."""
        value = self._last.get(kind)
        now = (self.episode, self.chunk + 1)
        return value if value is not None and (value.episode, value.chunk) == now else None

    def picture(self, role: str) -> tuple[int, UInt8] | None:
        """Return stamp and newest picture of a role; the first question subscribes to it."""
        if role not in self._drawn:
            self._drawn.add(role)
            topic = topics.image_topic(role)

            def take(message: Any) -> None:
                self._pictures[role] = image_from_message(message)

            self._subscribe(topic, take)
        return self._pictures.get(role)

    def _hear(self, topic: str, decode: Callable[[Any], Any]) -> None:
        def take(message: Any) -> None:
            value = decode(message)
            if isinstance(value, Safety):
                self._judge_safety(value)
            elif isinstance(value, ChunkDone | Predicates):
                self._judge_number(topic, value)
            self._last[type(value)] = value

        self._subscribe(topic, take)

    def _subscribe(self, topic: str, take: Callable[[Any], None]) -> None:
        qos = subscriber_qos(topic, lockstep=True)
        name, is_quiet = self._prefix + topic, topic in _QUIET
        self._pump.hear(message_type(topic), name, qos, take, is_quiet=is_quiet)

    def _judge_number(self, topic: str, value: ChunkDone | Predicates) -> None:
        if self.episode and value.episode == self.episode and value.chunk > self.chunk + 1:
            self.fault = (
                f'`{topic}` of chunk {value.chunk} came, not of {self.chunk + 1}: a message was '
                'lost, or somebody else drives the body'
            )

    def _judge_safety(self, safety: Safety) -> None:
        if safety.state.is_latched or safety.reason.startswith('chunk rejected'):
            self.fault = f'{safety.state.name}: {safety.reason}'
