"""Protocols through topics: start the graph `evaluate`, or speak to one that runs."""

from __future__ import annotations

import time
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from structrl_ros.cli.evaluate_protocol import chosen_protocol
from structrl_ros.cli.evaluate_protocol import print_report
from structrl_ros.errors import ParameterError

if TYPE_CHECKING:
    from structrl_ros.cli.supervisor import Supervisor
    from structrl_ros.evaluation.protocol import PolicyChoice
    from structrl_ros.evaluation.protocol import Protocol

#: Wall seconds to look for an evaluation that should run, and for its answer.
FIND_SECONDS = 10.0
_EVALUATOR = 'evaluator_node'


def play_live(
    path: Path,
    words: Sequence[str],
    out: Path,
    assignments: Sequence[str],
    run_dir: Path | None,
    console: Console,
) -> int:
    """Start the graph, wait until all is played, and print the numbers.

    Returns:
        The exit status: 0 if all was played, 130 after Ctrl-C.

    Raises:
        StructRLError: If the graph or the protocol is wrong.
    """
    from structrl_ros.cli.supervisor import Supervisor
    from structrl_ros.cli.up import new_run_directory
    from structrl_ros.cli.up import parse_assignments
    from structrl_ros.params.graph import load_graph
    from structrl_ros.params.graph import process_environment

    protocol = chosen_protocol(path, words)
    given = parse_assignments(assignments)
    values = {**graph_arguments(protocol, path, out, given), **given, 'linger': 'false'}
    graph = load_graph('evaluate', values)
    directory = new_run_directory(run_dir)
    supervisor = Supervisor(
        graph.nodes,
        log_directory=directory / 'log',
        environment=process_environment(),
        on_event=lambda line: console.print(line, style='yellow', markup=False),
    )
    console.print(f'{protocol.name}: playing; log: {directory}/log/{_EVALUATOR}.log', markup=False)
    supervisor.start()
    try:
        status = _wait(supervisor, console)
    except KeyboardInterrupt:
        status = 130
    finally:
        supervisor.stop()
    if (out / 'evaluation.json').exists():
        print_report(out, console)
    return status


def graph_arguments(
    protocol: Protocol, path: Path, out: Path, given: Mapping[str, str]
) -> dict[str, str]:
    """Return the arguments of the graph that plays a protocol.

    Raises:
        ParameterError: If there is no policy, or more than two.
    """
    from structrl_ros.evaluation.protocol import REAL_BODY
    from structrl_ros.training.evaluated_policy import chunk_rows

    chosen = protocol.policies
    if not 1 <= len(chosen) <= 2:
        raise ParameterError(f'{len(chosen)} policies; allowed: one or two, choose by --policy')
    values = {'protocol': str(path.resolve()), 'out': str(out.absolute())}
    if protocol.body != REAL_BODY:
        rows = {chunk_rows(policy, protocol.body) for policy in chosen}
        if len(rows) > 1 and 'chunk_steps' not in given:
            raise ParameterError(
                f'chunks of {" and ".join(map(str, sorted(rows)))} rows: the reward has one pace; '
                'give chunk_steps:=N, or play one policy at a time'
            )
        values |= {'body': protocol.body, 'chunk_steps': str(max(rows))}
    elif given.get('attach') != 'true':
        raise ParameterError('body arm: start its graph first, and give attach:=true')
    for policy, prefix, server in zip(
        chosen, ('', 'other_'), ('policy_server', 'other_server'), strict=False
    ):
        values |= _policy_arguments(policy, protocol.body, prefix, server)
    return values


def _policy_arguments(policy: PolicyChoice, body: str, prefix: str, server: str) -> dict[str, str]:
    from structrl_ros.training.evaluated_policy import checkpoint_folder

    values = {f'{prefix}policy': policy.policy, f'{prefix}name': policy.name}
    if policy.policy == 'checkpoint':
        values[f'{prefix}checkpoint'] = str(checkpoint_folder(policy, body))
    if policy.server:
        values[server] = policy.server
    return values


def _wait(supervisor: Supervisor, console: Console) -> int:
    while not (dead := supervisor.poll()):
        time.sleep(0.1)
    if dead == [_EVALUATOR] and supervisor.exit_code(_EVALUATOR) == 0:
        return 0
    lines = supervisor.tail(dead[0])
    console.print(f'{dead[0]} died; the end of its log:\n{lines}', markup=False)
    return 1


def tell_ready(namespace: str) -> str:
    """Tell the evaluation that the start is set up; return its answer.

    Raises:
        StructRLError: If no evaluation runs, or it does not wait for that.
    """
    from structrl_ros.nodes.evaluation_caller import call_ready

    return call_ready(namespace, FIND_SECONDS)


def tell_mark(verdict: str, namespace: str) -> str:
    """Judge the episode; return the answer of the evaluation.

    Raises:
        StructRLError: If the word is neither, no evaluation runs, or it takes no mark now.
    """
    if verdict not in ('success', 'failure'):
        raise ParameterError(f'mark {verdict!r}; allowed: success, failure')
    from structrl_ros.nodes.evaluation_caller import call_mark

    return call_mark(verdict == 'success', namespace, FIND_SECONDS)


def running_status(namespace: str) -> str:
    """Return what the evaluation says of itself.

    Raises:
        StaleDataError: If none runs.
    """
    from structrl_ros.nodes.evaluation_caller import hear_status

    return hear_status(namespace, FIND_SECONDS)
