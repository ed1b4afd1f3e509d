"""Steps of progress on their topic, and what each looked at on /diagnostics."""

from __future__ import annotations

from rclpy.lifecycle import LifecycleNode

from structrl_ros.recording.progress_told import STATUS
from structrl_ros.recording.progress_told import LookedAt
from structrl_ros.recording.progress_told import RanWith
from structrl_ros.recording.progress_told import told_values
from structrl_ros.types import Progress
from structrl_ros.wire import topics
from structrl_ros.wire.qos import message_type
from structrl_ros.wire.qos import publisher_qos
from structrl_ros.wire.reward_codecs import progress_to_message
from structrl_ros.wire.task_codecs import HealthLevel
from structrl_ros.wire.task_codecs import health_to_message


class ProgressPublisher:
    """Publishes steps while its node is active; that it is there says that the model is ready."""

    def __init__(self, node: LifecycleNode, ran_with: RanWith) -> None:
        """Make the publishers.

        Args:
            node: Whose they are.
            ran_with: Model and goal, told with each step, by which a recording is checked.
        """
        self._node, self._ran_with = node, ran_with
        self._told, self._progress = (
            make(message_type(topic), topic, publisher_qos(topic))
            for topic, make in (
                (topics.DIAGNOSTICS, node.create_publisher),
                (topics.PROGRESS, node.create_lifecycle_publisher),
            )
        )

    def publish(self, progress: Progress, looked_at: LookedAt) -> None:
        """Publish what a step looked at, then the step; nothing once the context has ended."""
        if not self._node.context.ok():
            return
        level = HealthLevel.OK if progress.valid else HealthLevel.WARN
        values = told_values(self._ran_with, looked_at)
        text = f'step {progress.step}'
        told = health_to_message(progress.stamp_ns, STATUS, level, text, values)
        self._told.publish(told)
        self._progress.publish(progress_to_message(progress))

    def close(self) -> None:
        """Free the publishers."""
        for publisher in (self._told, self._progress):
            self._node.destroy_publisher(publisher)
