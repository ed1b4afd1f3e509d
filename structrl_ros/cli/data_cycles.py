"""`structrl data cycles`: look-alike cycles, in which only history tells the progress."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from structrl_ros.cli.counterfactual_sets import keep_records
from structrl_ros.cli.counterfactual_sets import new_set
from structrl_ros.naming import counted


def cycles(
    out: Annotated[Path, typer.Argument(help='Folder of the set; must be empty or new.')],
    episodes: Annotated[int, typer.Option(min=1, help='Episodes.')] = 20,
    first: Annotated[int, typer.Option(min=0, help='First initial state.')] = 0,
    count: Annotated[int, typer.Option(min=1, max=6, help='Insertions K of an episode.')] = 4,
    frames: Annotated[int, typer.Option(min=16, max=500, help='Frames of an episode.')] = 48,
    size: Annotated[int, typer.Option(min=32, max=512, help='Side of a picture, px.')] = 128,
    seed: Annotated[int, typer.Option(min=0, help='Of scenes and of what operators draw.')] = 1,
    test_share: Annotated[
        float, typer.Option(min=0.0, max=1.0, help='Share of episodes in the split test.')
    ] = 0.3,
) -> None:
    """Put one block on one peg K times and take it off in between, with all OOD operators.

    The set has the format of structrl data counterfactual.

    Example: [bold]structrl data cycles sets/cycles --episodes 40[/]
    """
    from structrl_ros.training.voc_cycles import make_cycles

    new_set(out)
    console = Console(soft_wrap=True)
    made = make_cycles(
        out,
        range(first, first + episodes),
        cycles=count,
        frames=frames,
        size_px=size,
        seed=seed,
        test_share=test_share,
        on_failure=lambda line: console.print(f'left out: {line}', style='yellow'),
    )
    records = keep_records(out, made, episodes, console)
    tests = sum(record.split == 'test' for record in records)
    edits = sum(len(record.edits) for record in records)
    console.print(
        f'{counted(len(records), "episode")} in {out}, {tests} for tests; '
        f'edited trajectories: {edits}',
        highlight=False,
        markup=False,
    )
