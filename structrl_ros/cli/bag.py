"""`structrl bag`: look into recordings, and finish those that were cut."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from structrl_ros.cli.bag_check import check
from structrl_ros.cli.compare_bags import mismatch

bag = typer.Typer(no_args_is_help=True, help='Look into recordings, and finish those cut short.')
bag.command()(mismatch)
bag.command()(check)
console = Console(soft_wrap=True)

BagFolder = Annotated[Path, typer.Argument(help='Folder of a bag, as runs/<time>/bag.')]


@bag.command()
def info(folder: BagFolder) -> None:
    """List the topics of a bag, also of one that was cut."""
    from structrl_ros.recording.bag_reader import BagReader

    reader = BagReader(folder)
    table = Table()
    for title in ('topic', 'type'):
        table.add_column(title, overflow='fold')
    table.add_column('messages', justify='right')
    table.add_column('missing', justify='right')
    for topic, summary in sorted(reader.topics.items()):
        missing = str(reader.missing.get(topic, '')) if not reader.is_cut else '?'
        table.add_row(topic, summary.msgtype, str(summary.count), missing)
    console.print(table)
    if reader.is_cut:
        console.print(f'the bag was cut; finish it: structrl bag repair {folder}', style='yellow')


@bag.command()
def repair(folder: BagFolder) -> None:
    """Finish a bag that was cut by a kill, a power loss or a full disk.

    Example: [bold]structrl bag repair runs/2026-11-30_10-15-00_000/bag[/]
    """
    from structrl_ros.recording.bag_repair import repair_bag

    report = repair_bag(folder)
    console.print(
        f'{folder}: {report.messages} messages, {report.dropped_bytes} torn bytes dropped'
    )
