"""The calibration as a file: the transform, what it is worth, and where it came from."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from structrl_ros.calibration.board import board_to_document
from structrl_ros.calibration.hand_eye import Setup
from structrl_ros.calibration.procedure import Calibration
from structrl_ros.calibration.quality import Residuals
from structrl_ros.calibration.samples import Rig
from structrl_ros.calibration.samples import write_yaml
from structrl_ros.calibration.transforms import pose_from_matrix
from structrl_ros.errors import CalibrationError
from structrl_ros.types import Float64

HEADING = 'Written by structrl calibrate solve. Lengths in metres, quaternions xyzw.'


@dataclass(frozen=True, slots=True)
class StaticTransform:
    """A child frame in its parent: `pose` is x, y, z (m) and the quaternion xyzw, (7,)."""

    parent: str
    child: str
    pose: Float64


@dataclass(frozen=True, slots=True)
class CalibrationFile:
    """What a calibration file says; `provenance` holds everything but the transforms.

    `camera` is the camera in its carrier; `board` the board in the frame it lay still in.
    """

    setup: Setup
    camera: StaticTransform
    board: StaticTransform
    date: str
    serial: str
    provenance: dict[str, Any] = field(default_factory=dict)


def calibration_frames(rig: Rig) -> tuple[str, str]:
    """Return the frame that carries the camera, and the one that the board lies still in."""
    frames = (rig.gripper_frame, rig.base_frame)
    return frames if rig.setup is Setup.EYE_IN_HAND else (frames[1], frames[0])


def write_calibration(path: Path, result: Calibration, rig: Rig, date: str) -> None:
    """Write a calibration.

    Args:
        path: The file; an older one is replaced.
        result: What was found.
        rig: What was calibrated.
        date: When, ISO 8601.

    Raises:
        CalibrationError: If it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_yaml(path, _document(result, rig, date), HEADING)
    except OSError as error:
        raise CalibrationError(f'{path}: {error.strerror or error}') from None


def _document(result: Calibration, rig: Rig, date: str) -> dict[str, Any]:
    carrier, anchor = calibration_frames(rig)
    quality, noise = result.quality, result.noise
    document = {
        'setup': str(result.setup),
        'parent': carrier,
        'child': rig.camera_frame,
        **_transform(result.found.camera),
        'method': result.method,
        'refinement': result.refinement,
        'date': date,
        'camera': {'role': rig.role, 'serial': rig.serial},
        'poses': result.spread.poses,
        'residuals': {
            'heldout': _residuals(quality.heldout),
            'fitted': _residuals(quality.fitted),
        },
        'standard_error': {'mm': _round(quality.error_mm), 'deg': _round(quality.error_deg)},
        'leave_one_out_spread': {
            'mm': _rounds(quality.spread_mm),
            'deg': _rounds(quality.spread_deg),
        },
        'turn_deg_rms': _rounds(result.spread.own_turn_deg),
        'moved_by_refinement': {'mm': _round(result.moved_mm), 'deg': _round(result.moved_deg)},
        'board': {
            **board_to_document(rig.board),
            'parent': anchor,
            **_transform(result.found.board),
        },
    }
    if noise is not None:
        document['estimated_noise'] = {
            'corner_px': _round(noise.corner_px),
            'arm_mm': _round(noise.arm_mm),
            'arm_deg': _round(noise.arm_deg),
        }
    return document


def read_calibration(path: Path) -> CalibrationFile:
    """Return what a calibration file says.

    Raises:
        CalibrationError: If it cannot be read, or a transform in it is wrong.
    """
    try:
        document = yaml.safe_load(path.read_text(encoding='utf-8'))
        board = document['board']
        carrier, child = str(document['parent']), str(document['child'])
        return CalibrationFile(
            setup=Setup(document['setup']),
            camera=StaticTransform(carrier, child, _pose(document, path)),
            board=StaticTransform(str(board['parent']), 'board', _pose(board, path)),
            date=str(document['date']),
            serial=str(document['camera']['serial']),
            provenance=document,
        )
    except OSError as error:
        raise CalibrationError(f'calibration {path}: {error.strerror or error}') from None
    except (KeyError, TypeError, ValueError, UnicodeDecodeError, yaml.YAMLError) as error:
        reason = ' '.join(str(error).split())
        raise CalibrationError(f'calibration {path}: {type(error).__name__}: {reason}') from None


def _transform(matrix: Float64) -> dict[str, list[float]]:
    pose = pose_from_matrix(matrix)
    return {
        'xyz': [round(float(v), 7) for v in pose[:3]],
        'quat_xyzw': [round(float(v), 9) for v in pose[3:]],
    }


def _pose(document: dict[str, Any], path: Path) -> Float64:
    pose = np.array([*document['xyz'], *document['quat_xyzw']], np.float64)
    length = float(np.linalg.norm(pose[3:]))
    if pose.shape != (7,) or not np.isfinite(pose).all() or abs(length - 1.0) > 1e-3:
        raise CalibrationError(
            f'calibration {path}: xyz {document["xyz"]}, quat_xyzw {document["quat_xyzw"]}; '
            'allowed: three numbers and a unit quaternion'
        )
    pose[3:] /= length
    return pose


def _residuals(residuals: Residuals) -> dict[str, float]:
    return {
        'px_rms': _round(np.sqrt(np.mean(residuals.px**2))),
        'mm_median': _round(np.median(residuals.mm)),
        'mm_max': _round(residuals.mm.max()),
        'deg_median': _round(np.median(residuals.deg)),
        'deg_max': _round(residuals.deg.max()),
    }


def _round(value: float) -> float:
    return round(float(value), 4)


def _rounds(values: Float64) -> list[float]:
    return [_round(value) for value in values]
