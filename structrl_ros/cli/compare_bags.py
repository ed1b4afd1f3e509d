"""`structrl bag mismatch`: where two recordings are apart, and what to look at."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from structrl_ros.recording.mismatch_entry import Mismatch
    from structrl_ros.recording.mismatch_entry import Side

#: Lines of the table.
MOST_LINES = 20


def mismatch(
    sim: Annotated[Path, typer.Argument(help='Bag or run directory, as of a simulator.')],
    real: Annotated[Path, typer.Argument(help='The other, as of an arm.')],
    html: Annotated[Path | None, typer.Option(help='Write a self-contained page.')] = None,
    json: Annotated[Path | None, typer.Option(help='Write all numbers.')] = None,
    sim_namespace: Annotated[str, typer.Option(help='Arm, where a bag holds several.')] = '',
    real_namespace: Annotated[str, typer.Option(help='The same of the second bag.')] = '',
    everything: Annotated[
        bool, typer.Option('--all', help='Also show what is within its tolerance.')
    ] = False,
) -> None:
    """Compare latency, pictures, actions, tracking and rates of two recordings.

    Example: [bold]structrl bag mismatch runs/sim runs/arm --html mismatch.html[/]
    """
    from structrl_ros.recording.mismatch import compare_bags
    from structrl_ros.recording.mismatch import write_json
    from structrl_ros.recording.mismatch_page import write_page

    console = Console(soft_wrap=True)
    report = compare_bags(_bag(sim), _bag(real), namespaces=(sim_namespace, real_namespace))
    lines = report.lines if everything else report.worth_a_look[:MOST_LINES]
    if lines:
        console.print(_table(lines))
    hidden = len(report.lines) - len(lines)
    count = len(report.worth_a_look)
    console.print(f'{count} of {len(report.lines)} quantities worth a look; {hidden} not shown')
    for text in report.one_sided:
        console.print(text, style='yellow', markup=False)
    for path in (
        write_page(report, html) if html else None,
        write_json(report, json) if json else None,
    ):
        if path is not None:
            console.print(f'written: {path}', markup=False)


def _bag(path: Path) -> Path:
    """Return the bag of a run directory, or the path itself."""
    return path / 'bag' if (path / 'bag').is_dir() else path


def _table(lines: tuple[Mismatch, ...]) -> Table:
    table = Table('quantity')
    for name in ('first', 'second', 'difference', 'tolerances'):
        table.add_column(name, justify='right')
    table.add_column('what to look at')
    for line in lines:
        unit = '' if line.unit == '1' else f' {line.unit}'
        table.add_row(
            line.name,
            _side(line.sim),
            _side(line.real),
            f'{line.difference:.3g}{unit}',
            f'{line.size:.1f}',
            line.remedy,
        )
    return table


def _side(side: Side) -> str:
    """Return the median, with the 95 % quantile where it is another."""
    same = side.high - side.median < 1e-9
    return f'{side.median:.3g}' if same else f'{side.median:.3g} ({side.high:.3g})'
