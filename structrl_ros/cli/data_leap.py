"""`structrl data leap`: pictures, instructions and plans from demonstrations (REVER)."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from structrl_ros.cli.export import export_libraries
from structrl_ros.errors import ParameterError

if TYPE_CHECKING:
    from structrl_ros.training.leap_card import SetReport
    from structrl_ros.training.leap_run import LeapRequest
    from structrl_ros.training.leap_run import SimulatedTask

Recordings = Annotated[
    list[Path] | None, typer.Option(help='Folder of a recorded bag; repeat it for several.')
]
Datasets = Annotated[
    list[Path] | None, typer.Option(help='LeRobot v3 data set with subtasks; repeat it.')
]


def leap(
    out: Annotated[Path, typer.Argument(help='Folder of the set; the same one goes on.')],
    tabletop: Annotated[
        int, typer.Option(min=0, max=10_000, help='Scripted episodes of each tabletop task.')
    ] = 0,
    libero: Annotated[
        int, typer.Option(min=0, max=50, help='Scripted episodes of each LIBERO task.')
    ] = 0,
    task: Annotated[
        list[str] | None,
        typer.Option(help='Only this task or LIBERO suite (pack_lunch, long/0, goal); repeat it.'),
    ] = None,
    bag: Recordings = None,
    lerobot: Datasets = None,
    first: Annotated[int, typer.Option(min=0, help='First initial state.')] = 0,
    plans: Annotated[
        int, typer.Option(min=1, max=100, help='Tasks composed of a demonstration, at most.')
    ] = 6,
    role: Annotated[list[str] | None, typer.Option(help='Camera; repeat it. Default: head.')] = (
        None
    ),
    size: Annotated[int, typer.Option(min=32, max=1024, help='Side of a picture, px.')] = 224,
    picture: Annotated[str, typer.Option(help='jpeg or png.')] = 'jpeg',
    test_share: Annotated[
        float,
        typer.Option(min=0.0, max=1.0, help='Share of demonstrations in scenes kept for test.'),
    ] = 0.1,
    seed: Annotated[int, typer.Option(min=0, help='Of scenes and of everything drawn.')] = 0,
    workers: Annotated[int, typer.Option(min=1, max=64, help='Processes that play episodes.')] = 1,
) -> None:
    """Cut demonstrations into skills, compose tasks and write plan and completion triplets.

    Splits by scene and instruction; the test split has four-way choices too. A run that was
    stopped goes on; every file is there whole or not at all.

    Examples: [bold]structrl data leap sets/leap --tabletop 12 --libero 3 --workers 2[/],
    [bold]structrl data leap sets/mine --bag runs/TIME/bag[/]
    """
    with export_libraries():
        from structrl_ros.training.leap_episode import PICTURE_FORMATS
        from structrl_ros.training.leap_rows import RowSettings
        from structrl_ros.training.leap_run import LeapRequest
        from structrl_ros.training.leap_simulated import FrameSettings

    if picture not in PICTURE_FORMATS:
        raise ParameterError(f'--picture {picture!r}; allowed: {", ".join(PICTURE_FORMATS)}')
    request = LeapRequest(
        out=out,
        tasks=_tasks({'tabletop': tabletop, 'libero': libero}, task or [], first, seed),
        bags=tuple(bag or ()),
        datasets=tuple(lerobot or ()),
        frames=FrameSettings(
            roles=tuple(role or ('head',)), size_px=size, picture=picture, seed=seed
        ),
        rows=RowSettings(plans=plans, seed=seed),
        test_share=test_share,
    )
    _print(request, workers, Console(soft_wrap=True))


def _print(request: LeapRequest, workers: int, console: Console) -> None:
    """Make a set, tell how far it is, and print what it holds."""
    from structrl_ros.training.leap_run import make_set

    began = time.monotonic()
    with console.status('recording') as status:
        heard = 0

        def tell(name: str, reason: str) -> None:
            nonlocal heard
            heard += 1
            status.update(f'{heard} demonstrations, {escape(name)}')
            if reason:
                console.print(f'left out: {escape(name)}: {escape(reason)}', style='yellow')

        report = make_set(request, workers, tell)
    console.print(_table(report, request.out))
    console.print(
        f'{report.triplets} triplets of {len(report.episodes)} demonstrations in '
        f'{time.monotonic() - began:.0f} s',
        highlight=False,
    )


def _tasks(
    counts: dict[str, int], wanted: list[str], first: int, seed: int
) -> tuple[SimulatedTask, ...]:
    """Return what the experts play.

    Raises:
        ParameterError: If a task is of no body that plays.
    """
    from structrl_ros.training.leap_run import SimulatedTask
    from structrl_ros.training.leap_simulated import tasks_of

    found = [
        SimulatedTask(body=body, task=name, episodes=count, first=first, seed=seed)
        for body, count in counts.items()
        if count
        for name in tasks_of(body)
    ]
    known = {name for t in found for name in (t.task, t.task.partition('/')[0])}
    unknown = [name for name in wanted if name not in known]
    if unknown:
        allowed = ', '.join(sorted(known)) or 'none: give --tabletop or --libero'
        raise ParameterError(f'--task {unknown[0]!r}; allowed: {allowed}')
    return tuple(
        t for t in found if not wanted or {t.task, t.task.partition('/')[0]} & set(wanted)
    )


def _table(report: SetReport, out: Path) -> Table:
    from structrl_ros.training.leap_rows import count_rows

    table = Table('split', 'source', 'kind', 'rows', title=escape(str(out)))
    for key, count in sorted(count_rows(report.rows, 'split', 'source', 'kind').items()):
        table.add_row(*key, str(count))
    return table
