"""A plan whose planner was killed: the arm must not pursue it with nobody looking on."""

from __future__ import annotations

from collections.abc import Callable

from rclpy.node import Node

from structrl_ros.nodes.hearing import hear
from structrl_ros.nodes.publishers import publisher_names
from structrl_ros.plan.session import TaskSession
from structrl_ros.ports import Clock
from structrl_ros.types import Plan
from structrl_ros.types import SubtaskStatus
from structrl_ros.wire import topics
from structrl_ros.wire.plan_codecs import subtask_status_from_message

REASON = 'hold: the planner began anew, nobody follows the plan of the one before'


class AbandonedPlan:
    """Publishes an empty plan when `subtask` says that an older planner's is being pursued."""

    def __init__(
        self, node: Node, session: TaskSession, clock: Clock, publish: Callable[[Plan], None]
    ) -> None:
        """Subscribe to `subtask`, which is latched: what is pursued now is heard at once."""
        self._node, self._session, self._clock, self._publish = node, session, clock, publish
        self._held = -1
        decode = subtask_status_from_message
        self._subscription = hear(node, topics.SUBTASK, decode, self._judge)

    def close(self) -> None:
        """End the subscription."""
        self._node.destroy_subscription(self._subscription)

    def _judge(self, status: SubtaskStatus) -> None:
        executive = self._session.executive
        is_ours = executive.plan is not None or executive.state.is_running
        if is_ours or not status.current or status.revision <= self._held:
            return
        own = self._node.get_fully_qualified_name()
        if any(name != own for name in publisher_names(self._node, topics.PLAN)):
            return  # another planner has it
        self._held = status.revision + 1
        self._node.get_logger().warning(f'{status.current} is pursued; {REASON}')
        stamp_ns = max(self._clock.now_ns(), status.stamp_ns)
        self._publish(Plan(stamp_ns, self._held, '', (), REASON, ''))
