"""`structrl train diffusion`: a policy that sees pictures, from demonstrations of subtasks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Annotated

import typer
from rich.console import Console

from structrl_ros.cli.run_options import Out
from structrl_ros.cli.run_options import Resume
from structrl_ros.cli.run_options import Seed
from structrl_ros.errors import ParameterError

if TYPE_CHECKING:
    from structrl_ros.training.diffusion_run import DiffusionRun

ROLES = ('head', 'left_wrist')


def train_diffusion(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar='DATA... [KEY:=VALUE]...',
            help='Folders of structrl data demonstrations, or LeRobot v3.0 data sets; settings, '
            'as batch:=32.',
        ),
    ] = None,
    out: Out = None,
    role: Annotated[
        list[str] | None,
        typer.Option(help='Camera of a data set; repeat it. Default: head and left_wrist.'),
    ] = None,
    chunk_length: Annotated[
        int, typer.Option(min=1, max=200, help='Rows of a chunk, of a data set.')
    ] = 8,
    every: Annotated[
        int, typer.Option(min=1, help='Steps between two chunks, of a data set.')
    ] = 4,
    start: Annotated[
        Path | None, typer.Option(help='Checkpoint to begin with, as in a round of DAgger.')
    ] = None,
    seed: Seed = None,
    resume: Resume = False,
) -> None:
    """Train a diffusion policy: pictures, the arm's own state and a sentence in, chunks out.

    Example: [bold]structrl train diffusion demonstrations/soup --out runs/diffusion[/]
    """
    import torch

    from structrl_ros.training.diffusion_run import Sources
    from structrl_ros.training.diffusion_run import begin_diffusion
    from structrl_ros.training.diffusion_run import resume_diffusion

    torch.set_num_threads(1)
    if resume:
        if out is None:
            raise ParameterError('--resume needs --out: the run to go on with')
        if words or role or start or seed is not None:
            raise ParameterError('a run goes on as it began; give --out alone with --resume')
        _carry_out(resume_diffusion(out))
        return
    paths, assignments = _read(words or [], seed)
    sources = Sources(paths, tuple(role or ROLES), chunk_length, every)
    from structrl_ros.cli.up import new_run_directory

    _carry_out(begin_diffusion(sources, assignments, lambda: new_run_directory(out), start))


def _read(words: Sequence[str], seed: int | None) -> tuple[tuple[Path, ...], dict[str, str]]:
    from structrl_ros.cli.up import parse_assignments

    assignments = parse_assignments([word for word in words if ':=' in word])
    if seed is not None:
        assignments['seed'] = str(seed)
    paths = tuple(Path(word) for word in words if ':=' not in word)
    if not paths:
        raise ParameterError(
            'nothing to imitate; structrl data demonstrations makes some, or name a LeRobot data '
            'set'
        )
    return paths, assignments


def _carry_out(run: DiffusionRun) -> None:
    from structrl_ros.cli.training_display import TrainingDisplay

    console = Console(soft_wrap=True)
    console.print(
        f'[bold]structrl train diffusion[/] [dim]{run.directory.path}[/]\n'
        f'{len(run.chunks)} chunks, {run.parameters / 1e6:.2f} M parameters, sentences: '
        f'{", ".join(run.chunks.sentences)}',
        highlight=False,
    )
    display = TrainingDisplay(console, 'update', run.settings.updates)
    try:
        with display:
            run.train(display)
    except KeyboardInterrupt:
        console.print(
            f'stopped; to go on: structrl train diffusion --resume --out {run.directory.path}'
        )
        raise typer.Exit(130) from None
    finally:
        run.close()
    console.print(f'policy: {run.directory.policy_folder}')
