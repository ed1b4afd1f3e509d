"""Success of a checkpoint with and without the noise of training: `structrl evaluate policy`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from structrl_ros.cli.evaluate_tables import rate_text
from structrl_ros.naming import counted

if TYPE_CHECKING:
    from structrl_ros.training.evaluate import Evaluation
    from structrl_ros.training.run_request import RunRequest
    from structrl_ros.training.run_trainer import Worlds


def evaluate_checkpoint(
    request: RunRequest,
    worlds: Worlds,
    *,
    episodes: int,
    initial_states: int,
    json_path: Path | None,
    console: Console,
) -> None:
    """Measure a checkpoint, print a table, and write the numbers if a place is given."""
    ode, sde = _measure(request, worlds, episodes, initial_states, console)
    console.print(_table(ode, sde))
    if json_path is not None:
        _write(json_path, request, ode, sde)


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
    episodes = ode.tasks[0].success.n
    table = Table(
        'task',
        '',
        'without noise',
        'with the noise of training',
        title=f'{counted(episodes, "episode")} a task, rate [95 % interval]',
    )
    for calm, noisy in zip(ode.tasks, sde.tasks, strict=True):
        table.add_row(calm.task, 'success', rate_text(calm.success), rate_text(noisy.success))
        for name, rate in calm.subtasks.items():
            table.add_row('', name, rate_text(rate), rate_text(noisy.subtasks[name]))
    return table
