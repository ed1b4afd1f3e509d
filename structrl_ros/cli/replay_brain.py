"""`structrl replay --brain`: the graph `deploy` on a bag, with the sentence that was recorded."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from structrl_ros.cli.replay import bag_folder
from structrl_ros.cli.replay import parameter_overlay
from structrl_ros.cli.replay import wait_for_replayer
from structrl_ros.cli.run import print_outcome
from structrl_ros.cli.supervisor import Supervisor
from structrl_ros.cli.timeline import Timeline
from structrl_ros.errors import BagError
from structrl_ros.errors import SimulationError
from structrl_ros.nodes.task_client import TaskClient
from structrl_ros.params.graph import load_graph
from structrl_ros.params.graph import process_environment
from structrl_ros.recording.ledger import recorded_settings
from structrl_ros.recording.run_events import RunEvents
from structrl_ros.recording.run_events import read_events
from structrl_ros.subtasks.tracker import TrackerSettings
from structrl_ros.types import Episode
from structrl_ros.types import Plan

#: Wall seconds for the nodes to come up; a scripted expert builds its scene in them.
START_S = 180.0


@dataclass(frozen=True)
class BrainRun:
    """A graph on a bag: its arguments, and the sentence to carry out."""

    arguments: Mapping[str, str]
    instruction: str


def play_to_brain(path: Path, arguments: Mapping[str, str], console: Console) -> int:
    """Have planner, monitor, policy and tracker work on what a body once said, until its end.

    Args:
        path: Of the bag or its run.
        arguments: Of the graph `deploy`, laid over what the recording says.
        console: Where to print.

    Returns:
        The exit status: 0 at the end of the bag, whatever the brain decided.

    Raises:
        StructRLError: If there is no bag, or the graph does not come up.
    """
    bag = bag_folder(path)
    events = read_events(bag)
    settings = recorded_settings(events) or TrackerSettings()
    with tempfile.TemporaryDirectory(prefix='structrl-replay-') as place:
        overlay = parameter_overlay(Path(place), settings)
        values = {
            'body': 'replay',
            'bag': str(bag.resolve()),
            'lockstep': str(settings.lockstep).lower(),
            'params_file': str(overlay),
            **arguments,
        }
        run = BrainRun(values, _instruction(events))
        return _play(run, Path(place) / 'log', console)


def _instruction(events: RunEvents) -> str:
    """Return the sentence of the recording: of its first plan, else of its first episode."""
    said = [*events.of(Plan), *events.of(Episode)]
    found = next((value.instruction for value in said if value.instruction), '')
    if not found:
        raise BagError(
            'the recording holds no instruction: neither a plan nor an episode tells one'
        )
    return found


def _play(run: BrainRun, log: Path, console: Console) -> int:
    timeline = Timeline(console)
    supervisor = Supervisor(
        load_graph('deploy', run.arguments).nodes,
        log_directory=log,
        environment=process_environment(),
        on_event=timeline.note,
    )
    supervisor.start()
    try:
        with TaskClient(timeline.show, namespace='', watch=_watch(supervisor)) as client:
            with console.status('the brain comes up...'):
                client.wait_for_planner(START_S)
                client.wait_for_subscribers(START_S)
                client.wait_for_episode(START_S)
                if run.arguments.get('progress', 'none') != 'none':
                    client.wait_for_progress(START_S)
                if run.arguments.get('record'):
                    client.wait_for_recorder(START_S)
            console.print(f'[bold]"{run.instruction}"[/]', highlight=False)
            outcome = client.execute(run.instruction, 0.0)
        print_outcome(outcome, timeline, console)
        return wait_for_replayer(supervisor, console)
    except KeyboardInterrupt:
        return 130
    finally:
        supervisor.stop()


def _watch(supervisor: Supervisor) -> Callable[[], None]:
    def watch() -> None:
        dead = [name for name in supervisor.poll() if name != 'replayer_node']
        code = supervisor.exit_code('replayer_node')
        if dead or code:
            name = dead[0] if dead else 'replayer_node'
            raise SimulationError(f'{name} died; the end of its log:\n{supervisor.tail(name)}')

    return watch
