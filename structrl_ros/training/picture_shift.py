"""Pictures that are shifted by some pixels, so that few episodes teach what carries over."""

from __future__ import annotations

import numpy as np

from structrl_ros.types import UInt8


def shifted(pictures: UInt8, rng: np.random.Generator, shift: int) -> UInt8:
    """Return pictures, shape (N, H, W, C), each shifted by a draw of its own.

    Args:
        pictures: They stay as they are.
        rng: Of the draws; 0 pixels draw nothing.
        shift: Largest shift, pixels; edges are repeated.
    """
    if not shift or not len(pictures):
        return pictures
    count, height, width = pictures.shape[:3]
    padded = np.pad(pictures, ((0, 0), (shift,) * 2, (shift,) * 2, (0, 0)), 'edge')
    starts = rng.integers(0, 2 * shift + 1, (count, 2))
    return np.stack([padded[n, y : y + height, x : x + width] for n, (y, x) in enumerate(starts)])
