"""The thread of an evaluation: plays what a protocol leaves open, on the graph that runs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from collections.abc import Mapping

from rclpy.node import Node

from structrl_ros.errors import StructRLError
from structrl_ros.evaluation.protocol import Trial
from structrl_ros.nodes.attendance import Attendance
from structrl_ros.nodes.evaluation_client import EvaluationClient
from structrl_ros.nodes.last_picture import LastPicture
from structrl_ros.nodes.trial_conductor import TrialConductor
from structrl_ros.params.evaluator import EvaluatorParameters
from structrl_ros.training.evaluation_folder import EvaluationFolder


class _EndedError(StructRLError):
    """The node ends in the middle of a trial, which will be played again."""


class EvaluationThread:
    """Resets the body, sends the sentences and keeps the records.

    Attributes:
        trial: What is played now, None before and after.
        error: Why it cannot go on, '' if it can.
    """

    def __init__(
        self,
        node: Node,
        folder: EvaluationFolder,
        attendance: Attendance,
        policy_nodes: Mapping[str, str],
        p: EvaluatorParameters,
    ) -> None:
        """Prepare.

        Args:
            node: Hears the pictures and logs.
            folder: Of the evaluation; whoever made it closes it, after this.
            attendance: The person beside it.
            policy_nodes: Code of a policy to the node that runs it, where there are several.
            p: Who attends, and how long an answer of the graph may take.
        """
        self._node, self._folder, self._attendance = node, folder, attendance
        self._policy_nodes, self._settings = policy_nodes, p
        self._picture = LastPicture(node)
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self.trial: Trial | None = None
        self.error = ''

    def start(self, on_end: Callable[[bool], None]) -> None:
        """Begin to play.

        Args:
            on_end: Called from the thread when everything is played (True), or it cannot go on
                (False).
        """
        self._thread = threading.Thread(
            target=self._run, args=(on_end,), name='evaluation', daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """End the thread; an episode that runs is not kept, and is played again later."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(5.0)

    def _run(self, on_end: Callable[[bool], None]) -> None:
        try:
            self._play()
            headline = self._folder.save_results().headline
            self._node.get_logger().info(headline)
            on_end(True)
        except _EndedError:
            return
        except StructRLError as error:
            self.error = str(error)
            self._node.get_logger().fatal(str(error))
            on_end(False)

    def _play(self) -> None:
        folder, settings = self._folder, self._settings
        conductor = TrialConductor(
            folder.protocol,
            self._policy_nodes,
            self._attendance,
            attended=settings.attended,
            look=self._look,
        )
        with EvaluationClient(
            conductor.hear,
            namespace=self._node.get_namespace().strip('/'),
            watch=conductor.watch,
            patience_s=settings.patience_s,
        ) as client:
            client.wait_for_graph()
            while open_ := folder.stand.open:
                self.trial = open_[0]
                self._picture.forget()
                record = conductor.play(open_[0], client)
                self._picture.save(folder.path, record.number)
                folder.append(record)
                folder.save_results()
                word = 'success' if record.success else f'failure: {record.cause}'
                text = f'episode {record.number}, {record.task}: {word} ({record.reason})'
                self._node.get_logger().info(text)
        self.trial = None

    def _look(self) -> None:
        if self._stopping.is_set():
            raise _EndedError('the evaluation is ended; it can go on')
