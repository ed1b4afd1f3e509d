"""Random shifts and gains of images, so that a GRM learns of few episodes what carries over."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from structrl_ros.models.grm.distinct import DistinctInput


def augment(
    inputs: DistinctInput, rng: np.random.Generator, *, shift_px: int, brightness: float
) -> DistinctInput:
    """Return queries whose images are shifted and brightened, each by a draw of its own.

    Args:
        inputs: Queries; they stay as they are.
        rng: Of the draws.
        shift_px: Largest shift of a view, pixels; edges are repeated. Cells shift in proportion.
        brightness: Largest gain over and under 1.
    """
    cell_shift = round(shift_px * inputs.cells.shape[1] / inputs.views.shape[1])
    return replace(
        inputs,
        views=_change(inputs.views, rng, shift_px, brightness),
        cells=_change(inputs.cells, rng, cell_shift, brightness),
    )


def _change(images: Tensor, rng: np.random.Generator, shift: int, brightness: float) -> Tensor:
    pictures = images.numpy()
    count, size = pictures.shape[:2]
    if shift:
        edges = ((0, 0), (shift, shift), (shift, shift), (0, 0))
        padded = np.pad(pictures, edges, mode='edge')
        starts = rng.integers(0, 2 * shift + 1, (count, 2))
        crops = [padded[n, y : y + size, x : x + size] for n, (y, x) in enumerate(starts)]
        pictures = np.stack(crops) if crops else pictures
    if brightness:
        gains = rng.uniform(1.0 - brightness, 1.0 + brightness, (count, 1, 1, 1))
        scaled = np.rint(pictures * gains.astype(np.float32))
        pictures = np.minimum(scaled, 255.0).astype(np.uint8)
    return torch.from_numpy(pictures)
