"""The `structrl` command. Heavy imports happen inside the commands, so that help is instant."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Annotated
from typing import NoReturn

import typer
from rich.console import Console

from structrl_ros.cli.bag import bag
from structrl_ros.cli.bench_grm_rl import bench_grm_rl
from structrl_ros.cli.bench_learning import bench_learning
from structrl_ros.cli.bench_mart import bench_mart
from structrl_ros.cli.bench_planner import bench_planner
from structrl_ros.cli.bench_vlm import bench_vlm
from structrl_ros.cli.calibrate import calibrate
from structrl_ros.cli.console import console as console_command
from structrl_ros.cli.data import data
from structrl_ros.cli.decompose import decompose
from structrl_ros.cli.demo_command import demo
from structrl_ros.cli.evaluate import evaluate
from structrl_ros.cli.events import events
from structrl_ros.cli.export import export
from structrl_ros.cli.export import importer
from structrl_ros.cli.graph_options import Assignments
from structrl_ros.cli.graph_options import RunDirectory
from structrl_ros.cli.overlay import overlay
from structrl_ros.cli.plan import plan
from structrl_ros.cli.replay_command import replay
from structrl_ros.cli.report import report
from structrl_ros.cli.reset import reset
from structrl_ros.cli.shared_memory import refuse_full_shared_memory
from structrl_ros.cli.train import train
from structrl_ros.errors import StructRLError
from structrl_ros.params.sim import SIMULATED_BODIES

app = typer.Typer(
    callback=refuse_full_shared_memory,
    no_args_is_help=True,
    rich_markup_mode='rich',
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={'help_option_names': ['-h', '--help']},
    help='A sentence to a Franka arm that does it, on the simulator, on the arm and on a bag.',
    epilog='Start with [bold]structrl doctor[/], then [bold]structrl demo[/].',
)
bench = typer.Typer(
    no_args_is_help=True, help='Measure: every number in the docs comes from here.'
)
bench.command('learning')(bench_learning)
bench.command('grm-rl')(bench_grm_rl)
bench.command('mart')(bench_mart)
bench.command('planner')(bench_planner)
bench.command('vlm')(bench_vlm)
app.add_typer(bench, name='bench')
app.add_typer(bag, name='bag')
app.add_typer(export, name='export')
app.add_typer(importer, name='import')
app.add_typer(calibrate, name='calibrate')
app.add_typer(train, name='train')
app.add_typer(data, name='data')
app.add_typer(evaluate, name='evaluate')
console = Console(soft_wrap=True)
complaints = Console(stderr=True, soft_wrap=True)
#: What a disk says that takes no more.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)
#: What `tempfile` says then.
_NO_PLACE = 'No usable temporary directory'


def main() -> None:
    """Run the command; a user's mistake ends with one line and status 1, never a traceback.

    So does a package that is not installed, and a disk that takes no more.
    """
    try:
        app()
    except StructRLError as error:
        _complain(str(error))
    except ModuleNotFoundError as error:
        if (error.name or '').startswith('structrl_ros'):
            raise
        _complain(f'{error}: structrl doctor says how to install what is missing')
    except OSError as error:
        if error.errno not in _FULL and not str(error.strerror).startswith(_NO_PLACE):
            raise
        _complain(f'{error.filename or "disk"}: {error.strerror}')


def _complain(line: str) -> NoReturn:
    complaints.print(f'structrl: {line}', style='red', markup=False, highlight=False)
    raise SystemExit(1) from None


@app.command()
def up(
    graph: Annotated[str, typer.Argument(help='Name in launch/graphs, or a YAML file.')],
    assignments: Assignments = None,
    run_dir: RunDirectory = None,
    show_args: Annotated[
        bool, typer.Option('--show-args', help='List the arguments of the graph, and end.')
    ] = False,
) -> None:
    """Start a graph of nodes and keep it up until Ctrl-C (the same as ros2 launch).

    Example: [bold]structrl up deploy body:=kinematic lockstep:=true[/]
    """
    from structrl_ros.cli.up import keep_up
    from structrl_ros.cli.up import print_arguments

    if show_args:
        print_arguments(graph, console)
        return
    raise typer.Exit(keep_up(graph, assignments or [], run_dir, console))


@app.command()
def run(
    instruction: Annotated[str, typer.Argument(help='What to do, in a sentence.')],
    time_limit: Annotated[
        float, typer.Option(help='Seconds of the body; 0: that of planner_node.')
    ] = 0.0,
    namespace: Annotated[str, typer.Option(help='Namespace of the arm or world.')] = '',
) -> None:
    """Have a running graph carry out a sentence; the timeline goes by as it happens.

    Example: [bold]structrl run "put the alphabet soup in the basket"[/]
    """
    from structrl_ros.cli.run import run_instruction

    raise typer.Exit(run_instruction(instruction, time_limit, namespace, console))


app.command()(reset)


app.command()(demo)
app.command()(report)
app.command()(events)
app.command()(replay)


@app.command()
def doctor(
    assignments: Assignments = None,
    robot: Annotated[
        str, typer.Option(help='Address of a Franka to look at; it is not moved.')
    ] = '',
    cameras: Annotated[
        bool, typer.Option('--cameras', help='Open the cameras of the cell for a moment.')
    ] = False,
    calibration: Annotated[
        list[str] | None, typer.Option(help='Calibration file to judge; may come again.')
    ] = None,
    max_days: Annotated[
        float, typer.Option(min=0.0, help='Age from which a calibration is doubtful, days.')
    ] = 30.0,
) -> None:
    """Say what works on this machine, or of a cell, and how to mend what does not.

    A cell is told by the arguments of its graph:
    [bold]structrl doctor robot_ip:=172.16.0.2 head:=realsense calibration:=head.yaml[/]
    """
    from structrl_ros.cli.doctor import examine
    from structrl_ros.cli.doctor_report import print_findings

    with console.status('looking around...'):
        if robot or cameras or calibration or assignments:
            from structrl_ros.cli.doctor_cell import CellRequest
            from structrl_ros.cli.doctor_cell import examine_cell
            from structrl_ros.cli.up import parse_assignments

            arguments = parse_assignments(assignments or [])
            named = tuple(calibration or ())
            findings = examine_cell(CellRequest(arguments, robot, cameras, named, max_days))
        else:
            findings = examine()
    raise typer.Exit(print_findings(findings, console))


@app.command()
def score(
    kind: Annotated[str, typer.Argument(help='What to score; a wrong name lists all kinds.')],
    file: Annotated[str, typer.Argument(help='JSON document {"cases": [...]}, or - for stdin.')],
) -> None:
    """Score recorded rollouts, plans or progress without ROS (docs: scoring).

    Example: [bold]structrl score structured_reward runs/TIME/trace.json[/]
    """
    from structrl_ros.cli.score import score_command

    raise typer.Exit(score_command(kind, file))


app.command()(decompose)
app.command()(plan)
app.command('console')(console_command)
app.command()(overlay)


@bench.command('core')
def bench_core_command(
    repeats: Annotated[int, typer.Option(min=1, help='Repetitions of each measurement.')] = 5,
) -> None:
    """CPU time of the numeric core beside plain implementations."""
    from structrl_ros.cli.bench_core import print_bench_core

    print_bench_core(repeats, console)


@bench.command('bridge')
def bench_bridge_command(
    body: Annotated[str, typer.Option(help=f'One of {", ".join(SIMULATED_BODIES)}.')] = 'libero',
    steps: Annotated[int, typer.Option(min=80, help='Low-level steps.')] = 400,
) -> None:
    """What the simulator node costs over bare stepping, in CPU time (target: 10 %)."""
    import subprocess
    import sys

    from structrl_ros.params.share import share_path

    script = str(share_path('benchmarks', 'bridge_overhead.py'))
    words = [sys.executable, script, '--body', body, '--steps', str(steps)]
    raise typer.Exit(subprocess.call(words))


@bench.command('expert')
def bench_expert_command(
    tasks: Annotated[
        str,
        typer.Option(help='Suite (long, spatial, object, goal), all, or a list: long/0,goal/3.'),
    ] = 'long',
    states: Annotated[str, typer.Option(help='Initial states, first:last or a list.')] = '0:20',
    json: Annotated[Path | None, typer.Option('--json', help='Also write the rows here.')] = None,
) -> None:
    """Successes of the scripted, privileged LIBERO expert with Wilson intervals; physics only."""
    from structrl_ros.sim.libero.expert.table import main as table

    words = ['--tasks', tasks, '--states', states]
    raise typer.Exit(table([*words, '--json', str(json)] if json else words))


if __name__ == '__main__':
    main()
