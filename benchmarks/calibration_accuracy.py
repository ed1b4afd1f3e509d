"""Accuracy of the hand-eye calibration on rigs whose truth is known (docs/calibration.md).

Usage: .venv/bin/python benchmarks/calibration_accuracy.py [--trials 20] [--rendered 5]
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from structrl_ros.calibration.detection import BoardDetector
from structrl_ros.calibration.detection import board_pose
from structrl_ros.calibration.hand_eye import METHODS
from structrl_ros.calibration.hand_eye import Setup
from structrl_ros.calibration.hand_eye import carrier_poses
from structrl_ros.calibration.hand_eye import solve_hand_eye
from structrl_ros.calibration.procedure import fit
from structrl_ros.calibration.refinement import View
from structrl_ros.calibration.refinement import boards_of
from structrl_ros.calibration.refinement import carriers_of
from structrl_ros.calibration.rehearsal import Rehearsal
from structrl_ros.calibration.transforms import difference

#: Corner noise (px), poses, error of the arm along (mm) and about (degrees) each axis.
CASES = (
    (0.3, 20, 0.0, 0.0),
    (0.3, 20, 0.1, 0.05),
    (0.5, 15, 0.1, 0.05),
    (1.0, 15, 0.5, 0.1),
    (0.1, 20, 0.5, 0.1),
)
#: Sensor noise in grey levels that moves a corner by about 0.3 px in the rendered pictures.
NOISE_LEVELS = 25.0


def row(views: list[View], rig: Rehearsal, steps: tuple[str, ...]) -> list[tuple[float, float]]:
    """Return error (mm, degrees) of each closed form, then of each refinement."""
    found = [solve_hand_eye(m, carriers_of(views), boards_of(views)) for m in METHODS]
    found += [fit(views, rig.intrinsics, rig.setup, refinement=step)[0] for step in steps]
    return [difference(each.camera, rig.true_camera) for each in found]


def rendered_views(rig: Rehearsal) -> list[View]:
    """Return twenty views through pictures and detection."""
    detector, views = BoardDetector(rig.board), []
    for pose in rig.views(20):
        seen = detector.detect(rig.picture(pose, noise_levels=NOISE_LEVELS))
        carrier = carrier_poses(rig.setup, pose.base_gripper[None])[0]
        camera_board = board_pose(seen, rig.intrinsics)
        views.append(View(carrier, seen.points, seen.corners, camera_board))
    return views


def show(name: str, rows: list[list[tuple[float, float]]]) -> None:
    """Print the median of each column as a line of a table."""
    cells = [f'{mm:.2f} / {deg:.3f}' for mm, deg in np.median(rows, axis=0)]
    print(f'| {name} | ' + ' | '.join(cells) + ' |')


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--trials', type=int, default=20)
    parser.add_argument('--rendered', type=int, default=5)
    given = parser.parse_args()
    began_s = time.process_time()
    steps = ('corners', 'weighted')
    for setup in Setup:
        print(f'\n{setup}: median error, mm / degrees')
        print('| corner px, poses, arm mm, arm degrees | ' + ' | '.join((*METHODS, *steps)) + ' |')
        for noise_px, poses, arm_mm, arm_deg in CASES:
            rows = []
            for seed in range(given.trials):
                noise = {'arm_noise_mm': arm_mm, 'arm_noise_deg': arm_deg}
                rig = Rehearsal(setup, seed=seed, **noise)
                rows.append(row(rig.seen_views(rig.views(poses), noise_px), rig, steps))
            show(f'{noise_px}, {poses}, {arm_mm}, {arm_deg}', rows)
        rows = []
        for seed in range(given.rendered):
            rig = Rehearsal(setup, seed=seed, arm_noise_mm=0.1, arm_noise_deg=0.05)
            rows.append(row(rendered_views(rig), rig, steps))
        show(f'rendered pictures ({given.rendered}), 20, 0.1, 0.05', rows)
    print(f'\n{time.process_time() - began_s:.0f} s of CPU')


if __name__ == '__main__':
    main()
