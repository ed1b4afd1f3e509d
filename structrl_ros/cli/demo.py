"""`structrl demo`: the whole chain on one task, from nothing to a report."""

from __future__ import annotations

import time
from collections.abc import Callable
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from structrl_ros.cli.demo_stage import Stage
from structrl_ros.cli.demo_stage import staged
from structrl_ros.cli.run import print_outcome
from structrl_ros.cli.supervisor import Supervisor
from structrl_ros.cli.supervisor import last_words
from structrl_ros.cli.timeline import Timeline
from structrl_ros.cli.up import new_run_directory
from structrl_ros.errors import ParameterError
from structrl_ros.errors import SimulationError
from structrl_ros.errors import StructRLError
from structrl_ros.models.checkpoint import read_config
from structrl_ros.nodes.policies import SHIPPED
from structrl_ros.nodes.policies import shipped_checkpoint
from structrl_ros.nodes.task_client import Outcome
from structrl_ros.nodes.task_client import TaskClient
from structrl_ros.params.graph import load_graph
from structrl_ros.params.graph import process_environment

#: Wall seconds for the nodes to come up; the simulator builds its scene in them.
START_SECONDS = 180.0


@dataclass(frozen=True)
class DemoRequest:
    """What to show: arguments of the graph `deploy`, a sentence ('' = the task's own), a limit."""

    arguments: Mapping[str, str]
    instruction: str
    time_limit: float
    run_directory: Path | None


def run_demo(request: DemoRequest, console: Console) -> int:
    """Start the graph, carry out the task, stop, write the report.

    Returns:
        The exit status: 0 if the task ended in success.

    Raises:
        StructRLError: If the graph does not come up.
    """
    began = time.monotonic()
    directory = new_run_directory(request.run_directory)
    try:
        with staged(request.arguments, directory / 'log') as stage:
            outcome = _perform(request, stage, directory, console)
    except StructRLError:
        with suppress(OSError):
            directory.rmdir()  # nothing was written: a mistake leaves no folder behind
        raise
    _report(directory, outcome, console)
    console.print(f'[dim]{time.monotonic() - began:.0f} s in all[/]')
    return 0 if outcome.success else 1


def _perform(request: DemoRequest, stage: Stage, directory: Path, console: Console) -> Outcome:
    """Start the graph, carry out the task, stop."""
    arguments = {**_pace(stage.arguments), **stage.arguments}
    graph = load_graph('deploy', {**arguments, 'record': str(directory / 'bag')})
    timeline = Timeline(console)
    supervisor = Supervisor(
        graph.nodes,
        log_directory=directory / 'log',
        environment=process_environment(),
        on_event=timeline.note,
    )
    names = ', '.join(node.name for node in graph.nodes)
    console.print(f'[bold]structrl demo[/] [dim]{directory}[/]\nstarting {names}')
    supervisor.start()
    try:
        outcome = _carry_out(request, stage, supervisor, timeline, console)
    finally:
        killed = supervisor.stop()
    if killed:
        timeline.note(f'killed after not ending in time: {", ".join(killed)}', style='yellow')
    print_outcome(outcome, timeline, console)
    return outcome


def _pace(arguments: Mapping[str, str]) -> dict[str, str]:
    """Return the graph's `chunk_steps` for a policy that has a chunk length of its own.

    Raises:
        CheckpointError: If the checkpoint cannot be read.
        ParameterError: If none is named.
    """
    policy = arguments.get('policy', '')
    if policy not in {*SHIPPED, 'checkpoint'}:
        return {}
    folder = Path(arguments.get('checkpoint', ''))
    if policy == 'checkpoint' and not arguments.get('checkpoint'):
        raise ParameterError(
            'policy checkpoint needs its folder: checkpoint:=runs/NAME/checkpoint/policy, '
            'as structrl train writes it'
        )
    if policy in SHIPPED:
        folder = shipped_checkpoint(arguments['body'], policy, arguments.get('task', ''))
    return {'chunk_steps': str(read_config(folder).chunk_length)}


def _carry_out(
    request: DemoRequest,
    stage: Stage,
    supervisor: Supervisor,
    timeline: Timeline,
    console: Console,
) -> Outcome:
    watch = _watcher(supervisor, stage.check)
    with TaskClient(timeline.show, namespace='', watch=watch) as client:
        with console.status('the simulator builds its scene...'):
            episode = client.wait_for_episode(START_SECONDS)
            client.wait_for_planner(START_SECONDS)
            client.wait_for_subscribers(START_SECONDS)
            if stage.arguments.get('progress', 'none') != 'none':
                client.wait_for_progress(START_SECONDS)
            client.wait_for_recorder(START_SECONDS)
        instruction = request.instruction or stage.instruction or episode.instruction
        console.print(f'[bold]"{instruction}"[/]', highlight=False)
        return client.execute(instruction, request.time_limit)


def _watcher(supervisor: Supervisor, check: Callable[[], None]) -> Callable[[], None]:
    def watch() -> None:
        check()
        dead = supervisor.poll()
        if dead:
            lines = supervisor.tail(dead[0])
            raise SimulationError(last_words(dead[0], lines))

    return watch


def _report(directory: Path, outcome: Outcome, console: Console) -> None:
    from structrl_ros.recording.report import write_report
    from structrl_ros.recording.run_record import Outcome as Told

    try:
        with console.status('writing the report...'):
            told = Told(outcome.success, outcome.reason, 'task')
            path = write_report(directory, outcome=told)
    except StructRLError as error:
        console.print(f'no report: {error}', style='red', markup=False)
        return
    console.print(f'report: {path}', highlight=False)
