"""`structrl evaluate`: protocols of episodes, success rates with intervals, comparisons."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from structrl_ros.cli.evaluate_closed_loop import closed_loop
from structrl_ros.cli.evaluate_events import events
from structrl_ros.cli.evaluate_grm import grm
from structrl_ros.cli.evaluate_planner import planner
from structrl_ros.cli.evaluate_sim_to_real import cards
from structrl_ros.cli.evaluate_sim_to_real import sim_to_real
from structrl_ros.cli.training_worlds import worlds_of
from structrl_ros.errors import ParameterError

evaluate = typer.Typer(no_args_is_help=True, help='Measure success rates, with intervals.')
evaluate.command()(cards)
evaluate.command('closed-loop')(closed_loop)
evaluate.command()(events)
evaluate.command()(grm)
evaluate.command()(planner)
evaluate.command('sim-to-real')(sim_to_real)

Folder = Annotated[Path, typer.Argument(help='Folder of an evaluation.')]
Policies = Annotated[
    list[str] | None,
    typer.Option('--policy', help='NAME of the protocol, or NAME=CHECKPOINT; repeat it.'),
]
BodyAssignments = Annotated[
    list[str] | None,
    typer.Argument(
        metavar='[KEY:=VALUE]...', help='body.KEY: of the body, policy.KEY: of the policy.'
    ),
]
JsonFile = Annotated[Path | None, typer.Option('--json', help='Also write the numbers here.')]
ProtocolFile = Annotated[Path, typer.Argument(help='Protocol, a YAML file.')]


@evaluate.callback()
def _evaluate() -> None:
    """Measure success rates, with intervals."""


@evaluate.command()
def plan(
    protocol: ProtocolFile,
    policies: Policies = None,
    rows: Annotated[int, typer.Option(min=1, help='Trials to show at each end.')] = 8,
) -> None:
    """Show the schedule of a protocol, and what difference its n could show.

    Example: [bold]structrl evaluate plan protocol.yaml[/]
    """
    from structrl_ros.cli.evaluate_protocol import print_plan

    print_plan(protocol, policies or [], rows, _console())


@evaluate.command()
def policy(
    what: Annotated[
        str, typer.Argument(help='Protocol (.yaml), or a checkpoint or run directory.')
    ],
    assignments: BodyAssignments = None,
    policies: Policies = None,
    out: Annotated[
        Path | None, typer.Option(help='Folder of a protocol; the same one goes on.')
    ] = None,
    body: Annotated[str, typer.Option(help='twin, tabletop, libero, or ros.')] = 'twin',
    task: Annotated[
        list[str] | None, typer.Option('--task', help='Task by name; repeat it for several.')
    ] = None,
    episodes: Annotated[int, typer.Option(min=1, help='Episodes of each task.')] = 128,
    seed: Annotated[int, typer.Option(min=0, help='Seed of the scenes.')] = 0,
    initial_states: Annotated[
        int, typer.Option(min=1, help='Initial states of a task, taken in turn (LIBERO: 50).')
    ] = 1,
    environments: Annotated[int, typer.Option(min=1, help='Worlds side by side.')] = 64,
    workers: Annotated[
        int, typer.Option(min=0, help='Processes that step bodies; 0: one a core.')
    ] = 0,
    ray: Annotated[str, typer.Option(help='Address of a Ray cluster.')] = '',
    json: JsonFile = None,
) -> None:
    """Play a protocol, or say how often a checkpoint succeeds without and with noise.

    A protocol says body, tasks, episodes and seeds itself; it needs --out.

    Examples: [bold]structrl evaluate policy protocol.yaml --policy after --out runs/after[/],
    [bold]structrl evaluate policy runs/ppo --body twin --task pack_lunch[/]
    """
    if what.endswith(('.yaml', '.yml')):
        if assignments or task or json:
            raise ParameterError('a protocol says everything itself; allowed: --policy, --out')
        _play_protocol(Path(what), policies or [], out, workers, ray)
        return
    if out is not None or policies:
        raise ParameterError('--out and --policy: go with a protocol (.yaml)')
    from structrl_ros.cli.evaluate_checkpoint import evaluate_checkpoint
    from structrl_ros.cli.up import parse_assignments
    from structrl_ros.sim.registry import default_task
    from structrl_ros.training.run_request import make_request

    request = make_request(
        'sft',
        assignments={**parse_assignments(assignments or []), 'environments': str(environments)},
        words={'body': body, 'start': what},
        tasks=tuple(task or ([] if body == 'ros' else [default_task(body)])),
        seed=seed,
    )
    evaluate_checkpoint(
        request,
        worlds_of(workers, ray),
        episodes=episodes,
        initial_states=initial_states,
        json_path=json,
        console=_console(),
    )


def _play_protocol(
    protocol: Path, policies: list[str], out: Path | None, workers: int, ray: str
) -> None:
    from structrl_ros.cli.evaluate_protocol import play_protocol

    if out is None:
        raise ParameterError('--out: the folder of the evaluation must be given')
    play_protocol(protocol, policies, out, workers, ray, _console())


@evaluate.command()
def report(folder: Folder) -> None:
    """Show the numbers of an evaluation, finished or not, and write results.json.

    Example: [bold]structrl evaluate report runs/after[/]
    """
    from structrl_ros.cli.evaluate_protocol import print_report

    print_report(folder, _console())


@evaluate.command()
def compare(
    first: Annotated[Path, typer.Argument(help='Folder of A, or of A and B together.')],
    second: Annotated[Path | None, typer.Argument(help='Folder of B.')] = None,
    seed: Annotated[int, typer.Option(min=0, help='Seed of the bootstrap.')] = 0,
    json: JsonFile = None,
    html: Annotated[Path | None, typer.Option('--html', help='Also write a page here.')] = None,
) -> None:
    """Compare two policies on the same episodes: McNemar's exact test, bootstrap by task.

    Example: [bold]structrl evaluate compare runs/before runs/after --html out.html[/]
    """
    from structrl_ros.cli.evaluate_protocol import print_comparison

    print_comparison(first, second, seed, json, _console())
    if html is not None:
        from structrl_ros.cli.report import write_comparison_page

        write_comparison_page(html, first, second, seed)
        _console().print(f'report: {html}', highlight=False, markup=False)


@evaluate.command('required-n')
def required_n(
    rate_a: Annotated[float, typer.Argument(help='Expected success rate of one policy.')],
    rate_b: Annotated[float, typer.Argument(help='Of the other.')],
    error: Annotated[float, typer.Option(help='To see a difference where there is none.')] = 0.05,
    power: Annotated[float, typer.Option(help='To see the difference that there is.')] = 0.8,
) -> None:
    """Say how many episodes of each policy tell two rates apart.

    Example: [bold]structrl evaluate required-n 0.5 0.7[/]
    """
    from structrl_ros.evaluation.sequential import required_episodes

    n = required_episodes(rate_a, rate_b, error=error, power=power)
    _console().print(
        f'{n} episodes of each policy, {rate_a:g} against {rate_b:g}, error {error:g}, power '
        f'{power:g}; pairs on the same starts need fewer where the scene decides much',
        highlight=False,
    )


@evaluate.command()
def live(
    protocol: ProtocolFile,
    out: Annotated[Path, typer.Option(help='Folder; the same one goes on.')],
    assignments: Annotated[
        list[str] | None,
        typer.Argument(metavar='[KEY:=VALUE]...', help='Arguments of the graph `evaluate`.'),
    ] = None,
    policies: Policies = None,
    run_dir: Annotated[Path | None, typer.Option(help='Logs; default runs/<time>.')] = None,
) -> None:
    """Play a protocol through the topics of a graph that is started for it, one or two policies.

    On an arm that runs already (structrl up deploy body:=franka ...) add attach:=true.

    Example: [bold]structrl evaluate live protocol.yaml --policy after --out runs/after[/]
    """
    from structrl_ros.cli.evaluate_live import play_live

    raise typer.Exit(
        play_live(protocol, policies or [], out, assignments or [], run_dir, _console())
    )


Namespace = Annotated[str, typer.Option(help='Namespace of the arm or world.')]


@evaluate.command()
def ready(namespace: Namespace = '') -> None:
    """Tell an evaluation that runs that the start is set up as its card says."""
    from structrl_ros.cli.evaluate_live import tell_ready

    _console().print(tell_ready(namespace), markup=False)


@evaluate.command()
def mark(
    verdict: Annotated[str, typer.Argument(help='success or failure.')],
    namespace: Namespace = '',
) -> None:
    """Judge the episode of an evaluation that runs; this ends an episode that still goes on."""
    from structrl_ros.cli.evaluate_live import tell_mark

    _console().print(tell_mark(verdict, namespace), markup=False)


@evaluate.command()
def status(namespace: Namespace = '') -> None:
    """Say what an evaluation that runs waits for, such as the next placement card."""
    from structrl_ros.cli.evaluate_live import running_status

    _console().print(running_status(namespace), markup=False)


def _console() -> Console:
    return Console(soft_wrap=True)
