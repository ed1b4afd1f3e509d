"""The action server `execute_task`: one goal at a time, feedback, a reason for every end."""

from __future__ import annotations

import threading
import time
from typing import Any

from rclpy.action import ActionServer
from rclpy.action import CancelResponse
from rclpy.action import GoalResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from structrl_msgs.action import ExecuteTask

from structrl_ros.errors import StructRLError
from structrl_ros.naming import fold
from structrl_ros.nodes.publishers import publisher_names
from structrl_ros.plan.commands import Goal
from structrl_ros.plan.session import TaskSession
from structrl_ros.types import Progress
from structrl_ros.types import Reward
from structrl_ros.wire import topics
from structrl_ros.wire.task_codecs import task_feedback
from structrl_ros.wire.task_codecs import task_from_goal
from structrl_ros.wire.task_codecs import task_result

#: Wall seconds between two messages of feedback, and for the last reward to come.
_FEEDBACK_S = 0.2
_LAST_REWARD_S = 1.0


class TaskServer:
    """Serves goals by a session; `ended` is the session's output `finish`.

    Args:
        node: The node that serves.
        session: Carries out one task at a time.
        roles: Cameras whose images a task needs from its beginning.
        patience_s: Wall time to wait for a body and these images.
    """

    def __init__(
        self, node: Node, session: TaskSession, roles: tuple[str, ...], patience_s: float
    ) -> None:
        self._node, self._session = node, session
        self._roles, self._patience_s = roles, patience_s
        self._lock = threading.Lock()
        self._is_taken = self._is_closing = False
        self._end = threading.Event()
        self._outcome = (False, '')
        self._reward: Reward | None = None
        self._potential = 0.0
        self._server = ActionServer(
            node,
            ExecuteTask,
            topics.EXECUTE_TASK,
            self._execute,
            goal_callback=self._judge_goal,
            cancel_callback=lambda handle: CancelResponse.ACCEPT,
            callback_group=ReentrantCallbackGroup(),
        )

    def note(self, value: Reward | Progress) -> None:
        """Take what the feedback tells: the latest reward, and the latest valid potential."""
        if isinstance(value, Reward):
            self._reward = value
        elif value.valid:
            self._potential = value.potential

    def ended(self, success: bool, reason: str) -> None:
        """Take the end of the task."""
        self._outcome = (success, reason)
        self._end.set()

    def end(self) -> None:
        """End the task and take no other one; its owner hears of it from a node that spins."""
        self._is_closing = True
        self._session.abort('planner_node stops')
        end = time.monotonic() + _LAST_REWARD_S
        while self._is_taken and time.monotonic() < end:
            time.sleep(0.01)

    def close(self) -> None:
        """End the task and the server."""
        self.end()
        self._server.destroy()

    def _judge_goal(self, goal: Any) -> GoalResponse:
        try:
            task_from_goal(goal)
        except StructRLError as error:
            self._node.get_logger().error(f'goal refused: {error}')
            return GoalResponse.REJECT
        if others := publisher_names(self._node, topics.PLAN)[1:]:
            self._node.get_logger().error(
                f'goal refused: {", ".join(others)} publishes `plan`, too; allowed: one planner '
                '(one that was killed counts for another 20 s)'
            )
            return GoalResponse.REJECT
        with self._lock:
            if self._is_taken:
                self._node.get_logger().error('goal refused: another one is carried out')
                return GoalResponse.REJECT
            self._is_taken = True
        return GoalResponse.ACCEPT

    def _execute(self, handle: Any) -> Any:
        self._end.clear()
        self._reward, self._potential = None, 0.0
        instruction, limit_s = task_from_goal(handle.request)
        try:
            reason = self._wait_for_body(handle)
            if not reason:
                self._session.start(self._goal(instruction, limit_s))
                self._watch(handle)
                reason = self._outcome[1]
        except StructRLError as error:
            reason = str(error)
        success = self._end.is_set() and self._outcome[0]
        with self._lock:
            self._is_taken = False
        if success:
            self._node.get_logger().info(f'{instruction!r}: {reason}')
        else:
            self._node.get_logger().error(f'{instruction!r}: {reason}')
        return self._answer(handle, success, reason)

    def _goal(self, instruction: str, limit_s: float) -> Goal:
        episode = self._session.episode
        assert episode is not None
        is_its_own = bool(instruction) and fold(instruction) == fold(episode.instruction)
        return Goal(instruction, limit_s, episode.objects or None, is_its_own)

    def _wait_for_body(self, handle: Any) -> str:
        """Return '' once a task can begin, else why it cannot."""
        end = time.monotonic() + self._patience_s
        while True:
            episode = self._session.episode
            if episode is not None and episode.ended:
                return 'the episode has ended; reset the body first: structrl reset'
            if episode is not None and self._session.has_images(self._roles):
                return ''
            if handle.is_cancel_requested or self._is_closing:
                return 'cancelled before the body was ready'
            if time.monotonic() > end:
                missing = 'no body publishes `episode`' if episode is None else self._no_images()
                return f'{missing} within {self._patience_s:g} s'
            time.sleep(0.02)

    def _no_images(self) -> str:
        missing = [r for r in self._roles if not self._session.has_images((r,))]
        return f'no image of {", ".join(missing)} came from the body'

    def _watch(self, handle: Any) -> None:
        """Wait for the end, give feedback, hand a cancellation on."""
        while not self._end.wait(0.02 if handle.is_cancel_requested else _FEEDBACK_S):
            if handle.is_cancel_requested:
                self._session.cancel()
            self._give_feedback(handle)
        if not self._is_closing:
            self._await_last_reward()

    def _give_feedback(self, handle: Any) -> None:
        executive = self._session.executive
        step, plan = executive.current, executive.plan
        reward = self._reward
        handle.publish_feedback(
            task_feedback(
                step.id if step is not None else '',
                executive.index,
                len(plan.subtasks) if plan is not None else 0,
                potential=self._potential,
                episode_return=reward.episode_return if reward is not None else 0.0,
            )
        )

    def _await_last_reward(self) -> None:
        """Wait for the reward of the chunk that the end was decided on, if one tracks rewards."""
        if self._node.count_publishers(topics.REWARD) == 0:
            return
        wanted_ns = self._session.truth_ns
        end = time.monotonic() + _LAST_REWARD_S
        while time.monotonic() < end:
            if self._reward is not None and self._reward.stamp_ns >= wanted_ns:
                return
            time.sleep(0.01)

    def _answer(self, handle: Any, success: bool, reason: str) -> Any:
        is_cancelled = handle.is_cancel_requested and not success
        executive, reward = self._session.executive, self._reward
        result = task_result(
            success,
            reason,
            executive.shown_plan if self._end.is_set() else None,
            episode_return=reward.episode_return if reward is not None else 0.0,
            replans=executive.replans if self._end.is_set() else 0,
        )
        if success:
            handle.succeed()
        elif is_cancelled:
            handle.canceled()
        else:
            handle.abort()
        return result
