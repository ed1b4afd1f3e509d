"""planner_node: a sentence in, plan and verdicts out (lifecycle, autostart)."""

from __future__ import annotations

import sys
from collections.abc import Callable
from collections.abc import Sequence
from typing import Any

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.clock import Clock
from rclpy.clock import ClockType
from rclpy.executors import Executor
from rclpy.lifecycle import LifecycleNode
from rclpy.lifecycle import TransitionCallbackReturn

from structrl_ros.errors import StructRLError
from structrl_ros.nodes.abandoned_plan import AbandonedPlan
from structrl_ros.nodes.health import Health
from structrl_ros.nodes.parameters import declare
from structrl_ros.nodes.plan_publisher import PlanPublisher
from structrl_ros.nodes.planner_backends import BackendMaker
from structrl_ros.nodes.planner_backends import make_backends
from structrl_ros.nodes.planner_backends import make_session
from structrl_ros.nodes.planner_inbox import PlannerInbox
from structrl_ros.nodes.spinning import run_node
from structrl_ros.nodes.spinning import spin_while
from structrl_ros.nodes.task_server import TaskServer
from structrl_ros.params.planner import PlannerParameters
from structrl_ros.plan.monitor_clock import monitor_health
from structrl_ros.plan.session_ports import Outputs
from structrl_ros.types import Progress
from structrl_ros.types import Reward
from structrl_ros.wire.stamps import RosClock
from structrl_ros.wire.task_codecs import HealthLevel

SUCCESS = TransitionCallbackReturn.SUCCESS
FAILURE = TransitionCallbackReturn.FAILURE


class PlannerNode(LifecycleNode):
    """Decodes, hands on to `TaskSession`, encodes; `close` ends its task."""

    def __init__(self, *, maker: BackendMaker = make_backends, **options: Any) -> None:
        """Declare parameters; with `autostart`, configure and activate.

        Args:
            maker: Makes planner and monitor; tests give their own.
            **options: Of rclpy's Node.

        Raises:
            StructRLError: If a parameter is not allowed.
        """
        super().__init__('planner_node', **options)
        self._settings, self._maker = declare(self, PlannerParameters), maker
        self._stamps = RosClock(self)
        self._owned: list[Callable[[], Any]] = []
        self._wall_timers: list[Any] = []
        self._server: TaskServer | None = None
        if self._settings.autostart and self.trigger_configure() == SUCCESS:
            self.trigger_activate()

    def on_configure(self, state: Any) -> TransitionCallbackReturn:
        """Make planner and monitor; subscribe to what they look at, and to nothing else."""
        p = self._settings
        try:
            backends = self._maker(p)
        except StructRLError as error:
            self.get_logger().error(str(error))
            return FAILURE
        self._decisions, self._health = PlanPublisher(self), Health(self, 'monitor')
        self._owned = [backends.close, self._decisions.close, self._health.close]
        send = self._decisions
        outputs = Outputs(send.plan, send.verdict, self._end, backends.follow)
        self._session = make_session(p, backends, outputs, self._stamps)
        inbox = PlannerInbox(self, self._session, self._note, p.image_roles, lockstep=p.lockstep)
        self._owned.append(inbox.close)
        return super().on_configure(state)

    def on_activate(self, state: Any) -> TransitionCallbackReturn:
        """Begin to take goals."""
        p, wall = self._settings, Clock(clock_type=ClockType.STEADY_TIME)
        result = super().on_activate(state)
        group = MutuallyExclusiveCallbackGroup()
        self._wall_timers = [
            self.create_timer(0.1, self._session.poll, clock=wall, callback_group=group),
            self.create_timer(1.0, self._report, clock=wall, callback_group=group),
        ]
        self._server = TaskServer(self, self._session, p.image_roles, p.first_observation_s)
        self._abandoned = AbandonedPlan(self, self._session, self._stamps, self._decisions.plan)
        return result

    def on_deactivate(self, state: Any) -> TransitionCallbackReturn:
        """Hold the arm and end the task first."""
        self.close()
        self._abandoned.close()
        for timer in self._wall_timers:
            self.destroy_timer(timer)
        return super().on_deactivate(state)

    def on_cleanup(self, state: Any) -> TransitionCallbackReturn:
        """Free the backends and everything that was subscribed to."""
        for free in self._owned:
            free()
        return super().on_cleanup(state)

    def end_task(self) -> None:
        """End the task and take no more goals."""
        if self._server is not None:
            self._server.end()

    def close(self) -> None:
        """End the task and its server; a second call does nothing."""
        if self._server is not None:
            self._server.close()
            self._server = None

    def _note(self, value: Reward | Progress) -> None:
        if isinstance(value, Progress) and self._settings.monitor == 'grm':
            self._session.update(lambda latest: latest.take_progress(value))
        if self._server is not None:
            self._server.note(value)

    def _end(self, success: bool, reason: str) -> None:
        self._report()
        if self._server is not None:
            self._server.ended(success, reason)

    def _report(self) -> None:
        wanted_hz = self._settings.monitor_rate_hz
        is_well, text, numbers = monitor_health(self._session.ticks.statistics(), wanted_hz)
        numbers['state'] = self._session.executive.state.value
        level = HealthLevel.OK if is_well or self._settings.lockstep else HealthLevel.WARN
        self._health.tell(level, text, numbers)


def _close(node: PlannerNode, executor: Executor) -> None:
    """End a running task, with a plan to hold, while the node still answers."""
    spin_while(executor, node.end_task, limit_s=1.5)
    node.close()  # nothing spins now: a server that goes away under an executor ends the process


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM; a running task is ended first."""
    return run_node('planner_node', lambda _: PlannerNode(), _close, arguments, threads=4)


if __name__ == '__main__':
    sys.exit(main())
