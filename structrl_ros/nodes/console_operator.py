"""What a person does on the console, through the contract's services, actions and topics."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from collections.abc import Mapping
from concurrent.futures import Future
from concurrent.futures import InvalidStateError
from typing import Any

import numpy as np
from action_msgs.msg import GoalStatus
from action_msgs.msg import GoalStatusArray
from action_msgs.srv import CancelGoal
from rclpy.action import ActionClient
from rclpy.node import Node
from rclpy.qos import qos_profile_action_status_default
from std_msgs.msg import Bool
from std_srvs.srv import SetBool
from std_srvs.srv import Trigger
from structrl_msgs.action import ExecuteTask
from structrl_msgs.srv import ResetEpisode

from structrl_ros.console import operator
from structrl_ros.console.live_state import LiveState
from structrl_ros.console.operator import Answer
from structrl_ros.errors import MessageError
from structrl_ros.types import Episode
from structrl_ros.types import Intervention
from structrl_ros.types import Safety
from structrl_ros.wire import topics
from structrl_ros.wire.body_codecs import reset_to_request
from structrl_ros.wire.chunk_codecs import intervention_to_message
from structrl_ros.wire.qos import message_type
from structrl_ros.wire.qos import publisher_qos
from structrl_ros.wire.task_codecs import task_to_goal

_RUNNING = (
    GoalStatus.STATUS_ACCEPTED,
    GoalStatus.STATUS_EXECUTING,
    GoalStatus.STATUS_CANCELING,
)
#: Name under which an end of a takeover is published.
DEVICE = 'console'


class RosOperator:
    """An `Operator`; its methods may be called from any thread."""

    def __init__(self, node: Node, state: LiveState, changed: Callable[[], None]) -> None:
        """Make the clients; whether somebody serves is asked at each call.

        Args:
            node: Whose clients they are.
            state: Is told how a task ends that was asked for here.
            changed: Called by the executor when `reasons` may have changed.
        """
        self._node = node
        self._state = state
        self._changed = changed
        self._is_busy = False
        self._stop = node.create_client(SetBool, topics.EMERGENCY_STOP)
        self._reset = node.create_client(Trigger, topics.RESET_SAFETY)
        self._episode = node.create_client(ResetEpisode, topics.RESET_EPISODE)
        self._record = node.create_client(SetBool, topics.RECORD)
        self._mark = node.create_client(SetBool, topics.MARK_EPISODE)
        self._task = ActionClient(node, ExecuteTask, topics.EXECUTE_TASK)
        self._cancel = node.create_client(CancelGoal, f'{topics.EXECUTE_TASK}/_action/cancel_goal')
        self._signal, self._release = (
            node.create_publisher(message_type(topic), topic, publisher_qos(topic))
            for topic in (topics.EMERGENCY_STOP_SIGNAL, topics.INTERVENTION)
        )
        node.create_subscription(
            GoalStatusArray,
            f'{topics.EXECUTE_TASK}/_action/status',
            self._on_status,
            qos_profile_action_status_default,
        )

    def emergency_stop(self) -> Future[Answer]:
        """Stop by topic and by service at once, and cancel the task, lest a reset set it going."""
        self._node.get_logger().fatal('emergency stop from the console')
        self._signal.publish(Bool(data=True))
        answer = self._call(self._stop, SetBool.Request(data=True), _success)
        self.cancel()
        return answer

    def reset_safety(self) -> Future[Answer]:
        """End a latched stop."""
        return self._call(self._reset, Trigger.Request(), _success)

    def run(self, instruction: str, time_limit_s: float) -> Future[Answer]:
        """Send a goal; its end is told to the state."""
        if not self._task.server_is_ready():
            return _settled(Answer(False, 'no planner serves execute_task'))
        try:
            goal = task_to_goal(instruction, time_limit_s)
        except MessageError as error:
            return _settled(Answer(False, str(error)))
        answer: Future[Answer] = Future()
        sent = self._task.send_goal_async(goal)
        sent.add_done_callback(lambda done: self._on_goal(done, instruction, answer))
        return answer

    def cancel(self) -> Future[Answer]:
        """Cancel every goal: an empty id and time mean all."""
        return self._call(self._cancel, CancelGoal.Request(), _cancelled)

    def release_takeover(self) -> Future[Answer]:
        """Publish that the takeover has ended, as the device would."""
        last, episode = self._state.newest(Intervention), self._state.newest(Episode)
        if last is None or not last.active:
            return _settled(Answer(False, 'nobody has taken over'))
        number = last.episode if episode is None else episode.episode
        over = Intervention(last.stamp_ns, number, False, DEVICE, np.zeros(0, np.float32))
        self._release.publish(intervention_to_message(over))
        return _settled(Answer(True, f'the takeover by {last.device or "a device"} has ended'))

    def mark(self, success: bool) -> Future[Answer]:
        """Give a person's word to the evaluation that runs."""
        return self._call(self._mark, SetBool.Request(data=success), _success)

    def record(self, on: bool) -> Future[Answer]:
        """Begin or end a bag."""
        return self._call(self._record, SetBool.Request(data=on), _success)

    def new_episode(self) -> Future[Answer]:
        """Set the scene of the present episode again."""
        now = self._state.newest(Episode)
        seed, initial_state = (0, 0) if now is None else (now.seed, now.initial_state)
        return self._call(self._episode, reset_to_request('', seed, initial_state), _accepted)

    def reasons(self) -> Mapping[str, str]:
        """Return why each action cannot be done now, '' where it can."""
        safety, takeover = self._state.newest(Safety), self._state.newest(Intervention)
        is_latched = safety is not None and safety.state.is_latched
        has_planner = self._task.server_is_ready()
        run = '' if has_planner else 'no planner serves execute_task'
        if is_latched:
            run = 'the body is stopped; reset the stop first'
        elif self._is_busy:
            run = 'a task is carried out; cancel it first'
        is_taken = takeover is not None and takeover.active
        return {
            operator.EMERGENCY_STOP: '',  # tried always, whatever seems to be there
            operator.RESET_SAFETY: self._absent(self._reset, 'body')
            or ('' if is_latched else 'no stop is latched'),
            operator.RUN: run,
            operator.CANCEL: '' if self._is_busy else 'no task is carried out',
            operator.RELEASE_TAKEOVER: '' if is_taken else 'nobody has taken over',
            operator.MARK: self._absent(self._mark, 'evaluation that asks a person'),
            operator.RECORD: self._absent(self._record, 'recorder'),
            operator.STOP_RECORDING: self._absent(self._record, 'recorder'),
            operator.NEW_EPISODE: self._absent(self._episode, 'body'),
        }

    def present(self) -> Mapping[str, bool]:
        """Return which parts of a graph are there."""
        count = self._node.count_publishers
        return {
            'body': count(topics.EPISODE) > 0,
            'planner': self._task.server_is_ready(),
            'tracker': count(topics.SUBTASK) > 0,
            'policy': count(topics.ACTION_CHUNK) > 0,
            'progress model': count(topics.PROGRESS) > 0,
            'recorder': self._record.service_is_ready(),
        }

    def _absent(self, client: Any, who: str) -> str:
        return '' if client.service_is_ready() else f'no {who} serves {client.srv_name}'

    def _on_status(self, message: Any) -> None:
        self._is_busy = any(status.status in _RUNNING for status in message.status_list)
        self._changed()

    def _on_goal(self, done: Any, instruction: str, answer: Future[Answer]) -> None:
        handle = done.result()
        if handle is None or not handle.accepted:
            _settle(answer, Answer(False, 'the planner refused: it carries out another task'))
            return
        self._state.note_task('running', instruction, '')
        _settle(answer, Answer(True, 'the planner has taken the task'))
        handle.get_result_async().add_done_callback(lambda d: self._on_end(d, instruction))

    def _on_end(self, done: Any, instruction: str) -> None:
        response = done.result()
        if response is None:
            return
        result = response.result
        is_cancelled = response.status == GoalStatus.STATUS_CANCELED
        state = 'success' if result.success else 'cancelled' if is_cancelled else 'failure'
        self._state.note_task(state, instruction, result.reason or state)

    def _call(self, client: Any, request: Any, read: Callable[[Any], Answer]) -> Future[Answer]:
        if not client.service_is_ready():
            return _settled(Answer(False, f'nobody serves {client.srv_name}'))
        answer: Future[Answer] = Future()
        sent = client.call_async(request)
        sent.add_done_callback(lambda done: _settle(answer, read(done.result())))
        return answer


def _success(response: Any) -> Answer:
    return Answer(bool(response.success), str(response.message))


def _accepted(response: Any) -> Answer:
    return Answer(bool(response.accepted), str(response.message))


def _cancelled(response: Any) -> Answer:
    count = len(response.goals_canceling)
    return Answer(count > 0, f'{count} cancelled' if count else 'no task is carried out')


def _settled(answer: Answer) -> Future[Answer]:
    future: Future[Answer] = Future()
    future.set_result(answer)
    return future


def _settle(future: Future[Answer], answer: Answer) -> None:
    with contextlib.suppress(InvalidStateError):  # whoever waited has gone
        future.set_result(answer)
