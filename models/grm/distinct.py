"""Queries as tensors in which each image stands once: what training and online queries share.

Queries of one episode have anchors, endpoints and cells in common; encoding each distinct image
once saves a third of a training step (docs/grm.md), and answers the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import fields

import numpy as np
import torch
from torch import Tensor

from structrl_ros.errors import ParameterError
from structrl_ros.models.grm.config import GrmConfig
from structrl_ros.models.grm.inputs import hash_words
from structrl_ros.models.grm.inputs import query_arrays
from structrl_ros.progress.context import Query


@dataclass(frozen=True, slots=True)
class DistinctInput:
    """B queries about N distinct images and M distinct cells.

    Attributes:
        views: Images, shape (N, S, S, 3), uint8.
        view_index: Of start, goal, before, after in three slots, -1 where there is none, shape
            (B, 4, 3), int64.
        cells: Cells, shape (M, P, P, 3), uint8.
        cell_index: Of the panels before, then between, -1 is empty, shape (B, C), int64.
        words: Hashed words of each instruction, 0 is none, shape (B, W), int64.
    """

    views: Tensor
    view_index: Tensor
    cells: Tensor
    cell_index: Tensor
    words: Tensor

    def to(self, device: torch.device | str) -> DistinctInput:
        """Return the input on another device."""
        return DistinctInput(*(getattr(self, f.name).to(device) for f in fields(self)))


def make_distinct(
    config: GrmConfig, queries: Sequence[Query], instructions: Sequence[str]
) -> DistinctInput:
    """Return the tensors of queries, one instruction each.

    Raises:
        ParameterError: If there is no query, instructions are of another number, or views or
            panels are not of the model's layout.
    """
    if not queries or len(instructions) != len(queries):
        raise ParameterError(
            f'{len(queries)} queries, {len(instructions)} instructions; allowed: 1 and more, '
            'as many of both'
        )
    views, cells = _Collection(config.view_px), _Collection(config.cell_px)
    view_index = np.full((len(queries), 4, 3), -1)
    cell_index = np.full((len(queries), config.cells), -1)
    for row, query in enumerate(queries):
        images, there, panels, filled = query_arrays(config, query)
        view_index[row][there] = [views.add(image) for image in images[there]]
        cell_index[row][filled] = [cells.add(cell) for cell in panels[filled]]
    return DistinctInput(
        views.tensor(),
        torch.from_numpy(view_index),
        cells.tensor(),
        torch.from_numpy(cell_index),
        torch.tensor([hash_words(config, instruction) for instruction in instructions]),
    )


class _Collection:
    """Distinct images in the order in which they came."""

    def __init__(self, size_px: int) -> None:
        self._size_px = size_px
        self._numbers: dict[bytes, int] = {}

    def add(self, image: np.ndarray) -> int:
        """Return the number of an image."""
        return self._numbers.setdefault(image.tobytes(), len(self._numbers))

    def tensor(self) -> Tensor:
        """Return the images, shape (N, S, S, 3), uint8."""
        shape = (-1, self._size_px, self._size_px, 3)
        data = bytearray(b''.join(self._numbers))
        return torch.from_numpy(np.frombuffer(data, np.uint8).reshape(shape))
