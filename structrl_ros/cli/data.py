"""`structrl data`: data sets that are made from episodes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from structrl_ros.cli.counterfactual_sets import keep_records
from structrl_ros.cli.counterfactual_sets import new_set
from structrl_ros.cli.data_cycles import cycles
from structrl_ros.cli.data_demonstrations import demonstrations
from structrl_ros.cli.data_events import events
from structrl_ros.cli.data_image_edit import image_edit
from structrl_ros.cli.data_leap import leap
from structrl_ros.errors import ParameterError
from structrl_ros.naming import counted

data = typer.Typer(no_args_is_help=True, help='Make data sets from episodes, and look at them.')
data.command()(leap)
data.command()(cycles)
data.command()(demonstrations)
data.command()(image_edit)
data.command()(events)


@data.command()
def counterfactual(
    out: Annotated[Path, typer.Argument(help='Folder of the set; must be empty or new.')],
    task: Annotated[list[str], typer.Option(help='Task; repeat for several.')],
    body: Annotated[str, typer.Option(help='tabletop or libero.')] = 'tabletop',
    episodes: Annotated[int, typer.Option(min=1, help='Episodes of each task.')] = 4,
    first: Annotated[int, typer.Option(min=0, help='First initial state.')] = 0,
    frames: Annotated[int, typer.Option(min=8, max=500, help='Frames of an episode.')] = 40,
    size: Annotated[int, typer.Option(min=32, max=512, help='Side of a picture, px.')] = 128,
    seed: Annotated[int, typer.Option(min=0, help='Of what operators draw.')] = 0,
    test_share: Annotated[
        float, typer.Option(min=0.0, max=1.0, help='Share of episodes in the split test.')
    ] = 0.2,
) -> None:
    """Render what every OOD operator makes of the expert's episodes, with full provenance.

    Example: [bold]structrl data counterfactual sets/lunch --task pack_lunch --episodes 8[/]
    """
    from structrl_ros.training.counterfactual_run import make_episodes

    new_set(out)
    console = Console(soft_wrap=True)
    total = len(task) * episodes
    made = make_episodes(
        out,
        body,
        [(name, first + i) for name in task for i in range(episodes)],
        frames=frames,
        size_px=size,
        seed=seed,
        test_share=test_share,
        on_failure=lambda line: console.print(f'left out: {line}', style='yellow'),
    )
    records = keep_records(out, made, total, console)
    counts: dict[str, list[int]] = {}
    for record in records:
        for edit in record.edits:
            entry = counts.setdefault(edit.operator, [0, 0])
            entry[0] += 1
            entry[1] += len(edit.edited_frames)
    title = f'{counted(len(records), "episode")} in {out}'
    table = Table('operator', 'trajectories', 'frames', title=title)
    for operator, (trajectories, edited) in sorted(counts.items()):
        table.add_row(operator, str(trajectories), str(edited))
    console.print(table)


@data.command()
def sheet(
    folder: Annotated[Path, typer.Argument(help='A set of structrl data counterfactual.')],
    episode: Annotated[str, typer.Option(help='Name of an episode; default: all.')] = '',
    role: Annotated[str, typer.Option(help='Camera role.')] = 'head',
    out: Annotated[Path | None, typer.Option(help='Folder of the PNG files.')] = None,
) -> None:
    """Draw contact sheets, source and edit side by side, for people to judge."""
    from structrl_ros.training.contact_sheet import draw_sheet
    from structrl_ros.training.counterfactual_set import read_manifest

    records = read_manifest(folder)
    chosen = [r for r in records if episode in ('', r.episode)]
    if not chosen:
        known = ', '.join(r.episode for r in records)
        raise ParameterError(f'no episode {episode!r}; allowed: {known}')
    if role not in chosen[0].roles:
        raise ParameterError(f'no role {role!r}; allowed: {", ".join(chosen[0].roles)}')
    target = out or folder
    target.mkdir(parents=True, exist_ok=True)
    for record in chosen:
        path = target / f'{record.episode}-{role}.png'
        draw_sheet(folder, record, role).save(path)
        typer.echo(str(path))
