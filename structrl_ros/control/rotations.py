"""Rotations and rigid transforms of three-dimensional space; quaternions are xyzw, unit length."""

from __future__ import annotations

import math

import numpy as np

from structrl_ros.types import Float64

#: Below this angle (rad) series replace quotients that lose their digits.
_SMALL = 1e-7


def matrix_from_quaternion(quat_xyzw: Float64) -> Float64:
    """Return the rotation matrix of a unit quaternion, shape (3, 3)."""
    x, y, z, w = (float(v) for v in quat_xyzw)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def quaternion_from_matrix(rotation: Float64) -> Float64:
    """Return the unit quaternion (xyzw, w >= 0) of a rotation matrix, shape (4,)."""
    m = rotation
    diagonal = np.array([m[0, 0], m[1, 1], m[2, 2], m[0, 0] + m[1, 1] + m[2, 2]])
    largest = int(np.argmax(diagonal))
    quat = np.empty(4)
    if largest == 3:
        quat[3] = 1.0 + diagonal[3]
        quat[:3] = m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]
    else:
        i = largest
        j, k = (i + 1) % 3, (i + 2) % 3
        quat[i] = 1.0 - diagonal[3] + 2.0 * m[i, i]
        quat[j] = m[j, i] + m[i, j]
        quat[k] = m[k, i] + m[i, k]
        quat[3] = m[k, j] - m[j, k]
    length = float(np.linalg.norm(quat))
    unit: Float64 = quat / (length if quat[3] >= 0.0 else -length)
    return unit


def matrix_from_vector(rotation_vector: Float64) -> Float64:
    """Return the rotation matrix of an axis times an angle in rad (Rodrigues), shape (3, 3)."""
    x, y, z = (float(v) for v in rotation_vector)
    square = x * x + y * y + z * z
    angle = math.sqrt(square)
    skew = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    if angle < _SMALL:
        first, second = 1.0 - square / 6.0, 0.5 - square / 24.0
    else:
        first, second = math.sin(angle) / angle, (1.0 - math.cos(angle)) / square
    rotation: Float64 = np.eye(3) + first * skew + second * (skew @ skew)
    return rotation


def vector_from_matrix(rotation: Float64) -> Float64:
    """Return axis times angle (rad, at most pi) of a rotation matrix, shape (3,)."""
    x, y, z, w = quaternion_from_matrix(rotation)
    sine = math.sqrt(x * x + y * y + z * z)
    factor = 2.0 if sine < _SMALL else 2.0 * math.atan2(sine, w) / sine
    return factor * np.array([x, y, z])


def transform(position: Float64, quat_xyzw: Float64) -> Float64:
    """Return the homogeneous transform of a position (m) and a unit quaternion, shape (4, 4)."""
    result = np.eye(4)
    result[:3, :3] = matrix_from_quaternion(quat_xyzw)
    result[:3, 3] = position
    return result


def pose_from_transform(matrix: Float64) -> Float64:
    """Return position (m) and unit quaternion xyzw of a transform, shape (7,)."""
    return np.concatenate([matrix[:3, 3], quaternion_from_matrix(matrix[:3, :3])])


def transform_from_pose(pose: Float64) -> Float64:
    """Return the transform of position and unit quaternion xyzw, shape (4, 4)."""
    return transform(pose[:3], pose[3:])


def moved(start: Float64, translation: Float64, rotation_vector: Float64) -> Float64:
    """Return a transform moved and turned in the frame it is given in (about its own origin)."""
    result = start.copy()
    result[:3, 3] += translation
    result[:3, :3] = matrix_from_vector(rotation_vector) @ start[:3, :3]
    return result


def difference(start: Float64, end: Float64) -> tuple[Float64, Float64]:
    """Return the translation and rotation vector with `moved(start, ...)` equal to `end`."""
    rotation = end[:3, :3] @ start[:3, :3].T
    return end[:3, 3] - start[:3, 3], vector_from_matrix(rotation)
