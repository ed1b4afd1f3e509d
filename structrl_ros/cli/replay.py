"""`structrl replay`: play a bag to the brain, check it, or ask what other rewards would pay."""

from __future__ import annotations

import dataclasses
import json
import tempfile
import time
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path

import yaml
from rich.console import Console
from rich.table import Table

from structrl_ros.cli.supervisor import Supervisor
from structrl_ros.cli.timeline import Timeline
from structrl_ros.cli.up import parse_assignments
from structrl_ros.errors import ParameterError
from structrl_ros.nodes.grm_models import open_again
from structrl_ros.params.graph import load_graph
from structrl_ros.params.graph import process_environment
from structrl_ros.params.tracker import TrackerParameters
from structrl_ros.recording.comparison import Comparison
from structrl_ros.recording.ledger import recorded_settings
from structrl_ros.recording.progress_again import compare_hops
from structrl_ros.recording.recomputation import compare
from structrl_ros.recording.run_events import read_events
from structrl_ros.subtasks.tracker import TrackerSettings

#: Seconds that the brain has for the last messages of a bag.
SETTLE_S = 1.0


def bag_folder(path: Path) -> Path:
    """Return the folder of the bag: the path itself, or `bag/` in a run directory."""
    return path / 'bag' if (path / 'bag').is_dir() else path


def check_replay(path: Path, console: Console) -> int:
    """Compute a bag's subtasks, rewards, verdicts and progress again and print what differs.

    Progress is fused again from its recorded hops, and asked of the recorded model again.

    Returns:
        The exit status: 0 if nothing differs.

    Raises:
        BagError: If there is no bag or it breaks the contract.
    """
    bag = bag_folder(path)
    events = read_events(bag)
    hops = compare_hops(bag, events, open_again)
    results = [*compare(events), *([hops] if hops else [])]
    table = Table('computed again')
    table.add_column('compared', justify='right')
    table.add_column('not computable', justify='right')
    table.add_column('first difference', overflow='fold')
    for result in results:
        table.add_row(*_row(result))
    console.print(table)
    return 1 if any(r.difference for r in results) else 0


def changed_settings(settings: TrackerSettings, changes: Sequence[str]) -> TrackerSettings:
    """Return the settings with `key:=value` words applied, as YAML reads the values.

    Raises:
        ParameterError: If a setting is unknown or not allowed.
    """
    known = {f.name for f in dataclasses.fields(TrackerSettings)} - {'durations'}
    values = {}
    for key, text in parse_assignments(changes).items():
        if key not in known:
            raise ParameterError(f'unknown setting {key!r}; allowed: {", ".join(sorted(known))}')
        values[key] = yaml.safe_load(text)
    parameters = TrackerParameters(**values).settings()  # checks types and ranges
    return dataclasses.replace(settings, **{key: getattr(parameters, key) for key in values})


def play_replay(path: Path, arguments: Mapping[str, str], console: Console) -> int:
    """Play a bag to a live tracker until it is over or Ctrl-C.

    The tracker runs with what the recording says that it ran with.

    Returns:
        The exit status: 0 at the end of the bag.

    Raises:
        BagError: If there is no bag or it breaks the contract.
        ParameterError: If an argument of the graph `replay` is not allowed.
    """
    from structrl_ros.nodes.late_client import LateClient

    bag = bag_folder(path)
    settings = recorded_settings(read_events(bag)) or TrackerSettings()
    with tempfile.TemporaryDirectory(prefix='structrl-replay-') as place:
        overlay = parameter_overlay(Path(place), settings)
        values = {
            'bag': str(bag.resolve()),
            'lockstep': str(settings.lockstep).lower(),
            'params_file': str(overlay),
            'subscribers': '2' if arguments.get('record') else '1',
            **arguments,
        }
        graph = load_graph('replay', values)
        supervisor = Supervisor(
            graph.nodes,
            log_directory=Path(place) / 'log',
            environment=process_environment(),
            on_event=lambda line: console.print(line, style='yellow', markup=False),
        )
        console.print(f'playing {bag} at rate {graph.values["rate"]}; Ctrl-C stops it')
        timeline = Timeline(console)
        with LateClient(timeline.show, namespace=graph.values['namespace']) as client:
            supervisor.start()
            try:
                return wait_for_replayer(supervisor, console, client.listen)
            except KeyboardInterrupt:
                return 130
            finally:
                supervisor.stop()


def wait_for_replayer(
    supervisor: Supervisor, console: Console, pause: Callable[[float], None] = time.sleep
) -> int:
    """Wait until a graph's player is through; return 1, and tell, if another node died first.

    Args:
        supervisor: Of the graph.
        console: Where it is told.
        pause: What to do for some seconds meanwhile.
    """
    while not (dead := supervisor.poll()):
        pause(0.1)
    code = supervisor.exit_code('replayer_node')
    if dead != ['replayer_node'] or code:
        lines = supervisor.tail(dead[0])
        console.print(f'{dead[0]} died; the end of its log:\n{lines}', markup=False)
        return 1
    pause(SETTLE_S)
    return 0


def parameter_overlay(place: Path, settings: TrackerSettings) -> Path:
    """Write the tracker's settings as a ROS parameter file."""
    durations = place / 'durations.json'
    durations.write_text(json.dumps(dict(settings.durations)))
    kept = ('beta', 'lambda_c', 'gating', 'pacing', 'horizon_chunks', 'truth_source')
    values = {name: getattr(settings, name) for name in kept}
    values |= {'cap': settings.cap or 0.0, 'durations_file': str(durations)}
    path = place / 'tracker.yaml'
    path.write_text(yaml.safe_dump({'tracker_node': {'ros__parameters': values}}))
    return path


def _row(result: Comparison) -> tuple[str, str, str, str]:
    return result.kind, str(result.compared), result.why or '0', result.difference or 'none'
