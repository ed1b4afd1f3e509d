"""Recorded pairs of a picture and the arm's pose: a folder that can be solved again at any time.

`samples.yaml` holds board, camera and poses; the pictures lie beside it as PNG files.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from structrl_ros.calibration.board import Board
from structrl_ros.calibration.board import board_from_document
from structrl_ros.calibration.board import board_to_document
from structrl_ros.calibration.hand_eye import Setup
from structrl_ros.camera_types import Intrinsics
from structrl_ros.errors import CalibrationError
from structrl_ros.intrinsics_file import intrinsics_from_document
from structrl_ros.intrinsics_file import intrinsics_to_document
from structrl_ros.types import Float64
from structrl_ros.types import UInt8

FILE = 'samples.yaml'


@dataclass(frozen=True, slots=True)
class Rig:
    """What was calibrated: setup, board, camera, and the names of the frames.

    `serial` is the camera's serial number or device, `role` its role.
    """

    setup: Setup
    board: Board
    intrinsics: Intrinsics
    role: str = ''
    serial: str = ''
    base_frame: str = 'base_link'
    gripper_frame: str = 'ee'
    camera_frame: str = 'camera_optical'


@dataclass(frozen=True, slots=True)
class Sample:
    """One pair: file of the picture, stamp, and the gripper's pose in the base frame, (7,)."""

    image: str
    stamp_ns: int
    pose: Float64


@dataclass
class SampleFolder:
    """A folder of samples; `add` writes at once, so that nothing is lost."""

    path: Path
    rig: Rig
    samples: list[Sample] = field(default_factory=list)

    def add(self, image: UInt8, stamp_ns: int, pose: Float64) -> None:
        """Keep a picture (RGB) with the pose at its stamp.

        Raises:
            CalibrationError: If the folder cannot be written.
        """
        from PIL import Image

        name = f'{len(self.samples):03d}.png'
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            Image.fromarray(image).save(self.path / name, compress_level=1)
            self.samples.append(Sample(name, stamp_ns, np.asarray(pose, np.float64)))
            write_yaml(self.path / FILE, self._document())
        except OSError as error:
            raise CalibrationError(f'{self.path}: {error.strerror or error}') from None

    def pictures(self) -> Iterator[tuple[Sample, UInt8]]:
        """Yield each sample with its picture, RGB.

        Raises:
            CalibrationError: If a picture is missing or of another size than the intrinsics.
        """
        from PIL import Image

        size = (self.rig.intrinsics.width, self.rig.intrinsics.height)
        for sample in self.samples:
            try:
                with Image.open(self.path / sample.image) as picture:
                    image = np.array(picture.convert('RGB'))
            except OSError as error:
                raise CalibrationError(f'{self.path / sample.image}: {error}') from None
            if image.shape[1::-1] != size:
                raise CalibrationError(
                    f'{self.path / sample.image} is {image.shape[1]} x {image.shape[0]}; '
                    f'allowed: {size[0]} x {size[1]}, the size of the intrinsics'
                )
            yield sample, image

    def _document(self) -> dict[str, Any]:
        rig = self.rig
        return {
            'setup': str(rig.setup),
            'board': board_to_document(rig.board),
            'camera': intrinsics_to_document(rig.intrinsics, rig.serial),
            'role': rig.role,
            'base_frame': rig.base_frame,
            'gripper_frame': rig.gripper_frame,
            'camera_frame': rig.camera_frame,
            'samples': [
                {'image': s.image, 'stamp_ns': s.stamp_ns, 'pose': s.pose.tolist()}
                for s in self.samples
            ],
        }


def read_samples(path: Path) -> SampleFolder:
    """Return a folder that was recorded.

    Raises:
        CalibrationError: If there is none, or its document is wrong.
    """
    where = path / FILE
    try:
        document = yaml.safe_load(where.read_text(encoding='utf-8'))
        rig = Rig(
            setup=Setup(document['setup']),
            board=board_from_document(document['board'], str(where)),
            intrinsics=intrinsics_from_document(document['camera'], str(where)),
            serial=str(document['camera'].get('camera_name', '')),
            **{
                k: str(document[k])
                for k in ('role', 'base_frame', 'gripper_frame', 'camera_frame')
            },
        )
        samples = [
            Sample(str(entry['image']), int(entry['stamp_ns']), _pose(entry['pose'], where))
            for entry in document['samples']
        ]
    except OSError as error:
        raise CalibrationError(f'{where}: {error.strerror or error}') from None
    except (KeyError, TypeError, ValueError, UnicodeDecodeError, yaml.YAMLError) as error:
        reason = ' '.join(str(error).split())
        raise CalibrationError(f'{where}: {type(error).__name__}: {reason}') from None
    return SampleFolder(path, rig, samples)


def write_yaml(path: Path, document: dict[str, Any], heading: str = '') -> None:
    """Write a YAML file whole, or leave the old one; `heading` becomes its first comment.

    Raises:
        OSError: If it cannot be written.
    """
    text = yaml.safe_dump(document, sort_keys=False, default_flow_style=None, width=96)
    temporary = path.with_name(f'.{path.name}.{os.getpid()}')
    temporary.write_text((f'# {heading}\n' if heading else '') + text, encoding='utf-8')
    temporary.replace(path)


def _pose(values: Any, where: Path) -> Float64:
    pose = np.asarray(values, np.float64)
    is_unit = pose.shape == (7,) and abs(float(np.linalg.norm(pose[3:])) - 1.0) < 1e-3
    if not is_unit or not np.isfinite(pose).all():
        raise CalibrationError(
            f'{where}: pose {values!r}; allowed: x, y, z and a unit quaternion xyzw'
        )
    return pose
