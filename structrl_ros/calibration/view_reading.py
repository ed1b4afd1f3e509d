"""Samples to views: the board is found in every picture, and its pose."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from structrl_ros.calibration.detection import BoardDetector
from structrl_ros.calibration.detection import board_pose
from structrl_ros.calibration.hand_eye import carrier_poses
from structrl_ros.calibration.refinement import View
from structrl_ros.calibration.samples import SampleFolder
from structrl_ros.calibration.transforms import matrix_from_pose
from structrl_ros.camera_types import Intrinsics
from structrl_ros.errors import CalibrationError


@dataclass(frozen=True, slots=True)
class Views:
    """Views that can be used, the files they come from, and why others cannot be used."""

    views: list[View]
    images: list[str]
    refused: list[str]


def read_views(folder: SampleFolder, intrinsics: Intrinsics | None = None) -> Views:
    """Return the views of a folder.

    Args:
        folder: The samples.
        intrinsics: Instead of those in the folder.

    Raises:
        CalibrationError: If a picture cannot be read.
    """
    camera = intrinsics or folder.rig.intrinsics
    detector = BoardDetector(folder.rig.board)
    found = Views([], [], [])
    for sample, image in folder.pictures():
        try:
            seen = detector.detect(image)
            pose = board_pose(seen, camera)
        except CalibrationError as error:
            found.refused.append(f'{sample.image}: {error}')
            continue
        base_gripper = np.array([matrix_from_pose(sample.pose)])
        carrier = carrier_poses(folder.rig.setup, base_gripper)[0]
        found.views.append(View(carrier, seen.points, seen.corners, pose))
        found.images.append(sample.image)
    return found
