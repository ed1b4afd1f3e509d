"""evaluator_node: a protocol through the topics of a running graph, on any body.

A thread (`evaluation_thread`) plays; the node itself offers the services of the person beside it,
and says on /diagnostics what it waits for.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rclpy.clock import Clock
from rclpy.clock import ClockType
from rclpy.node import Node

from structrl_ros.nodes.attendance import Attendance
from structrl_ros.nodes.evaluation_thread import EvaluationThread
from structrl_ros.nodes.graph_protocol import graph_protocol
from structrl_ros.nodes.graph_protocol import policy_nodes
from structrl_ros.nodes.health import Health
from structrl_ros.nodes.parameters import declare
from structrl_ros.nodes.spinning import run_node
from structrl_ros.params.evaluator import EvaluatorParameters
from structrl_ros.training.evaluation_folder import EvaluationFolder
from structrl_ros.training.evaluation_folder import open_evaluation
from structrl_ros.wire.task_codecs import HealthLevel


class EvaluatorNode(Node):
    """Plays a protocol; `close` ends its thread."""

    def __init__(self, *, on_end: Callable[[bool], None], **options: Any) -> None:
        """Open the folder and begin.

        Args:
            on_end: Called when the node is to end: everything is played and it does not linger
                (True), or it cannot go on (False).
            **options: Of rclpy's Node.

        Raises:
            StructRLError: If a parameter, the protocol or the folder is wrong.
        """
        super().__init__('evaluator_node', **options)
        p = declare(self, EvaluatorParameters)
        protocol = graph_protocol(p)
        self._folder: EvaluationFolder = open_evaluation(Path(p.out).expanduser(), protocol)
        self._attendance = Attendance(self)
        self._health = Health(self, 'evaluation')
        nodes = policy_nodes(protocol.policies, self._folder.policies())
        self._evaluation = EvaluationThread(self, self._folder, self._attendance, nodes, p)
        self.create_timer(1.0, self._report, clock=Clock(clock_type=ClockType.STEADY_TIME))

        def end(is_well: bool) -> None:
            if not (is_well and p.linger):
                on_end(is_well)

        self._evaluation.start(end)

    def close(self) -> None:
        """End the thread; an episode that runs is not kept, and is played again later."""
        self._evaluation.close()
        self._folder.close()

    def _report(self) -> None:
        waiting, text = self._attendance.waiting
        trial, error = self._evaluation.trial, self._evaluation.error
        planned = len(self._folder.trials)
        values: dict[str, object] = {
            'waiting': waiting,
            'episode': '' if trial is None else trial.number,
            'task': '' if trial is None else trial.start.task,
            'policy': '' if trial is None else trial.code,
            'done': planned - len(self._folder.stand.open),
            'planned': planned,
        }
        level = HealthLevel.ERROR if error else HealthLevel.OK
        said = error or (text if waiting else self._folder.results().headline)
        self._health.tell(level, said, values)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM, or, without `linger`, until all is played."""
    failures: list[int] = []

    def make(ended: threading.Event) -> EvaluatorNode:
        def end(is_well: bool) -> None:
            failures.extend([] if is_well else [1])
            ended.set()

        return EvaluatorNode(on_end=end)

    status = run_node('evaluator_node', make, lambda node, _: node.close(), arguments)
    return 1 if failures else status


if __name__ == '__main__':
    sys.exit(main())
