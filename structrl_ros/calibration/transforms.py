"""Rigid transforms as matrices (4, 4): `a_b` maps coordinates of frame b to frame a."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from structrl_ros.types import Float64


def matrix_from_pose(pose: ArrayLike) -> Float64:
    """Return the transform of a pose: x, y, z in metres, then the quaternion xyzw; (7,)."""
    values = np.asarray(pose, np.float64)
    matrix = np.eye(4)
    matrix[:3, :3] = Rotation.from_quat(values[3:]).as_matrix()
    matrix[:3, 3] = values[:3]
    return matrix


def pose_from_matrix(matrix: Float64) -> Float64:
    """Return x, y, z in metres and the quaternion xyzw with w >= 0, shape (7,)."""
    quat_xyzw = Rotation.from_matrix(matrix[:3, :3]).as_quat(canonical=True)
    return np.concatenate([matrix[:3, 3], quat_xyzw])


def matrix_from_vector(vector: Float64) -> Float64:
    """Return the transform of a rotation vector (rad) and a translation (m), shape (6,)."""
    matrix = np.eye(4)
    matrix[:3, :3] = Rotation.from_rotvec(vector[:3]).as_matrix()
    matrix[:3, 3] = vector[3:]
    return matrix


def vector_from_matrix(matrix: Float64) -> Float64:
    """Return rotation vector (rad) and translation (m), shape (6,)."""
    return np.concatenate([rotation_vectors(matrix), matrix[:3, 3]])


def rotation_vectors(matrices: Float64) -> Float64:
    """Return the rotation vectors (rad) of transforms (..., 4, 4), shape (..., 3)."""
    rotations = Rotation.from_matrix(matrices[..., :3, :3].reshape(-1, 3, 3))
    vectors: Float64 = rotations.as_rotvec().reshape(*matrices.shape[:-2], 3)
    return vectors


def inverse(matrices: Float64) -> Float64:
    """Return the inverse of rigid transforms, shape (..., 4, 4)."""
    turned = np.swapaxes(matrices[..., :3, :3], -1, -2)
    result = np.zeros_like(matrices)
    result[..., :3, :3] = turned
    result[..., :3, 3] = -np.einsum('...ij,...j->...i', turned, matrices[..., :3, 3])
    result[..., 3, 3] = 1.0
    return result


def apply(matrices: Float64, points: Float64) -> Float64:
    """Return points (..., 3) mapped by transforms (..., 4, 4)."""
    turned = np.einsum('...ij,...j->...i', matrices[..., :3, :3], points)
    mapped: Float64 = turned + matrices[..., :3, 3]
    return mapped


def difference(first: Float64, second: Float64) -> tuple[float, float]:
    """Return how far two transforms are apart: millimetres, degrees."""
    apart_mm = 1000.0 * np.linalg.norm(first[:3, 3] - second[:3, 3])
    turned = np.linalg.norm(rotation_vectors(inverse(first) @ second))
    return float(apart_mm), float(np.degrees(turned))


def mean_transform(matrices: Float64) -> Float64:
    """Return the mean of transforms (N, 4, 4): of the translations, and of the rotations."""
    matrix = np.eye(4)
    matrix[:3, :3] = Rotation.from_matrix(matrices[:, :3, :3]).mean().as_matrix()
    matrix[:3, 3] = matrices[:, :3, 3].mean(axis=0)
    return matrix
