"""One sim_node as a lane of a trainer: episodes and chunks out, their outcome in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rclpy.node import Node
from structrl_msgs.srv import ResetEpisode

from structrl_ros.control.episode_results import ChunkResult
from structrl_ros.errors import SimulationError
from structrl_ros.nodes.body_answers import BodyAnswers
from structrl_ros.nodes.message_pump import MessagePump
from structrl_ros.types import ActionChunk
from structrl_ros.types import BodySpec
from structrl_ros.types import ChunkDone
from structrl_ros.types import Episode
from structrl_ros.types import Float32
from structrl_ros.types import Float64
from structrl_ros.types import Plan
from structrl_ros.types import Predicates
from structrl_ros.types import Safety
from structrl_ros.types import SimulatorState
from structrl_ros.types import Subtask
from structrl_ros.types import SubtaskStatus
from structrl_ros.types import UInt8
from structrl_ros.wire import topics
from structrl_ros.wire.body_codecs import reset_to_request
from structrl_ros.wire.chunk_codecs import action_chunk_to_message
from structrl_ros.wire.plan_codecs import plan_to_message
from structrl_ros.wire.qos import message_type
from structrl_ros.wire.qos import publisher_qos
from structrl_ros.world_types import EpisodeStart


class RosLane:
    """Drives one body in lock-step.

    `is_reset`, `is_tracked`, `has_run` and `has_picture` say whether an answer is complete, or
    raise what is wrong; the pump that brings the messages is shared by all lanes.
    """

    def __init__(
        self, node: Node, pump: MessagePump, namespace: str, *, tracked: bool, wants_state: bool
    ) -> None:
        """Subscribe in a namespace ('' is the root).

        Args:
            node: Of the trainer.
            pump: Serves the node.
            namespace: Of the sim_node.
            tracked: Whether plans are published, and the tracker's answer awaited.
            wants_state: Whether the simulator's state is asked for.
        """
        self.label = f'sim_node in {namespace or "/"}'
        self._node = node
        self._prefix = f'{namespace.rstrip("/")}/' if namespace else ''
        self._wants_state = wants_state
        self._answers = BodyAnswers(pump, self._prefix, tracked=tracked, wants_state=wants_state)
        self._now_ns = 0
        self._response: Any = None
        self._chunks = self._publisher(topics.ACTION_CHUNK)
        self._plans = self._publisher(topics.PLAN) if tracked else None
        self._resets = pump.client(ResetEpisode, self._prefix + topics.RESET_EPISODE)

    def is_up(self) -> bool:
        """Whether the body takes resets and chunks, and has said what it is."""
        is_taken = self._is_heard(topics.ACTION_CHUNK, self._chunks)
        is_known = self._answers.last(Episode) is not None
        return is_taken and is_known and bool(self._resets.service_is_ready())

    @property
    def episode(self) -> Episode:
        """Newest start or end of an episode."""
        episode: Episode = self._answers.last(Episode)
        return episode

    @property
    def state(self) -> Float64:
        """The simulator's state after the last reset or chunk."""
        state: SimulatorState = self._answers.last(SimulatorState)
        return state.state

    def is_alone(self) -> bool:
        """Whether nobody else publishes chunks."""
        return not self._other_drivers()

    def rivals(self) -> str:
        """Return who else publishes chunks, as a complaint."""
        return (
            f'{self.label}: {", ".join(self._other_drivers())} publishes '
            f'`{topics.ACTION_CHUNK}`, too; allowed: the trainer alone; it does not leave'
        )

    def begin(self, start: EpisodeStart) -> None:
        """Ask for an episode."""
        self._answers.episode, self._answers.fault = 0, ''
        request = reset_to_request(start.task, start.seed, start.initial_state)
        self._response = self._resets.call_async(request)

    def is_reset(self) -> bool:
        """Whether the episode has begun and its first truth and state are here.

        Raises:
            SimulationError: If the body refused.
        """
        if not self._response.done():
            return False
        response, answers = self._response.result(), self._answers
        if not response.accepted:
            raise SimulationError(f'{self.label}: {response.message}')
        answers.episode, answers.chunk = int(response.episode), 0
        parts = [answers.last(Episode), answers.last(Predicates)]
        parts += [answers.last(SimulatorState)] if self._wants_state else []
        return all(part is not None and self._is_first(part) for part in parts)

    def open(self) -> tuple[str, ...]:
        """Begin to count, after `is_reset`; return the names that the body publishes."""
        truth: Predicates = self._answers.last(Predicates)
        self._now_ns = truth.stamp_ns
        return truth.names

    def pursue(self, subtasks: Sequence[Subtask]) -> None:
        """Publish the plan of the episode, for whoever tracks and pays it."""
        assert self._plans is not None
        self._answers.forget(SubtaskStatus)
        plan = Plan(self._now_ns, 1, self.episode.instruction, tuple(subtasks), planner='trainer')
        self._plans.publish(plan_to_message(plan))

    def has_tracker(self) -> bool:
        """Whether somebody tracks plans and hears what it pays for."""
        heard = (topics.CHUNK_DONE, topics.PREDICATES)
        readers = [self._node.count_subscribers(self._prefix + topic) for topic in heard]
        trackers = self._node.count_publishers(self._prefix + topics.SUBTASK)
        return trackers > 0 and min(readers) > 1 and self._is_heard(topics.PLAN, self._plans)

    def is_tracked(self) -> bool:
        """Whether the tracker follows the plan and has paid every chunk so far."""
        status: SubtaskStatus | None = self._answers.last(SubtaskStatus)
        now = (self._answers.episode, self._answers.chunk, 1)
        return status is not None and (status.episode, status.chunk, status.revision) == now

    def send(self, actions: Float32, spec: BodySpec) -> None:
        """Publish the next chunk, shape (L, D)."""
        self._answers.forget(Safety)
        chunk = ActionChunk(
            stamp_ns=self._now_ns,
            episode=self._answers.episode,
            chunk=self._answers.chunk + 1,
            source='policy',
            action_space=spec.action_space,
            step_period=1.0 / spec.control_rate_hz,
            actions=actions,
        )
        self._chunks.publish(action_chunk_to_message(chunk))

    def has_run(self) -> bool:
        """Whether the chunk that was sent has run and all that is said of it is here.

        Raises:
            SimulationError: If it was refused, a message was lost, or the body does not wait.
        """
        answers = self._answers
        if answers.fault:
            raise SimulationError(f'{self.label}: {answers.fault}')
        seen: SimulatorState | None = answers.last(SimulatorState)
        if seen is not None and seen.chunk == answers.chunk and seen.stamp_ns > self._now_ns:
            raise SimulationError(
                f'{self.label} does not wait for chunks; allowed: lockstep:=true'
            )
        done: ChunkDone | None = answers.next(ChunkDone)
        if done is None or answers.next(Predicates) is None:
            return False
        return seen is None or seen.stamp_ns == done.stamp_ns

    def take(self) -> ChunkResult:
        """Return what the chunk did, after `has_run`."""
        answers = self._answers
        done: ChunkDone = answers.last(ChunkDone)
        answers.chunk, self._now_ns = done.chunk, done.stamp_ns
        return ChunkResult(answers.last(Predicates), done, None)

    def has_picture(self, role: str) -> bool:
        """Whether the picture of a role after the last reset or chunk is here.

        The first question subscribes; from then on the body draws that role.
        """
        picture = self._answers.picture(role)
        return picture is not None and picture[0] >= self._now_ns

    def picture(self, role: str) -> UInt8:
        """Return the newest picture of a role, after `has_picture`."""
        picture = self._answers.picture(role)
        assert picture is not None
        return picture[1]

    def look(self) -> None:
        """See whether the body is still there.

        Raises:
            SimulationError: If it is not.
        """
        if not self._node.count_publishers(self._prefix + topics.CHUNK_DONE):
            raise SimulationError(f'{self.label} is gone')

    def complaint(self) -> str:
        """Return what is missing, for a time that ran out."""
        answers = self._answers
        safety: Safety | None = answers.last(Safety)
        why = f' ({safety.state.name}: {safety.reason})' if safety and safety.reason else ''
        if not self._now_ns and not self.is_up():
            return f'{self.label} did not come up'
        if not answers.episode:
            return f'{self.label} did not reset{why}'
        return (
            f'{self.label} did not end chunk {answers.chunk + 1} of episode {answers.episode}{why}'
        )

    def _publisher(self, topic: str) -> Any:
        kind, qos = message_type(topic), publisher_qos(topic)
        return self._node.create_publisher(kind, self._prefix + topic, qos)

    def _is_heard(self, topic: str, publisher: Any) -> bool:
        """Whether everybody who wants to hear a topic of the trainer is connected."""
        wanted = self._node.count_subscribers(self._prefix + topic)
        return 0 < wanted <= int(publisher.get_subscription_count())

    def _is_first(self, part: Any) -> bool:
        if part.episode != self._answers.episode:
            return False
        return not part.ended if isinstance(part, Episode) else part.chunk == 0

    def _other_drivers(self) -> list[str]:
        topic = self._prefix + topics.ACTION_CHUNK
        infos = self._node.get_publishers_info_by_topic(topic)
        names = sorted(f'{i.node_namespace.rstrip("/")}/{i.node_name}' for i in infos)
        own = f'{self._node.get_namespace().rstrip("/")}/{self._node.get_name()}'
        if own in names:
            names.remove(own)
        return names
