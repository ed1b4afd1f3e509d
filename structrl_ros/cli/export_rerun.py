"""`structrl export rerun`: a bag for the Rerun viewer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from structrl_ros.errors import ParameterError

console = Console(soft_wrap=True)


def export_rerun(
    recording: Annotated[Path, typer.Argument(help='A bag, or the directory of a run.')],
    out: Annotated[Path, typer.Option(help='File to write, .rrd; it must not exist.')],
) -> None:
    """Write a recording for the Rerun viewer: cameras, arm, rewards and decisions.

    Example: [bold]structrl export rerun runs/today --out today.rrd && rerun today.rrd[/]
    """
    from structrl_ros.recording import rerun_export

    bag = recording / 'bag' if (recording / 'bag').is_dir() else recording
    try:
        counts = rerun_export.export_rerun(bag, out)
    except ModuleNotFoundError as error:
        if error.name != 'rerun':
            raise
        raise ParameterError('rerun is missing: pip install -r requirements/rerun.txt') from None
    text = f'{out}: {sum(counts.values())} messages of {len(counts)} topics'
    console.print(text, markup=False, highlight=False)
