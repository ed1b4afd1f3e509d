"""`structrl train grm`: the history-conditioned progress model, from counterfactual sets."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from structrl_ros.cli.grm_runs import begin_run
from structrl_ros.cli.grm_runs import go_on
from structrl_ros.cli.grm_runs import read_settings
from structrl_ros.cli.grm_runs import read_words
from structrl_ros.cli.run_options import Out
from structrl_ros.cli.run_options import Resume
from structrl_ros.cli.run_options import Seed

if TYPE_CHECKING:
    from structrl_ros.training.grm_data import GrmData
    from structrl_ros.training.grm_measurement import FamilyScore
    from structrl_ros.training.grm_settings import GrmSettings
    from structrl_ros.training.run_directory import RunDirectory


def train_grm(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar='SET... [KEY:=VALUE]...',
            help='Sets of structrl data counterfactual; settings, as batch:=32.',
        ),
    ] = None,
    out: Out = None,
    control: Annotated[str, typer.Option(help='E0, E1, E2, E3 or E4, the curriculum.')] = '',
    layout: Annotated[str, typer.Option(help='panel or static (Eq. 3).')] = '',
    ood: Annotated[
        bool, typer.Option('--ood/--no-ood', help='Whether to train on edited endpoints.')
    ] = True,
    seed: Seed = None,
    resume: Resume = False,
) -> None:
    """Train the small GRM of Robo-Dopamine 2.0 on signed hops (Eq. 9 to 11).

    Example: [bold]structrl train grm sets/tabletop --out runs/grm[/]
    """
    import torch

    torch.set_num_threads(1)
    named = {'control': control, 'layout': layout, 'seed': '' if seed is None else str(seed)}
    named['ood'] = '' if ood else 'false'
    sets, assignments = read_words(words or (), named)
    console = Console(soft_wrap=True)
    run, settings, data = (_go_on if resume else _begin)(sets, assignments, out)
    try:
        _carry_out(run, settings, data, console)
    finally:
        run.close()


def _begin(
    sets: Sequence[Path], assignments: Mapping[str, str], out: Path | None
) -> tuple[RunDirectory, GrmSettings, GrmData]:
    """Return a new run; what it cannot have, as a device that is not here, leaves none behind."""
    from structrl_ros.training.grm_data import load_data
    from structrl_ros.training.grm_run import KIND
    from structrl_ros.training.grm_settings import GrmSettings
    from structrl_ros.training.grm_trainer import fresh_network

    settings = read_settings(sets, assignments, GrmSettings)
    data = load_data(sets, settings)
    fresh_network(settings)
    return begin_run(sets, settings, KIND, out), settings, data


def _go_on(
    sets: Sequence[Path], assignments: Mapping[str, str], out: Path | None
) -> tuple[RunDirectory, GrmSettings, GrmData]:
    """Return the run in the directory that is named, as it was left."""
    from structrl_ros.training.grm_data import load_data
    from structrl_ros.training.grm_run import KIND
    from structrl_ros.training.grm_settings import GrmSettings

    run, begun_with, settings = go_on(sets, assignments, GrmSettings, KIND, out)
    try:
        return run, settings, load_data(begun_with, settings)
    except BaseException:
        run.close()
        raise


def _carry_out(run: RunDirectory, settings: GrmSettings, data: GrmData, console: Console) -> None:
    from structrl_ros.cli.training_display import TrainingDisplay
    from structrl_ros.training.grm_run import GrmRun
    from structrl_ros.training.grm_trainer import GrmTrainer

    counts = ', '.join(f'{len(found)} {use}' for use, found in data.episodes.items())
    console.print(f'[bold]structrl train grm[/] [dim]{run.path}[/]\nepisodes: {counts}')
    dropped = {use: table.dropped for use, table in data.tables.items() if table.dropped}
    if dropped:
        console.print(f'pairs left out, their failure is not to be seen: {dropped}')
    display = TrainingDisplay(console, 'update', settings.updates)
    trainer = GrmTrainer(settings, data.tables, GrmRun(run, settings, data.episodes), display)
    try:
        with display:
            trainer.run()
    except KeyboardInterrupt:
        console.print(f'stopped; to go on: structrl train grm --resume --out {run.path}')
        raise typer.Exit(130) from None
    if trainer.scores:
        console.print(_table(trainer.scores))
    console.print(f'best: {run.path / "best"}')


def _table(scores: Mapping[str, FamilyScore]) -> Table:
    table = Table('family', 'pairs', 'MSE of 100 hop', 'sign', 'rank', title='test pairs')
    for family, score in scores.items():
        told = ['' if n is None else f'{n:.3f}' for n in (score.sign, score.rank)]
        table.add_row(family, str(score.count), f'{score.mse:.1f}', *told)
    return table
