"""What `structrl calibrate` prints and draws."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from structrl_ros.calibration.capture import Gate
from structrl_ros.calibration.capture import Offer
from structrl_ros.calibration.document import StaticTransform
from structrl_ros.calibration.document import calibration_frames
from structrl_ros.calibration.document import read_calibration
from structrl_ros.calibration.hand_eye import Setup
from structrl_ros.calibration.lens import LensReport
from structrl_ros.calibration.observability import advice
from structrl_ros.calibration.procedure import Calibration
from structrl_ros.calibration.quality import Residuals
from structrl_ros.calibration.rehearsal import Rehearsal
from structrl_ros.calibration.samples import Rig
from structrl_ros.calibration.samples import SampleFolder
from structrl_ros.calibration.samples import read_samples
from structrl_ros.calibration.transforms import pose_from_matrix
from structrl_ros.calibration.verification import verify
from structrl_ros.calibration.view_reading import Views
from structrl_ros.camera_types import Intrinsics
from structrl_ros.errors import CalibrationError


class CaptureReport:
    """Tells what becomes of pictures; the same refusal is told once."""

    def __init__(self, console: Console, poses: int) -> None:
        """Begin."""
        self._console, self._poses = console, poses
        self._told = ''

    def tell(self, offer: Offer, gate: Gate) -> None:
        """Tell of one picture."""
        if offer.accepted:
            wishes = '; '.join(gate.advice) or 'a good spread'
            self._say(
                f'[green]{gate.spread.poses}/{self._poses}[/] {offer.corners} corners; {wishes}'
            )
            self._told = ''
        elif (kind := offer.reason.split(':')[0].split(' by ')[0]) != self._told:
            self._say(f'[dim]{offer.reason}[/]')
            self._told = kind

    def end(self, folder: SampleFolder) -> None:
        """Tell what was taken.

        Raises:
            CalibrationError: If it was less than what was wanted.
        """
        count = len(folder.samples)
        if count < self._poses:
            raise CalibrationError(f'{count} of {self._poses} samples could be taken')
        self._say(f'{count} samples in {folder.path}')

    def _say(self, text: str) -> None:
        self._console.print(text, highlight=False)


def print_lens(console: Console, report: LensReport, given: Intrinsics, views: int) -> None:
    """Print what pictures say of intrinsics."""
    table = Table('intrinsics', 'fx', 'fy', 'cx', 'cy', 'corners off by (rms)')
    rows = (
        ('given', given, report.given_px),
        ('estimated', report.estimated, report.estimated_px),
    )
    for name, camera, error in rows:
        numbers = (f'{v:.2f}' for v in (camera.fx, camera.fy, camera.cx, camera.cy))
        table.add_row(name, *numbers, f'{error:.3f} px')
    console.print(table)
    verdict = 'good' if report.is_good else 'not good: take the estimated ones (--write)'
    console.print(
        f'{views} views, corners in {report.coverage:.0%} of the picture; estimated from every '
        f'other view, the rest is off by {report.heldout_px:.3f} px; the given ones are {verdict}',
        highlight=False,
    )


def print_result(console: Console, result: Calibration, rig: Rig, views: Views) -> None:
    """Print a calibration and what it is worth."""
    carrier, _ = calibration_frames(rig)
    pose = pose_from_matrix(result.found.camera)
    table = Table('residuals', 'corners (rms)', 'board, median', 'board, largest', 'at')
    quality = result.quality
    for name, part in (('held out', quality.heldout), ('fitted', quality.fitted)):
        table.add_row(name, *_cells(part, views.images))
    console.print(
        f'{rig.camera_frame} in {carrier}: xyz {np.round(pose[:3], 5).tolist()}, '
        f'quat_xyzw {np.round(pose[3:], 6).tolist()}',
        highlight=False,
    )
    console.print(table)
    lines = [
        f'standard error (jackknife): {quality.error_mm:.2f} mm, {quality.error_deg:.3f} degrees',
        f'{result.method}, then {result.refinement}: moved by {result.moved_mm:.2f} mm, '
        f'{result.moved_deg:.3f} degrees',
    ]
    if result.noise is not None:
        noise = result.noise
        lines.append(
            f'estimated noise: corners {noise.corner_px:.2f} px, arm {noise.arm_mm:.2f} mm and '
            f'{noise.arm_deg:.3f} degrees an axis'
        )
    lines += [f'would be better: {wish}' for wish in advice(result.spread, result.setup)]
    console.print('\n'.join(lines), highlight=False)


def write_verification(
    console: Console,
    calibration: Path,
    folder: Path,
    picture: Path,
    number: int,
    tool: tuple[float, float, float],
) -> None:
    """Write the picture of a verification and print what it says.

    Raises:
        CalibrationError: If there is no such sample, or a file is wrong.
    """
    from PIL import Image

    samples = read_samples(folder)
    if number >= len(samples.samples):
        raise CalibrationError(f'sample {number}; allowed: 0 to {len(samples.samples) - 1}')
    samples.samples = samples.samples[number : number + 1]
    sample, image = next(samples.pictures())
    rig = samples.rig
    got = verify(
        *(read_calibration(calibration), rig.intrinsics, rig.board),
        *(image, sample.pose, np.array(tool)),
    )
    try:
        Image.fromarray(got.picture).save(picture)
    except (OSError, ValueError) as error:
        raise CalibrationError(f'{picture}: {error}') from None
    if got.tool_px is None:
        where = 'behind the camera'
    else:
        where = f'at pixel {got.tool_px[0]:.0f}, {got.tool_px[1]:.0f}'
        where += '' if got.tool_inside else ', outside of the picture'
    board = 'no board is seen'
    if got.corner_px is not None:
        board = f'corners of the board are {got.corner_px:.1f} px from where they should be'
    console.print(f'{picture}: the tool is {where}; {board}', highlight=False)


def print_static_publisher(console: Console, transform: StaticTransform) -> None:
    """Print the command that publishes a transform on a ROS 2 installation."""
    x, y, z, qx, qy, qz, qw = (f'{value:.7f}' for value in transform.pose)
    console.print(
        f'ros2 run tf2_ros static_transform_publisher --x {x} --y {y} --z {z} --qx {qx} --qy {qy} '
        f'--qz {qz} --qw {qw} --frame-id {transform.parent} --child-frame-id {transform.child}',
        highlight=False,
    )


def rehearse_into(
    console: Console,
    path: Path,
    setup: Setup,
    poses: int,
    seed: int,
    noise: tuple[float, float],
) -> None:
    """Draw the samples of a rehearsal and print its truth.

    Raises:
        CalibrationError: If the folder is not new.
    """
    if path.exists() and any(path.iterdir()):
        raise CalibrationError(f'{path} is not empty; allowed: a new folder')
    made = Rehearsal(setup, seed=seed, arm_noise_mm=noise[0], arm_noise_deg=noise[1])
    rig = Rig(setup, made.board, made.intrinsics, 'head', f'rehearsal {seed}')
    folder = SampleFolder(path, rig)
    for at, view in enumerate(made.views(poses)):
        folder.add(made.picture(view), at * 10**9, pose_from_matrix(view.base_gripper))
    truth = pose_from_matrix(made.true_camera)
    console.print(
        f'{poses} samples in {path}; in truth xyz {np.round(truth[:3], 5).tolist()}, '
        f'quat_xyzw {np.round(truth[3:], 6).tolist()}',
        highlight=False,
    )


def _cells(residuals: Residuals, images: list[str]) -> tuple[str, str, str, str]:
    worst = int(residuals.mm.argmax())
    return (
        f'{np.sqrt(np.mean(residuals.px**2)):.2f} px',
        f'{np.median(residuals.mm):.2f} mm, {np.median(residuals.deg):.3f} deg',
        f'{residuals.mm.max():.2f} mm, {residuals.deg.max():.3f} deg',
        images[worst],
    )
