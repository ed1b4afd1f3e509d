"""`structrl evaluate policy`: how often a checkpoint succeeds, with intervals."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from structrl_ros.cli.training_worlds import worlds_of

if TYPE_CHECKING:
    from structrl_ros.training.evaluate import Evaluation
    from structrl_ros.training.evaluate import Rate
    from structrl_ros.training.run_request import RunRequest
    from structrl_ros.training.run_trainer import Worlds

evaluate = typer.Typer(no_args_is_help=True, help='Measure success rates, with intervals.')


@evaluate.callback()
def _evaluate() -> None:
    """Measure success rates, with intervals."""


@evaluate.command()
def policy(
    checkpoint: Annotated[str, typer.Argument(help='Checkpoint, or run directory.')],
    assignments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar='[KEY:=VALUE]...', help='body.KEY: of the body, policy.KEY: of the policy.'
        ),
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
    json: Annotated[Path | None, typer.Option('--json', help='Also write the numbers here.')] = (
        None
    ),
) -> None:
    """Success without noise (for a flow: the ODE) and with the noise of training (the SDE).

    Example: [bold]structrl evaluate policy runs/ppo --body twin --task pack_lunch[/]
    """
    from structrl_ros.cli.up import parse_assignments
    from structrl_ros.sim.registry import default_task
    from structrl_ros.training.run_request import make_request

    console = Console(soft_wrap=True)
    request = make_request(
        'sft',
        assignments={**parse_assignments(assignments or []), 'environments': str(environments)},
        words={'body': body, 'start': checkpoint},
        tasks=tuple(task or ([] if body == 'ros' else [default_task(body)])),
        seed=seed,
    )
    worlds = worlds_of(workers, ray)
    ode, sde = _measure(request, worlds, episodes, initial_states, console)
    console.print(_table(ode, sde))
    if json is not None:
        _write(json, request, ode, sde)


def _measure(
    request: RunRequest, worlds: Worlds, episodes: int, initial_states: int, console: Console
) -> tuple[Evaluation, Evaluation]:
    """Return what a policy does without noise, and with the noise of training."""
    from dataclasses import replace

    import torch

    from structrl_ros.training.evaluate import evaluate_policy
    from structrl_ros.training.start_policy import load_start

    torch.set_num_threads(1)
    trained = load_start(request.start, request.policy_options)
    make_world = worlds(replace(request, feature_names=trained.config.feature_names))

    def play(explore: bool) -> Evaluation:
        with console.status('with the noise of training' if explore else 'without noise'):
            return evaluate_policy(
                trained,
                make_world,
                request.settings.tasks,
                episodes=episodes,
                seed=request.settings.seed,
                initial_states=initial_states,
                explore=explore,
            )

    return play(False), play(True)


def _write(path: Path, request: RunRequest, ode: Evaluation, sde: Evaluation) -> None:
    import json

    from structrl_ros.models.whole_files import whole_file

    document = {
        'checkpoint': request.start,
        'body': request.body,
        'body_options': dict(request.body_options),
        'seed': request.settings.seed,
        'ode': ode.to_json(),
        'sde': sde.to_json(),
    }
    with whole_file(path) as place:
        place.write_text(f'{json.dumps(document, indent=2)}\n', encoding='utf-8')


def _table(ode: Evaluation, sde: Evaluation) -> Table:
    episodes = ode.tasks[0].success.episodes
    table = Table(
        'task',
        '',
        'without noise',
        'with the noise of training',
        title=f'{episodes} episodes a task, rate [95 % interval]',
    )
    for calm, noisy in zip(ode.tasks, sde.tasks, strict=True):
        table.add_row(calm.task, 'success', _text(calm.success), _text(noisy.success))
        for name, rate in calm.subtasks.items():
            table.add_row('', name, _text(rate), _text(noisy.subtasks[name]))
    return table


def _text(rate: Rate) -> str:
    low, high = rate.to_json()['interval']
    return f'{rate.value:.2f} [{low:.2f}, {high:.2f}]'
