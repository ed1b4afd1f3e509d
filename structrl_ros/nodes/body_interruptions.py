"""What drops a body's chunks from outside: an operator's takeover, and another subtask."""

from __future__ import annotations

from rclpy.node import Node

from structrl_ros.control.body_loop import BodyLoop
from structrl_ros.nodes.body_thread import BodyThread
from structrl_ros.nodes.hearing import hear
from structrl_ros.types import SubtaskStatus
from structrl_ros.wire import topics
from structrl_ros.wire.chunk_codecs import intervention_is_active
from structrl_ros.wire.plan_codecs import subtask_status_from_message


class BodyInterruptions:
    """Hears of them in the executor's thread and hands them to the body's."""

    def __init__(self, node: Node, thread: BodyThread, loop: BodyLoop, *, lockstep: bool) -> None:
        """Subscribe.

        Args:
            node: Whose subscriptions they are.
            thread: Of the body.
            loop: Drops the chunks.
            lockstep: Do not hear the subtask: a policy waits for it anyway.
        """
        self._thread, self._loop = thread, loop
        self._taken_over = False
        hear(node, topics.INTERVENTION, intervention_is_active, self._on_intervention)
        if not lockstep:
            hear(node, topics.SUBTASK, subtask_status_from_message, self._on_subtask)

    def _on_subtask(self, status: SubtaskStatus) -> None:
        self._thread.ask(lambda: self._loop.pursue(status.current, status.stamp_ns))

    def _on_intervention(self, active: bool) -> None:
        if active != self._taken_over:
            self._taken_over = active
            self._thread.ask(lambda: self._thread.publish_results(self._loop.take_over(active)))
