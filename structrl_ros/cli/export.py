"""`structrl export` and `structrl import`: data sets of others, from bags and to bags."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from structrl_ros.cli.export_rerun import export_rerun
from structrl_ros.errors import ParameterError
from structrl_ros.naming import counted

export = typer.Typer(no_args_is_help=True, help='Recordings to data sets of other tools.')
export.command('rerun')(export_rerun)
importer = typer.Typer(no_args_is_help=True, help='Data sets of other tools to recordings.')
console = Console(soft_wrap=True)

Assignments = Annotated[
    list[str] | None,
    typer.Option(
        '--map',
        metavar='NAME=FEATURE',
        help='What stands for state, action, reward, done, success or a camera role.',
    ),
]


@export.command('lerobot')
def export_lerobot(
    bags: Annotated[list[Path], typer.Argument(help='Bags, or directories of runs.')],
    out: Annotated[Path, typer.Option(help='Folder of the data set; it must not exist.')],
    video: Annotated[
        bool | None,
        typer.Option(
            '--video/--images',
            help='Pictures as videos, or exactly as PNG. Default: videos where there are any.',
        ),
    ] = None,
    camera: Annotated[
        list[str] | None, typer.Option(help='Cameras to take; default: those of all bags.')
    ] = None,
    codec: Annotated[str, typer.Option(help='Of the videos: av1 or h264.')] = 'av1',
    max_age: Annotated[
        float, typer.Option(help='Seconds that an observation may be old at a step.')
    ] = 0.2,
    stale: Annotated[
        str, typer.Option(help='Older ones: refuse, or fill with the latest (lock-step).')
    ] = 'refuse',
    successes: Annotated[
        bool, typer.Option('--successes', help='Only episodes with success.')
    ] = False,
) -> None:
    """Write recorded runs as a LeRobotDataset v3.0.

    Example: [bold]structrl export lerobot runs/today --out data/today --video[/]
    """
    if stale not in ('refuse', 'fill'):
        raise ParameterError(f'stale {stale!r}; allowed: refuse, fill')
    with export_libraries():
        from structrl_ros.recording.lerobot.export import export_bags
        from structrl_ros.recording.lerobot.sources import ExportRequest

        request = ExportRequest(
            bags=tuple(b / 'bag' if (b / 'bag').is_dir() else b for b in bags),
            out=out,
            pictures='' if video is None else ('video' if video else 'images'),
            roles=tuple(camera or ()),
            codec=codec,
            max_age_s=max_age,
            fill=stale == 'fill',
            successes=successes,
        )
        report = export_bags(request)
    for note in report.notes:
        console.print(note, style='yellow', markup=False, highlight=False)
    cameras = ', '.join(report.cameras) or 'none'
    console.print(
        f'{out}: {counted(report.episodes, "episode")} ({report.successes} with success), '
        f'{counted(report.frames, "frame")}, cameras: {cameras}',
        markup=False,
        highlight=False,
    )


@importer.command('lerobot')
def import_lerobot(
    dataset: Annotated[Path, typer.Argument(help='Folder of a LeRobotDataset v3.0.')],
    out: Annotated[Path, typer.Option(help='Folder of the bag; it must not exist.')],
    mapping: Assignments = None,
    state_names: Annotated[
        str,
        typer.Option(
            help='Names of the entries of the state, by commas: ee.x ee.y ee.z with ee.qx ... '
            'ee.qw or ee.rx ee.ry ee.rz or ee.roll ee.pitch ee.yaw; two fingers or gripper; '
            '- for what is left out; all others are joints.'
        ),
    ] = '',
    action_space: Annotated[str, typer.Option(help='Such as ee_delta_pose.')] = '',
    gripper: Annotated[
        str, typer.Option(help='Values of the last entry of an action: OPEN,CLOSED.')
    ] = '-1,1',
    chunk_length: Annotated[
        int, typer.Option(min=1, help='Steps of a chunk, where the data set has none.')
    ] = 8,
) -> None:
    """Write a LeRobotDataset v3.0, ours or anybody's, as a bag for [bold]structrl replay[/].

    Example: [bold]structrl import lerobot data/today --out bags/today[/]
    """
    with export_libraries():
        from structrl_ros.recording.lerobot.importing import import_dataset
        from structrl_ros.recording.lerobot.mapping import FeatureMap

        how = FeatureMap(
            keys=_assignments(mapping or []),
            state_names=tuple(n.strip() for n in state_names.split(',') if n.strip()),
            action_space=action_space,
            gripper=_two_numbers(gripper),
            chunk_length=chunk_length,
        )
        report = import_dataset(dataset, out, how)
    _say(report.out, report.episodes, report.steps, report.cameras)


@importer.command('libero')
def import_libero(
    file: Annotated[Path, typer.Argument(help='HDF5 file of LIBERO demonstrations.')],
    out: Annotated[Path, typer.Option(help='Folder of the bag; it must not exist.')],
    rate: Annotated[float, typer.Option(help='Control rate, Hz.')] = 20.0,
    chunk_length: Annotated[int, typer.Option(min=1, help='Steps of a chunk.')] = 8,
) -> None:
    """Write LIBERO's human demonstrations of a task as a bag.

    Example: [bold]structrl import libero demo.hdf5 --out bags/demo[/]
    """
    with export_libraries():
        from structrl_ros.recording.lerobot.libero_file import import_libero_file

        report = import_libero_file(file, out, rate_hz=rate, chunk_length=chunk_length)
    _say(report.out, report.episodes, report.steps, report.cameras)


def _say(out: Path, episodes: int, steps: int, cameras: tuple[str, ...]) -> None:
    seen = ', '.join(cameras) or 'none'
    told = f'{counted(episodes, "episode")}, {counted(steps, "step")}'
    text = f'{out}: {told}, cameras: {seen}'
    console.print(text, markup=False, highlight=False)


def _assignments(words: list[str]) -> dict[str, str]:
    found = {}
    for word in words:
        name, sign, feature = word.partition('=')
        if not (name and sign and feature):
            raise ParameterError(f'--map {word!r}; allowed: NAME=FEATURE')
        found[name] = feature
    return found


def _two_numbers(text: str) -> tuple[float, float]:
    try:
        first, second = (float(word) for word in text.split(','))
    except ValueError:
        raise ParameterError(f'--gripper {text!r}; allowed: OPEN,CLOSED') from None
    return first, second


@contextmanager
def export_libraries() -> Iterator[None]:
    """Say in one line what to install where a library of requirements/export.txt is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name not in ('pyarrow', 'av', 'h5py'):
            raise
        raise ParameterError(
            f'{error.name} is missing: pip install -r requirements/export.txt'
        ) from None
