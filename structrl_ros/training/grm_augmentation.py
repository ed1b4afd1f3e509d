"""What a GRM's queries are changed by in training, so that few episodes teach what carries over.

Images are shifted and brightened; some queries lose their wrist cameras, as an arm without one
asks, and some their panels, as the backward query of Eq. 13 has none.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from structrl_ros.models.grm.distinct import DistinctInput
from structrl_ros.training.picture_shift import shifted


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


def leave_out(
    inputs: DistinctInput, rng: np.random.Generator, *, wrists: float, panels: float
) -> DistinctInput:
    """Return queries of which some are without wrist views, and some without panels.

    Args:
        inputs: Queries; they stay as they are.
        rng: Of the draws.
        wrists: Share of queries without wrist views; those without a head view keep theirs.
        panels: Share of queries without panels.
    """
    count = len(inputs.words)
    blind = torch.from_numpy(rng.random(count) < wrists)
    forgetful = torch.from_numpy(rng.random(count) < panels)
    has_head = inputs.view_index[:, :, :1] >= 0
    is_wrist = torch.arange(inputs.view_index.shape[2]) > 0
    return replace(
        inputs,
        view_index=inputs.view_index.masked_fill(blind[:, None, None] & has_head & is_wrist, -1),
        cell_index=inputs.cell_index.masked_fill(forgetful[:, None], -1),
    )


def _change(images: Tensor, rng: np.random.Generator, shift: int, brightness: float) -> Tensor:
    pictures = shifted(images.numpy(), rng, shift)
    if brightness:
        gains = rng.uniform(1.0 - brightness, 1.0 + brightness, (len(pictures), 1, 1, 1))
        scaled = np.rint(pictures * gains.astype(np.float32))
        pictures = np.minimum(scaled, 255.0).astype(np.uint8)
    return torch.from_numpy(pictures)
