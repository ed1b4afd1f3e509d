"""`structrl calibrate`: from a sheet of paper to the camera's place, each step a command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from typing import Annotated

import typer
from rich.console import Console

if TYPE_CHECKING:
    from structrl_ros.calibration.board import Board
    from structrl_ros.calibration.hand_eye import Setup

calibrate = typer.Typer(
    no_args_is_help=True,
    help='Cameras: board, capture, intrinsics, solve, verify, publish (docs: calibration).',
)
console = Console(soft_wrap=True)

BoardFile = Annotated[
    Path | None, typer.Option('--board', help='Board as YAML; default: calibration/board.yaml.')
]
SetupOption = Annotated[
    str, typer.Option('--setup', help='eye_in_hand (wrist) or eye_to_hand (on a stand).')
]
Folder = Annotated[Path, typer.Argument(help='Folder of samples, as capture writes it.')]
IntrinsicsFile = Annotated[
    Path | None, typer.Option('--intrinsics', help='YAML as ROS camera calibration has it.')
]


@calibrate.command()
def board(
    path: Annotated[Path, typer.Argument(help='board.pdf (vectors) or board.png.')],
    board_file: BoardFile = None,
    paper: Annotated[str, typer.Option(help='a4, letter, a3, board; default: the smallest.')] = '',
    dpi: Annotated[float, typer.Option(help='Of a PNG.')] = 254.0,
) -> None:
    """Write the board in true size, to be printed at 100 %.

    Example: [bold]structrl calibrate board board.pdf[/]
    """
    from structrl_ros.calibration.board_print import write_board

    console.print(write_board(_board(board_file), path, dpi=dpi, paper=paper))


@calibrate.command()
def capture(
    folder: Folder,
    role: Annotated[str, typer.Option(help='Camera: head, left_wrist, right_wrist.')],
    setup: SetupOption,
    board_file: BoardFile = None,
    poses: Annotated[int, typer.Option(min=4, help='Samples to take.')] = 20,
    bag: Annotated[
        Path | None, typer.Option(help='Take them from a recorded bag, not live.')
    ] = None,
    namespace: Annotated[str, typer.Option(help='Namespace of the arm.')] = '',
    gripper_frame: Annotated[str, typer.Option(help='Frame that ee_pose is about.')] = 'ee',
    serial: Annotated[str, typer.Option(help='Of the camera, if no camera_node tells it.')] = '',
    intrinsics: IntrinsicsFile = None,
) -> None:
    """Take samples while you move the hand from view to view; it says what is missing.

    Example: [bold]structrl calibrate capture cell/wrist --role left_wrist --setup eye_in_hand[/]
    """
    from structrl_ros.cli.calibrate_report import CaptureReport
    from structrl_ros.cli.calibrate_sources import Wish
    from structrl_ros.cli.calibrate_sources import bag_source
    from structrl_ros.cli.calibrate_sources import capture as take
    from structrl_ros.cli.calibrate_sources import live_source
    from structrl_ros.intrinsics_file import read_intrinsics

    camera = None if intrinsics is None else read_intrinsics(intrinsics)
    wish = Wish(*(_setup(setup), _board(board_file), role, poses, gripper_frame), camera, serial)
    report = CaptureReport(console, poses)
    if bag is not None:
        report.end(take(folder, wish, bag_source(bag, role, namespace), report.tell))
        return
    from structrl_ros.nodes.calibration_inbox import CalibrationInbox

    with CalibrationInbox(role, namespace) as inbox:
        report.end(take(folder, wish, live_source(inbox), report.tell))


@calibrate.command()
def intrinsics(
    folder: Folder,
    write: Annotated[Path | None, typer.Option(help='Write new intrinsics here.')] = None,
) -> None:
    """Check the intrinsics of the samples, and estimate new ones.

    Example: [bold]structrl calibrate intrinsics cell/wrist --write wrist_intrinsics.yaml[/]
    """
    from structrl_ros.calibration.lens import check_lens
    from structrl_ros.calibration.samples import read_samples
    from structrl_ros.calibration.samples import write_yaml
    from structrl_ros.calibration.view_reading import read_views
    from structrl_ros.cli.calibrate_report import print_lens
    from structrl_ros.intrinsics_file import intrinsics_to_document

    samples = read_samples(folder)
    views = read_views(samples)
    report = check_lens(views.views, samples.rig.intrinsics)
    print_lens(console, report, samples.rig.intrinsics, len(views.views))
    if write is not None:
        write_yaml(write, intrinsics_to_document(report.estimated, samples.rig.serial))
        console.print(f'written: {write}')
    if not report.is_good and write is None:
        raise typer.Exit(1)


@calibrate.command()
def solve(
    folder: Folder,
    write: Annotated[Path, typer.Option(help='The calibration, YAML.')],
    method: Annotated[
        str, typer.Option(help='Closed form: park, shah, tsai, horaud, daniilidis.')
    ] = 'park',
    refinement: Annotated[
        str, typer.Option(help="weighted (by the arm's estimated error), corners, none.")
    ] = 'weighted',
    intrinsics: IntrinsicsFile = None,
) -> None:
    """Find where the camera is, and what that is worth; nothing is written if it is worth nothing.

    Example: [bold]structrl calibrate solve cell/wrist --write cell/wrist.yaml[/]
    """
    from datetime import UTC
    from datetime import datetime

    from structrl_ros.calibration.document import write_calibration
    from structrl_ros.calibration.procedure import calibrate as judge_and_fit
    from structrl_ros.calibration.samples import read_samples
    from structrl_ros.calibration.view_reading import read_views
    from structrl_ros.cli.calibrate_report import print_result
    from structrl_ros.intrinsics_file import read_intrinsics

    samples = read_samples(folder)
    rig = samples.rig
    camera = rig.intrinsics if intrinsics is None else read_intrinsics(intrinsics)
    views = read_views(samples, camera)
    for line in views.refused:
        console.print(f'left out {line}', style='yellow', highlight=False)
    result = judge_and_fit(
        views.views, camera, rig.setup, rig.board.centre, method=method, refinement=refinement
    )
    date = datetime.now(UTC).isoformat(timespec='seconds')
    write_calibration(write, result, rig, date)
    print_result(console, result, rig, views)
    console.print(f'written: {write}')


@calibrate.command()
def verify(
    calibration: Annotated[Path, typer.Argument(help='File that solve wrote.')],
    folder: Folder,
    picture: Annotated[Path, typer.Argument(help='PNG to write.')],
    sample: Annotated[int, typer.Option(min=0, help='Which sample, from 0.')] = 0,
    tool: Annotated[
        tuple[float, float, float],
        typer.Option(help="Tip of the tool in the gripper's frame, metres."),
    ] = (0.0, 0.0, 0.0),
) -> None:
    """Draw where the calibration says that the tool and the board are into a picture.

    Example: [bold]structrl calibrate verify cell/wrist.yaml cell/check check.png --tool 0 0 0.1[/]
    """
    from structrl_ros.cli.calibrate_report import write_verification

    write_verification(console, calibration, folder, picture, sample, tool)


@calibrate.command()
def publish(
    files: Annotated[list[Path], typer.Argument(help='Files that solve wrote.')],
) -> None:
    """Publish the transforms, latched, until Ctrl-C.

    Example: [bold]structrl calibrate publish cell/wrist.yaml cell/head.yaml[/]
    """
    from structrl_ros.calibration.document import read_calibration
    from structrl_ros.cli.calibrate_report import print_static_publisher
    from structrl_ros.nodes.static_transforms import publish_until_signal

    transforms = [read_calibration(path).camera for path in files]
    for transform in transforms:
        print_static_publisher(console, transform)
    topics = publish_until_signal(
        [(t.parent, t.child, t.pose) for t in transforms],
        tell=lambda names: console.print(f'publishing {", ".join(names)}; Ctrl-C ends it'),
    )
    raise typer.Exit(0 if topics else 1)


@calibrate.command()
def rehearse(
    folder: Annotated[Path, typer.Argument(help='A new folder of samples.')],
    setup: SetupOption = 'eye_in_hand',
    poses: Annotated[int, typer.Option(min=1, help='Samples to draw.')] = 20,
    seed: Annotated[int, typer.Option(min=0, help='The same seed draws the same.')] = 0,
    arm_noise_mm: Annotated[float, typer.Option(min=0.0, help="Error of the arm's poses.")] = 0.1,
    arm_noise_deg: Annotated[float, typer.Option(min=0.0, help='The same, turned.')] = 0.05,
) -> None:
    """Draw samples of a rig whose truth is known, to try the other commands without a robot.

    Example: [bold]structrl calibrate rehearse tried --setup eye_to_hand[/]
    """
    from structrl_ros.cli.calibrate_report import rehearse_into

    noise = (arm_noise_mm, arm_noise_deg)
    rehearse_into(console, folder, _setup(setup), poses, seed, noise)


def _board(path: Path | None) -> Board:
    from structrl_ros.calibration.board import read_board
    from structrl_ros.params.share import share_path

    return read_board(path or share_path('calibration', 'board.yaml'))


def _setup(text: str) -> Setup:
    from structrl_ros.calibration.hand_eye import Setup
    from structrl_ros.errors import ParameterError

    if text not in list(Setup):
        raise ParameterError(f'setup is {text!r}; allowed: {", ".join(Setup)}')
    return Setup(text)
