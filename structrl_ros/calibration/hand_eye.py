"""Hand-eye calibration: where the camera sits on what carries it, by closed forms.

One equation holds both cases: carrier_i . camera . view_i = board, for every pose i. The carrier
of a camera in the hand is the gripper (in the base frame), and the board lies still in the base
frame. The carrier of a camera on a stand is the base (in the gripper frame), and the board is
held by the gripper.

Park and Shah are written out here, so that they need no OpenCV (OpenCV 5 has neither in Python).
Andreff's and Li's methods are left out: with the noise of real pictures their translation is
wrong by a centimetre and more (docs/calibration.md).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from structrl_ros.calibration.board import opencv
from structrl_ros.calibration.transforms import inverse
from structrl_ros.calibration.transforms import mean_transform
from structrl_ros.calibration.transforms import rotation_vectors
from structrl_ros.errors import CalibrationError
from structrl_ros.types import Float64

#: Fewest poses that a solver is given.
MIN_POSES = 3


class Setup(StrEnum):
    """What carries the camera."""

    EYE_IN_HAND = 'eye_in_hand'
    EYE_TO_HAND = 'eye_to_hand'


@dataclass(frozen=True, slots=True)
class HandEye:
    """Camera in its carrier's frame, and board in the frame it lies still in; both (4, 4)."""

    camera: Float64
    board: Float64


def carrier_poses(setup: Setup, base_gripper: Float64) -> Float64:
    """Return the poses (N, 4, 4) of what carries the camera, from those of gripper in base."""
    return base_gripper if setup is Setup.EYE_IN_HAND else inverse(base_gripper)


def solve_hand_eye(method: str, carriers: Float64, views: Float64) -> HandEye:
    """Return camera and board by one of `METHODS`.

    Args:
        method: 'park', 'shah', 'tsai', 'horaud' or 'daniilidis'.
        carriers: Poses of the carrier, shape (N, 4, 4), of `carrier_poses`.
        views: Board in the camera's optical frame, shape (N, 4, 4).

    Raises:
        CalibrationError: If the method is unknown or needs an OpenCV that is not here, there are
            less than MIN_POSES poses, or no transform comes out.
    """
    solver = METHODS.get(method)
    if solver is None:
        raise CalibrationError(f'unknown method {method!r}; known: {", ".join(METHODS)}')
    if len(carriers) < MIN_POSES:
        raise CalibrationError(f'{len(carriers)} poses; allowed: at least {MIN_POSES}')
    try:
        found = solver(carriers, views)
    except np.linalg.LinAlgError as error:
        raise CalibrationError(f'{method} finds no transform: {error}') from None
    if not (np.isfinite(found.camera).all() and np.isfinite(found.board).all()):
        raise CalibrationError(f'{method} finds no transform: the motion does not determine it')
    return found


def _park(carriers: Float64, views: Float64) -> HandEye:
    """Solve A X = X B over all pairs of poses (Park and Martin, 1994): rotation, then place."""
    first, second = np.tril_indices(len(carriers), -1)
    a = inverse(carriers[first]) @ carriers[second]
    b = views[first] @ inverse(views[second])
    # Rotation vectors obey alpha = R_X beta. Their paper's (M^T M)^(-1/2) M^T is the rotation
    # nearest to M^T; by singular values it also stands when M has rank two.
    mixed = rotation_vectors(a).T @ rotation_vectors(b)
    rotation = nearest_rotation(mixed)
    left = (a[:, :3, :3] - np.eye(3)).reshape(-1, 3)
    right = (b[:, :3, 3] @ rotation.T - a[:, :3, 3]).reshape(-1)
    camera = np.eye(4)
    camera[:3, :3] = rotation
    camera[:3, 3] = np.linalg.lstsq(left, right, rcond=None)[0]
    return HandEye(camera, mean_transform(carriers @ camera @ views))


def _shah(carriers: Float64, views: Float64) -> HandEye:
    """Solve A X = Z B for both unknowns at once (Shah, 2013), by Kronecker products.

    A are the views, B the inverse carriers, X the anchor seen from the board and Z the carrier
    seen from the camera.
    """
    b = inverse(carriers)
    turns_a, turns_b = views[:, :3, :3], b[:, :3, :3]
    # vec(R_Z) = (R_B kron R_A) vec(R_X), columns first, for every pose.
    total = np.einsum('nij,nkl->ikjl', turns_b, turns_a).reshape(9, 9)
    left, _, right = np.linalg.svd(total)
    x, z = np.eye(4), np.eye(4)
    x[:3, :3], z[:3, :3] = _from_columns(right[0]), _from_columns(left[:, 0])
    # R_A t_X + t_A = R_Z t_B + t_Z
    matrix = np.concatenate([turns_a, np.tile(-np.eye(3), (len(b), 1, 1))], axis=2)
    sides = b[:, :3, 3] @ z[:3, :3].T - views[:, :3, 3]
    places = np.linalg.lstsq(matrix.reshape(-1, 6), sides.reshape(-1), rcond=None)[0]
    x[:3, 3], z[:3, 3] = places[:3], places[3:]
    return HandEye(inverse(z), inverse(x))


def nearest_rotation(matrix: Float64) -> Float64:
    """Return the rotation (3, 3) nearest to a matrix of any positive scale."""
    left, _, right = np.linalg.svd(matrix)
    rotation: Float64 = left @ np.diag([1.0, 1.0, np.linalg.det(left @ right)]) @ right
    return rotation


def _from_columns(vector: Float64) -> Float64:
    """Return the rotation nearest to a matrix of any scale and sign, given column by column."""
    matrix = vector.reshape(3, 3).T
    return nearest_rotation(matrix * np.sign(np.linalg.det(matrix)))


def _of_opencv(name: str) -> Callable[[Float64, Float64], HandEye]:
    """Return a solver that OpenCV 4 has."""

    def solve(carriers: Float64, views: Float64) -> HandEye:
        cv2 = opencv()
        if not hasattr(cv2, 'calibrateHandEye'):
            raise CalibrationError(
                f'OpenCV {cv2.__version__} has no calibrateHandEye in Python; allowed: methods '
                'park and shah, or pip install "opencv-python-headless>=4.10,<5"'
            )
        camera = np.eye(4)
        try:
            rotation, place = cv2.calibrateHandEye(
                *(list(carriers[:, :3, :3]), list(carriers[:, :3, 3])),
                *(list(views[:, :3, :3]), list(views[:, :3, 3])),
                method=getattr(cv2, f'CALIB_HAND_EYE_{name}'),
            )
        except cv2.error as error:
            raise np.linalg.LinAlgError(' '.join(str(error).split())) from None
        if rotation is None or place is None:
            raise np.linalg.LinAlgError('OpenCV gives none')
        camera[:3, :3], camera[:3, 3] = rotation, np.ravel(place)
        return HandEye(camera, mean_transform(carriers @ camera @ views))

    return solve


#: Solvers by name, the recommended ones first.
METHODS: dict[str, Callable[[Float64, Float64], HandEye]] = {
    'park': _park,
    'shah': _shah,
    'tsai': _of_opencv('TSAI'),
    'horaud': _of_opencv('HORAUD'),
    'daniilidis': _of_opencv('DANIILIDIS'),
}
