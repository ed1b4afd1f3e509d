"""Noise on actions that is small at rest and large in motion, so that it does not undo grasps."""

from __future__ import annotations

import numpy as np

from structrl_ros.types import Float32
from structrl_ros.types import Float64

#: A full entry of `ee_delta_pose` over the largest of the curve: 5 cm of 8 cm.
FULL = 0.05 / 0.08
#: Entries of `ee_delta_pose` that the twin follows, without the gripper.
ENTRIES = (0, 1, 2, 5)


def perturb(actions: Float32, noise: Float64) -> Float32:
    """Return actions with noise added along the curve y = .25 a + .75 a^3.

    Args:
        actions: `ee_delta_pose`, shape (B, 7).
        noise: Added to a of the entries in `ENTRIES`, shape (B, 4).
    """
    perturbed = actions.copy()
    entries = list(ENTRIES)
    curve = _rest(FULL * actions[:, entries].astype(np.float64)) + noise
    perturbed[:, entries] = np.clip((0.25 * curve + 0.75 * curve**3) / FULL, -1.0, 1.0)
    return perturbed


def _rest(y: Float64) -> Float64:
    """Return the one a with .25 a + .75 a^3 = y (Cardano)."""
    root = np.sqrt((2.0 * y / 3.0) ** 2 + 1.0 / 729.0)
    return np.asarray(np.cbrt(2.0 * y / 3.0 + root) + np.cbrt(2.0 * y / 3.0 - root))
