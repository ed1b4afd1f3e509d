"""`structrl evaluate policy`: how often a checkpoint succeeds, with intervals."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from structrl_ros.training.evaluate import Evaluation
    from structrl_ros.training.evaluate import Rate

evaluate = typer.Typer(no_args_is_help=True, help='Measure success rates, with intervals.')


@evaluate.callback()
def _evaluate() -> None:
    """Measure success rates, with intervals."""


@evaluate.command()
def policy(
    checkpoint: Annotated[str, typer.Argument(help='Checkpoint, or run directory.')],
    assignments: Annotated[
        list[str] | None,
        typer.Argument(metavar='[KEY:=VALUE]...', help='body.KEY is an option of the body.'),
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
    import json as encoding
    from dataclasses import replace

    import torch

    from structrl_ros.cli.training_worlds import worlds_of
    from structrl_ros.cli.up import parse_assignments
    from structrl_ros.models.whole_files import whole_file
    from structrl_ros.sim.registry import default_task
    from structrl_ros.training.evaluate import evaluate_policy
    from structrl_ros.training.run_request import make_request
    from structrl_ros.training.start_policy import load_start

    torch.set_num_threads(1)
    console = Console(soft_wrap=True)
    values = {**parse_assignments(assignments or []), 'environments': str(environments)}
    tasks = tuple(task or ([default_task(body)] if body != 'ros' else []))
    request = make_request('sft', assignments=values, words={'body': body}, tasks=tasks)
    trained = load_start(checkpoint)
    request = replace(request, feature_names=trained.config.feature_names)
    make_world = worlds_of(workers, ray)(request)
    found: list[Evaluation] = []
    for explore in (False, True):
        with console.status('with the noise of training' if explore else 'without noise'):
            found.append(
                evaluate_policy(
                    trained,
                    make_world,
                    tasks,
                    episodes=episodes,
                    seed=seed,
                    initial_states=initial_states,
                    explore=explore,
                )
            )
    console.print(_table(*found))
    if json is not None:
        document = {
            'checkpoint': checkpoint,
            'body': body,
            'body_options': dict(request.body_options),
            'seed': seed,
            'ode': found[0].to_json(),
            'sde': found[1].to_json(),
        }
        with whole_file(json) as place:
            place.write_text(f'{encoding.dumps(document, indent=2)}\n', encoding='utf-8')


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
