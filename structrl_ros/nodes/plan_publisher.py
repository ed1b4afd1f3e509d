"""What a planner decides, on its topics: plans and verdicts."""

from __future__ import annotations

from rclpy.lifecycle import LifecycleNode

from structrl_ros.types import Plan
from structrl_ros.types import Verdict
from structrl_ros.wire import topics
from structrl_ros.wire.plan_codecs import plan_to_message
from structrl_ros.wire.plan_codecs import verdict_to_message
from structrl_ros.wire.qos import message_type
from structrl_ros.wire.qos import publisher_qos


class PlanPublisher:
    """Publishes while its node is active."""

    def __init__(self, node: LifecycleNode) -> None:
        """Make the publishers of a node."""
        self._node = node
        self._plans, self._verdicts = (
            node.create_lifecycle_publisher(message_type(topic), topic, publisher_qos(topic))
            for topic in (topics.PLAN, topics.VERDICT)
        )

    def plan(self, plan: Plan) -> None:
        """Publish a plan and log its steps."""
        steps = '; '.join(s.phrase for s in plan.subtasks) or 'hold'
        self._node.get_logger().info(f'plan {plan.revision}: {steps}')
        self._plans.publish(plan_to_message(plan))

    def verdict(self, verdict: Verdict) -> None:
        """Publish a verdict."""
        self._verdicts.publish(verdict_to_message(verdict))

    def close(self) -> None:
        """Free the publishers."""
        for publisher in (self._plans, self._verdicts):
            self._node.destroy_publisher(publisher)
