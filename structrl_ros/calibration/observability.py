"""What a set of poses can tell: which motion is missing, and when nothing may be solved.

The camera's rotation is seen by turns about two axes that are not parallel, and its place by the
same turns. Turns about one axis leave the place along it and the rotation about it unknown, and
pure translation leaves the whole place unknown, yet solvers return a transform (or NaN) all the
same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from structrl_ros.calibration.hand_eye import Setup
from structrl_ros.calibration.transforms import inverse
from structrl_ros.calibration.transforms import rotation_vectors
from structrl_ros.errors import CalibrationError
from structrl_ros.types import Float64

#: Below this turn (root mean square over pairs of poses) about the best axis nothing turned.
MIN_TURN_DEG = 2.0
#: ... and below this about the second-best axis all turns were about one.
MIN_SECOND_TURN_DEG = 4.0
#: Turn about each of the carrier's axes that gives a good result.
GOOD_TURN_DEG = 12.0
#: Poses that give a good result.
GOOD_POSES = 15


@dataclass(frozen=True, slots=True)
class MotionSpread:
    """How much a carrier turned and moved between its poses.

    `axes` are the principal axes of turning in the carrier's frame, shape (3, 3), one a row, the
    most turned about first, and `turn_deg`, (3,), the root mean square of the turn about each;
    `own_turn_deg` is the same about the carrier's own x, y and z. `move_mm` is the root mean
    square of the distance from the mean place.
    """

    poses: int
    axes: Float64
    turn_deg: Float64
    own_turn_deg: Float64
    move_mm: float


def motion_spread(carriers: Float64) -> MotionSpread:
    """Return the spread of poses (N, 4, 4), over all pairs of them."""
    count = len(carriers)
    if count < 2:
        return MotionSpread(count, np.eye(3), np.zeros(3), np.zeros(3), 0.0)
    first, second = np.triu_indices(count, 1)
    turns = rotation_vectors(inverse(carriers[first]) @ carriers[second])
    squares = turns.T @ turns / len(turns)
    values, vectors = np.linalg.eigh(squares)
    axes = vectors.T[::-1]
    largest = np.take_along_axis(axes, np.abs(axes).argmax(axis=1)[:, None], axis=1)
    places = carriers[:, :3, 3] - carriers[:, :3, 3].mean(axis=0)
    return MotionSpread(
        poses=count,
        axes=axes * np.sign(largest),
        turn_deg=np.degrees(np.sqrt(np.maximum(values[::-1], 0.0))),
        own_turn_deg=np.degrees(np.sqrt(np.diag(squares))),
        move_mm=float(1000.0 * np.sqrt((places**2).sum(axis=1).mean())),
    )


def refuse_unobservable(spread: MotionSpread, setup: Setup) -> None:
    """Refuse poses that do not determine the transform, and name what is missing.

    Raises:
        CalibrationError: If nothing turned, or all turns were about one axis.
    """
    frame = carrier_name(setup)
    if spread.turn_deg[0] < MIN_TURN_DEG:
        raise CalibrationError(
            f'pure translation: the {frame} turned by {spread.turn_deg[0]:.1f} degrees (rms), so '
            'the place of the camera cannot be seen; allowed: turns of '
            f'{GOOD_TURN_DEG:g} degrees and more about two axes at least'
        )
    if spread.turn_deg[1] < MIN_SECOND_TURN_DEG:
        x, y, z = np.where(np.abs(spread.axes[0]) < 0.005, 0.0, spread.axes[0])
        raise CalibrationError(
            f'all rotations are about one axis ({x:.2f}, {y:.2f}, {z:.2f}) of the {frame}: '
            f'{spread.turn_deg[0]:.1f} degrees (rms) about it, {spread.turn_deg[1]:.1f} about '
            "any other, so the camera's place along it and turn about it cannot be seen; "
            f'allowed: {MIN_SECOND_TURN_DEG:g} degrees and more about a second axis'
        )


def advice(spread: MotionSpread, setup: Setup) -> list[str]:
    """Return what more poses should bring, in words; empty when nothing is missing."""
    words = []
    frame = carrier_name(setup)
    for name, turn in zip('xyz', spread.own_turn_deg, strict=True):
        if turn < GOOD_TURN_DEG:
            words.append(
                f'turn the hand about {name} of the {frame} '
                f'({turn:.0f} of {GOOD_TURN_DEG:g} degrees rms)'
            )
    if spread.poses < GOOD_POSES:
        words.append(f'{GOOD_POSES - spread.poses} more poses')
    return words


def carrier_name(setup: Setup) -> str:
    """Return the frame that carries the camera, in words."""
    return 'gripper' if setup is Setup.EYE_IN_HAND else 'base'
