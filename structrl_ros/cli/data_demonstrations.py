"""`structrl data demonstrations`: what a picture policy imitates, of LIBERO's scripted expert."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from typing import Annotated

import typer
from rich.console import Console

from structrl_ros.errors import ParameterError
from structrl_ros.naming import counted

if TYPE_CHECKING:
    from structrl_ros.training.learned_policy import LearnedPolicy


def demonstrations(
    out: Annotated[Path, typer.Argument(help='Folder; one file an episode. Files stay.')],
    task: Annotated[list[str], typer.Option(help='LIBERO task, as long/0; repeat for several.')],
    episodes: Annotated[int, typer.Option(min=1, help='Episodes of each task.')] = 50,
    first_seed: Annotated[int, typer.Option(min=0, help='Seed of the first scene.')] = 1000,
    size: Annotated[int, typer.Option(min=32, max=512, help='Side of a picture, px.')] = 96,
    chunk_length: Annotated[int, typer.Option(min=1, max=200, help='Rows of a chunk.')] = 8,
    every: Annotated[int, typer.Option(min=1, help='Steps from one picture to the next.')] = 5,
    perturbed: Annotated[
        float, typer.Option(min=0.0, max=1.0, help='Share of episodes with pushes (DART).')
    ] = 0.7,
    pilot_folder: Annotated[
        Path | None,
        typer.Option('--pilot', help='Checkpoint that takes turns with the expert (DAgger).'),
    ] = None,
) -> None:
    """Show the scripted expert on redrawn scenes, with pictures, for `structrl train diffusion`.

    None of LIBERO's fifty initial states of a task is shown. What exists already is not made anew.

    Example: [bold]structrl data demonstrations shown/soup --task long/0[/]
    """
    from structrl_ros.sim.libero.body import LiberoBody
    from structrl_ros.training.diffusion_chunks import save_chunks
    from structrl_ros.training.diffusion_demonstrator import PictureDemonstrator

    out.mkdir(parents=True, exist_ok=True)
    pilot = _load(pilot_folder, chunk_length) if pilot_folder else None
    console = Console(soft_wrap=True)
    shown = PictureDemonstrator(
        LiberoBody(image_size=size, picture_detail='light'),
        chunk_length=chunk_length,
        every=every,
        perturbed=perturbed,
    )
    chunks = kept = 0
    try:
        for name in task:
            for seed in range(first_seed, first_seed + episodes):
                path = out / f'{name.replace("/", "_")}_{seed}.safetensors'
                if path.exists():
                    continue
                made = shown.demonstrate(name, seed, pilot)
                if pilot is None and not made.success:
                    console.print(f'{name}, seed {seed}: the expert failed, left out')
                    continue
                save_chunks(path, made.chunks)
                kept, chunks = kept + 1, chunks + len(made.chunks)
    finally:
        shown.close()
        if pilot is not None:
            pilot.close()
    console.print(
        f'{counted(kept, "episode")}, {counted(chunks, "chunk")}: {out}', highlight=False
    )


def _load(folder: Path, chunk_length: int) -> LearnedPolicy:
    import torch

    from structrl_ros.training.learned_policy import LearnedPolicy

    torch.set_num_threads(1)
    pilot = LearnedPolicy(folder, 'libero')
    if pilot.spec.chunk_length != chunk_length:
        raise ParameterError(
            f'--chunk-length {chunk_length}; allowed with this pilot: {pilot.spec.chunk_length}'
        )
    return pilot
