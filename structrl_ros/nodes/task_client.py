"""A client of a running graph: waits for it, sends a sentence, hands every event to a listener."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any
from typing import Self

import rclpy
from action_msgs.msg import GoalStatus
from rclpy.action import ActionClient
from rclpy.subscription import Subscription
from structrl_msgs.action import ExecuteTask

from structrl_ros.errors import StaleDataError
from structrl_ros.errors import StructRLError
from structrl_ros.nodes.abandoned_plan import REASON as ABANDONED
from structrl_ros.nodes.contexts import joined_graph
from structrl_ros.nodes.hearing import hear
from structrl_ros.nodes.publishers import publisher_names
from structrl_ros.types import ChunkDone
from structrl_ros.types import Episode
from structrl_ros.types import Plan
from structrl_ros.types import Reward
from structrl_ros.types import Safety
from structrl_ros.types import SubtaskStatus
from structrl_ros.types import Verdict
from structrl_ros.wire import topics
from structrl_ros.wire.body_codecs import episode_from_message
from structrl_ros.wire.body_codecs import safety_from_message
from structrl_ros.wire.chunk_codecs import chunk_done_from_message
from structrl_ros.wire.plan_codecs import plan_from_message
from structrl_ros.wire.plan_codecs import subtask_status_from_message
from structrl_ros.wire.plan_codecs import verdict_from_message
from structrl_ros.wire.qos import recorder_qos
from structrl_ros.wire.reward_codecs import reward_from_message
from structrl_ros.wire.task_codecs import HealthLevel
from structrl_ros.wire.task_codecs import health_from_message
from structrl_ros.wire.task_codecs import task_to_goal

Event = Plan | Verdict | SubtaskStatus | Reward | Safety | Episode | ChunkDone

_EVENTS: dict[str, Callable[[Any], Event]] = {
    topics.PLAN: plan_from_message,
    topics.VERDICT: verdict_from_message,
    topics.SUBTASK: subtask_status_from_message,
    topics.REWARD: reward_from_message,
    topics.SAFETY: safety_from_message,
    topics.EPISODE: episode_from_message,
    topics.CHUNK_DONE: chunk_done_from_message,
}
#: What must be recorded from its first message on, for the rewards to be computed again.
_LEDGER = frozenset(
    {topics.EPISODE, topics.PLAN, topics.VERDICT, topics.PREDICATES, topics.CHUNK_DONE}
    | {topics.ACTION_CHUNK, topics.SUBTASK, topics.REWARD}
)
#: Wall seconds for a planner to acknowledge a cancellation.
_CANCEL_SECONDS = 0.8
#: Wall seconds without a planner after which a task of it is lost.
PLANNER_GONE_S = 5.0


@dataclass(frozen=True)
class Outcome:
    """How a task ended."""

    success: bool
    reason: str
    episode_return: float
    replans: int


def graph_words() -> str:
    """Return which graph this process sees, for whoever looks for another one."""
    number = os.environ.get('ROS_DOMAIN_ID') or '0'
    reach = os.environ.get('ROS_AUTOMATIC_DISCOVERY_RANGE') or 'SUBNET'
    here = f'this is ROS_DOMAIN_ID {number}, discovery {reach}'
    return f'{here}; a graph of the same: structrl up deploy'


class TaskClient:
    """Use as a context manager; one task at a time.

    Args:
        listener: Called with every event of the graph, in the order of arrival.
        namespace: Namespace of the arm or world.
        watch: Called about ten times a second while waiting; may raise to give up.

    Raises:
        ParameterError: If the namespace is none.
    """

    def __init__(
        self,
        listener: Callable[[Event], None],
        *,
        namespace: str = '',
        watch: Callable[[], None] | None = None,
    ) -> None:
        self._listener = listener
        self._watch = watch or (lambda: None)
        self._episode: Episode | None = None
        self._seen: dict[type[Any], Any] = {}
        self._lost, self._has_plan, self._ready_s = '', False, 0.0
        self._graph = ExitStack()
        joined = joined_graph(partial(rclpy.create_node, 'task_client'), namespace)
        self._node, self._executor = self._graph.enter_context(joined)
        self._action = ActionClient(self._node, ExecuteTask, topics.EXECUTE_TASK)
        self._subscriptions: dict[str, Subscription] = {}
        for topic, decode in _EVENTS.items():
            self._subscribe(topic, decode)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._graph.close()

    def wait_for_episode(self, limit_s: float) -> Episode:
        """Return the body's episode.

        Raises:
            StaleDataError: If none comes within the limit (wall seconds).
        """
        what = f'no body publishes `episode` ({graph_words()})'
        self._spin_until(lambda: self._episode is not None, limit_s, what)
        assert self._episode is not None
        return self._episode

    def wait_for_planner(self, limit_s: float) -> None:
        """Return once a planner takes goals.

        Raises:
            StaleDataError: If none does within the limit (wall seconds).
        """
        what = f'no planner serves `execute_task` ({graph_words()})'
        self._spin_until(self._action.server_is_ready, limit_s, what)

    def wait_for_subscribers(self, limit_s: float) -> None:
        """Return once somebody tracks subtasks and somebody gives chunks.

        Raises:
            StaleDataError: If that is not so within the limit (wall seconds).
        """

        def ready() -> bool:
            count = self._node.count_publishers
            return count(topics.SUBTASK) > 0 and count(topics.ACTION_CHUNK) > 0

        self._spin_until(ready, limit_s, 'no tracker or no policy came up')

    def wait_for_progress(self, limit_s: float) -> None:
        """Return once somebody says how far the episode is.

        Raises:
            StaleDataError: If nobody does within the limit (wall seconds).
        """
        count = self._node.count_publishers
        what = 'no progress model came up (grm_node)'
        self._spin_until(lambda: count(topics.PROGRESS) > 0, limit_s, what)

    def wait_for_recorder(self, limit_s: float) -> None:
        """Return once the recorder hears every topic that a ledger needs, or cannot record.

        Raises:
            StaleDataError: If it does neither within the limit (wall seconds).
        """
        health: list[tuple[str, HealthLevel, str, dict[str, str]]] = []
        topic = topics.DIAGNOSTICS
        qos = recorder_qos(topic)
        subscription = hear(self._node, topic, health_from_message, health.extend, qos)

        def ready() -> bool:
            said = [h for h in health if h[0].endswith('recorder_node: bag')][-1:]
            return any(
                level is HealthLevel.ERROR or set(values['connected'].split()) >= _LEDGER
                for _, level, _, values in said
            )

        self._spin_until(ready, limit_s, 'the recorder does not hear every node')
        self._node.destroy_subscription(subscription)

    def execute(self, instruction: str, time_limit: float = 0.0) -> Outcome:
        """Send a sentence and wait for its end; Ctrl-C cancels it first.

        Raises:
            StructRLError: If the planner refuses the goal.
        """
        self._lost, self._has_plan, self._ready_s = '', False, time.monotonic()
        sent = self._action.send_goal_async(task_to_goal(instruction, time_limit))
        self._spin_until(sent.done, 30.0, 'the planner does not answer to the goal')
        handle = sent.result()
        if not handle.accepted:
            planners = publisher_names(self._node, topics.PLAN)
            if len(planners) > 1:
                raise StructRLError(
                    f'the goal was refused: {len(planners)} nodes publish `plan` '
                    f'({", ".join(planners)}); allowed: one planner'
                )
            raise StructRLError('the planner refused the goal: it carries out another one')
        ended = handle.get_result_async()
        try:
            self._spin_until(lambda: ended.done() or self._is_lost(), None, '')
        except KeyboardInterrupt:
            handle.cancel_goal_async()
            self._spin_for(_CANCEL_SECONDS, ended.done)
            if not ended.done():
                return Outcome(False, 'cancelled; the planner did not confirm it', 0.0, 0)
        if not ended.done():
            return Outcome(False, self._lost, 0.0, 0)
        self._spin_for(0.3)
        return _outcome(ended.result())

    def _subscribe(self, topic: str, decode: Callable[[Any], Event]) -> None:
        def heard(event: Event) -> None:
            if isinstance(event, Episode):
                self._episode = event
            if isinstance(event, Plan):
                self._see_plan(event)
            self._keep(event)
            self._listener(event)

        qos = recorder_qos(topic)
        self._subscriptions[topic] = hear(self._node, topic, decode, heard, qos)

    def _keep(self, event: Any) -> None:
        """Remember the newest event of each kind."""
        self._seen[type(event)] = event

    def _see_plan(self, plan: Plan) -> None:
        """Note that the planner of this goal was killed: its successor says so."""
        if plan.reasoning != ABANDONED:
            self._has_plan = True
        elif self._has_plan:
            self._lost = 'the planner was killed; the one that began anew does not know this task'

    def _is_lost(self) -> bool:
        """Whether the planner of this goal will never answer."""
        if self._action.server_is_ready():
            self._ready_s = time.monotonic()
        elif time.monotonic() - self._ready_s > PLANNER_GONE_S:
            self._lost = 'the planner is gone'
        return bool(self._lost)

    def _spin_until(
        self, happened: Callable[[], bool], limit_s: float | None, complaint: str
    ) -> None:
        end = None if limit_s is None else time.monotonic() + limit_s
        next_look = 0.0
        while not happened():
            self._executor.spin_once(timeout_sec=0.1)
            now = time.monotonic()
            if now >= next_look:
                self._watch()
                next_look = now + 0.1
            if end is not None and now > end:
                raise StaleDataError(f'{complaint} within {limit_s:.0f} s')

    def _spin_for(self, seconds: float, happened: Callable[[], bool] = lambda: False) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end and not happened():
            self._executor.spin_once(timeout_sec=0.05)


def _outcome(response: Any) -> Outcome:
    result = response.result
    reason = result.reason
    if response.status == GoalStatus.STATUS_CANCELED and not reason:
        reason = 'cancelled'
    return Outcome(result.success, reason, result.episode_return, result.replans)
