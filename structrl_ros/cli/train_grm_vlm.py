"""`structrl train grm-vlm`: adapters of a vision-language model that answer with signed hops."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Annotated

import typer
from rich.console import Console

from structrl_ros.errors import ParameterError

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
    out: Annotated[
        Path | None, typer.Option(help='Where the run is kept; default runs/<time>.')
    ] = None,
    base: Annotated[
        str, typer.Option(help='Folder of a vision-language model, or its id on the hub.')
    ] = '',
    answer: Annotated[
        str, typer.Option(help='regression (a head) or text (<score>+NN%</score>).')
    ] = '',
    seed: Annotated[int | None, typer.Option(min=0, help='Seed of everything drawn.')] = None,
    resume: Annotated[
        bool, typer.Option('--resume', help='Go on with the run in --out, to the same numbers.')
    ] = False,
) -> None:
    """Train the GRM of Robo-Dopamine 2.0 as adapters of a vision-language model (LoRA).

    Example: [bold]structrl train grm-vlm sets/tabletop --base models/Qwen3-VL-8B --out runs/vlm[/]
    """
    from structrl_ros.cli.up import parse_assignments

    sets = [Path(word) for word in words or () if ':=' not in word]
    assignments = parse_assignments([word for word in words or () if ':=' in word])
    named = {'base': base, 'answer': answer, 'seed': '' if seed is None else str(seed)}
    assignments |= {key: text for key, text in named.items() if text}
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
    from structrl_ros.cli.up import new_run_directory
    from structrl_ros.training.grm_run import run_document
    from structrl_ros.training.grm_vlm_run import KIND
    from structrl_ros.training.grm_vlm_settings import VlmGrmSettings
    from structrl_ros.training.run_directory import create_run
    from structrl_ros.training.settings_document import make_settings

    if not sets:
        raise ParameterError('no set to train on; structrl data counterfactual makes one')
    settings = make_settings(VlmGrmSettings, {}, assignments)
    settings.vlm_config()
    document = run_document(sets, settings, KIND)
    return create_run(new_run_directory(out), document), sets, settings


def _go_on(
    sets: Sequence[Path], assignments: Mapping[str, str], out: Path | None
) -> tuple[RunDirectory, Sequence[Path], VlmGrmSettings]:
    """Return the run in the directory that is named, as it was left."""
    from structrl_ros.training.grm_run import run_of_kind
    from structrl_ros.training.grm_vlm_run import KIND
    from structrl_ros.training.grm_vlm_settings import VlmGrmSettings
    from structrl_ros.training.run_directory import open_run

    if out is None:
        raise ParameterError('--resume needs --out: the run to go on with')
    given = [*map(str, sets), *assignments]
    if given:
        raise ParameterError(f'{given[0]}: a run goes on as it began; leave it out with --resume')
    run = open_run(out)
    try:
        return run, *run_of_kind(run.config, VlmGrmSettings, KIND)
    except BaseException:
        run.close()
        raise


def _carry_out(
    run: RunDirectory, sets: Sequence[Path], settings: VlmGrmSettings, console: Console
) -> None:
    import torch

    from structrl_ros.cli.training_display import TrainingDisplay
    from structrl_ros.training.grm_data import load_data
    from structrl_ros.training.grm_vlm_run import BEST
    from structrl_ros.training.grm_vlm_run import VlmGrmRun
    from structrl_ros.training.grm_vlm_trainer import VlmGrmTrainer

    torch.set_num_threads(1)
    data = load_data(sets, settings.data_settings())
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
