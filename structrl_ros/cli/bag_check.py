"""`structrl bag check`: what is wrong with a recording, in one line each."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

console = Console(soft_wrap=True)


def check(
    folder: Annotated[Path, typer.Argument(help='Folder of a bag, as runs/<time>/bag.')],
) -> None:
    """Say what is wrong with a bag: types, clocks, QoS, what is missing. Status 1 if anything is.

    Example: [bold]structrl bag check runs/2026-11-30_10-15-00_000/bag[/]
    """
    from structrl_ros.recording.bag_inspection import inspect_bag
    from structrl_ros.recording.bag_reader import BagReader

    lines = inspect_bag(BagReader(folder))
    for line in lines:
        console.print(line, style='yellow', markup=False, highlight=False)
    if lines:
        raise typer.Exit(1)
    console.print(f'{folder}: nothing is wrong', markup=False, highlight=False)
