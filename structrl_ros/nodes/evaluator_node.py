"""evaluator_node: a protocol through the topics of a running graph, on any body.

A thread resets the body, sends the sentences and keeps the records; the node itself offers the
services of the person beside it, and says on /diagnostics what it waits for.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rclpy.clock import Clock
from rclpy.clock import ClockType
from rclpy.node import Node

from structrl_ros.errors import ParameterError
from structrl_ros.errors import StructRLError
from structrl_ros.evaluation.protocol import PolicyChoice
from structrl_ros.evaluation.protocol import Protocol
from structrl_ros.evaluation.protocol import Trial
from structrl_ros.nodes.attendance import Attendance
from structrl_ros.nodes.evaluation_client import EvaluationClient
from structrl_ros.nodes.last_picture import LastPicture
from structrl_ros.nodes.parameters import declare
from structrl_ros.nodes.spinning import run_node
from structrl_ros.nodes.trial_conductor import TrialConductor
from structrl_ros.params.evaluator import EvaluatorParameters
from structrl_ros.training.evaluated_policy import policy_fingerprint
from structrl_ros.training.evaluation_folder import EvaluationFolder
from structrl_ros.training.evaluation_folder import open_evaluation
from structrl_ros.training.protocol_document import read_protocol
from structrl_ros.wire import topics
from structrl_ros.wire.qos import message_type
from structrl_ros.wire.qos import publisher_qos
from structrl_ros.wire.stamps import RosClock
from structrl_ros.wire.task_codecs import HealthLevel
from structrl_ros.wire.task_codecs import health_to_message

#: Nodes of the first and of the second policy.
POLICY_NODES = ('policy_node', 'other_policy_node')


class _EndedError(StructRLError):
    """The node ends in the middle of a trial, which will be played again."""


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
        self._settings = p = declare(self, EvaluatorParameters)
        protocol = graph_protocol(p)
        self._policies = protocol.policies
        self._folder: EvaluationFolder = open_evaluation(Path(p.out).expanduser(), protocol)
        self._on_end = on_end
        self._stopping = threading.Event()
        self._now: Trial | None = None
        self._error = ''
        self._attendance = Attendance(self)
        self._picture = LastPicture(self)
        self._body_clock = RosClock(self)
        health = topics.DIAGNOSTICS
        self._health = self.create_publisher(message_type(health), health, publisher_qos(health))
        self.create_timer(1.0, self._report, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self._thread = threading.Thread(target=self._run, name='evaluation', daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread; an episode that runs is not kept, and is played again later."""
        self._stopping.set()
        self._thread.join(5.0)
        self._folder.close()

    def _run(self) -> None:
        try:
            self._play()
            self._folder.save_results()
            self.get_logger().info(self._summary())
            if not self._settings.linger:
                self._on_end(True)
        except _EndedError:
            return
        except StructRLError as error:
            self._error = str(error)
            self.get_logger().fatal(str(error))
            self._on_end(False)

    def _play(self) -> None:
        folder, settings = self._folder, self._settings
        conductor = TrialConductor(
            folder.protocol,
            self._policy_nodes(),
            self._attendance,
            attended=settings.attended,
            look=self._look,
        )
        with EvaluationClient(
            conductor.hear,
            namespace=self.get_namespace().strip('/'),
            watch=conductor.watch,
            patience_s=settings.patience_s,
        ) as client:
            client.wait_for_graph()
            while open_ := folder.stand.open:
                self._now = open_[0]
                self._picture.forget()
                record = conductor.play(open_[0], client)
                self._picture.save(folder.path, record.number)
                folder.append(record)
                folder.save_results()
                word = 'success' if record.success else f'failure: {record.cause}'
                text = f'episode {record.number}, {record.task}: {word} ({record.reason})'
                self.get_logger().info(text)
        self._now = None

    def _policy_nodes(self) -> dict[str, str]:
        """Return code to node, where there are two; one alone is never switched."""
        if self._settings.other_policy == 'none':
            return {}
        names = dict(zip((policy.name for policy in self._policies), POLICY_NODES, strict=True))
        return {code: names[choice.name] for code, choice in self._folder.policies().items()}

    def _look(self) -> None:
        if self._stopping.is_set():
            raise _EndedError('the evaluation is ended; it can go on')

    def _summary(self) -> str:
        results = self._folder.results()
        rates = [
            f'{results.label(p.code)} {sum(e.success for e in results.of(p.code))} of '
            f'{len(results.of(p.code))}'
            for p in results.policies
        ]
        return f'{results.protocol}: {", ".join(rates)}; {results.planned} planned'

    def _report(self) -> None:
        waiting, text = self._attendance.waiting
        trial, stand = self._now, self._folder.stand
        values: dict[str, object] = {
            'waiting': waiting,
            'episode': '' if trial is None else trial.number,
            'task': '' if trial is None else trial.start.task,
            'policy': '' if trial is None else trial.code,
            'done': len(self._folder.trials) - len(stand.open),
            'planned': len(self._folder.trials),
        }
        level = HealthLevel.ERROR if self._error else HealthLevel.OK
        now_ns, name = self._body_clock.now_ns(), f'{self.get_name()}: evaluation'
        said = self._error or (text if waiting else self._summary())
        self._health.publish(health_to_message(now_ns, name, level, said, values))


def graph_policies(p: EvaluatorParameters) -> tuple[PolicyChoice, ...]:
    """Return what the policy nodes run, unnamed ones called after their nodes."""
    first = PolicyChoice(
        name=p.name or POLICY_NODES[0],
        policy=p.policy,
        checkpoint=p.checkpoint,
        server=p.server,
    )
    if p.other_policy == 'none':
        return (first,)
    other = PolicyChoice(
        name=p.other_name or POLICY_NODES[1],
        policy=p.other_policy,
        checkpoint=p.other_checkpoint,
        server=p.other_server,
    )
    return first, other


def graph_protocol(p: EvaluatorParameters) -> Protocol:
    """Return the protocol with the policies that the graph runs.

    Raises:
        ParameterError: If protocol or folder are not given, or a running body cannot do it.
        CheckpointError: If a checkpoint is missing.
    """
    for name in ('protocol', 'out'):
        if not getattr(p, name):
            raise ParameterError(f'{name} must be given, {name}:=PATH')
    protocol = read_protocol(Path(p.protocol).expanduser())
    if protocol.body_options:
        raise ParameterError(
            'body_options: a running body takes none; allowed: structrl evaluate policy'
        )
    choices = graph_policies(p)
    names = [_named(choice, protocol).name for choice in choices]
    if len(set(names)) != len(names):
        raise ParameterError(f'both policies are called {names[0]!r}; give name and other_name')
    return replace(
        protocol,
        policies=tuple(replace(c, name=n) for c, n in zip(choices, names, strict=True)),
    )


def _named(choice: PolicyChoice, protocol: Protocol) -> PolicyChoice:
    """Return a policy under the name that the protocol gives to the same weights."""
    if choice.name not in POLICY_NODES:
        return choice
    mine = policy_fingerprint(choice, protocol.body)
    for known in protocol.policies:
        if policy_fingerprint(known, protocol.body) == mine:
            return known
    return choice


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
