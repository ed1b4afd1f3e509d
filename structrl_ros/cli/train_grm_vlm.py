"""`structrl train grm-vlm`: adapters of a vision-language model that answer with signed hops."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Annotated

import typer
from rich.console import Console

from structrl_ros.cli.grm_runs import begin_run
from structrl_ros.cli.grm_runs import go_on
from structrl_ros.cli.grm_runs import read_settings
from structrl_ros.cli.grm_runs import read_words
from structrl_ros.cli.run_options import Base
from structrl_ros.cli.run_options import Out
from structrl_ros.cli.run_options import Resume
from structrl_ros.cli.run_options import Seed

if TYPE_CHECKING:
    from structrl_ros.training.grm_vlm_settings import VlmGrmSettings
    from structrl_ros.training.run_directory import RunDirectory


def train_grm_vlm(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar='SET... [KEY:=VALUE]...',
            help='Sets of counterfactuals; settings, as batch:=32.',
        ),
    ] = None,
    out: Out = None,
    base: Base = '',
    answer: Annotated[
        str, typer.Option(help='regression (a head) or text (<score>+NN%</score>).')
    ] = '',
    seed: Seed = None,
    resume: Resume = False,
) -> None:
    """Train the GRM of Robo-Dopamine 2.0 as adapters of a vision-language model (LoRA).

    Example: [bold]structrl train grm-vlm sets/tabletop --base models/Qwen3-VL-8B --out runs/vlm[/]
    """
    named = {'base': base, 'answer': answer, 'seed': '' if seed is None else str(seed)}
    sets, assignments = read_words(words or (), named)
    console = Console(soft_wrap=True)
    run, chosen, settings = (_go_on if resume else _begin)(sets, assignments, out)
    try:
        _carry_out(run, chosen, settings, console)
    finally:
        run.close()


def _begin(
    sets: Sequence[Path], assignments: Mapping[str, str], out: Path | None
) -> tuple[RunDirectory, Sequence[Path], VlmGrmSettings]:
    """Return a new run, in a directory of its own."""
    from structrl_ros.training.grm_vlm_run import KIND
    from structrl_ros.training.grm_vlm_settings import VlmGrmSettings

    settings = read_settings(sets, assignments, VlmGrmSettings)
    settings.vlm_config()
    return begin_run(sets, settings, KIND, out), sets, settings


def _go_on(
    sets: Sequence[Path], assignments: Mapping[str, str], out: Path | None
) -> tuple[RunDirectory, Sequence[Path], VlmGrmSettings]:
    """Return the run in the directory that is named, as it was left."""
    from structrl_ros.training.grm_vlm_run import KIND
    from structrl_ros.training.grm_vlm_settings import VlmGrmSettings

    return go_on(sets, assignments, VlmGrmSettings, KIND, out)


def _carry_out(
    run: RunDirectory, sets: Sequence[Path], settings: VlmGrmSettings, console: Console
) -> None:
    import torch

    from structrl_ros.cli.training_display import TrainingDisplay
    from structrl_ros.training.grm_data import load_data
    from structrl_ros.training.grm_run import BEST
    from structrl_ros.training.grm_vlm_run import VlmGrmRun
    from structrl_ros.training.grm_vlm_trainer import VlmGrmTrainer

    torch.set_num_threads(1)
    data = load_data(sets, settings)
    counts = ', '.join(f'{len(found)} {use}' for use, found in data.episodes.items())
    console.print(f'[bold]structrl train grm-vlm[/] [dim]{run.path}[/]\nepisodes: {counts}')
    display = TrainingDisplay(console, 'update', settings.updates)
    keeper = VlmGrmRun(run, settings, data.episodes)
    trainer = VlmGrmTrainer(settings, data.tables, keeper, display)
    trained = sum(tensor.numel() for tensor in trainer.network.trained_tensors().values())
    console.print(f'{trained} of the parameters train, on {trainer.network.device}')
    try:
        with display:
            trainer.run()
    except KeyboardInterrupt:
        console.print(f'stopped; to go on: structrl train grm-vlm --resume --out {run.path}')
        raise typer.Exit(130) from None
    if trainer.scores:
        console.print(f'test pairs: MSE of 100 hop {trainer.scores["all"].mse:.1f}')
    console.print(f'best: {run.path / BEST}')
