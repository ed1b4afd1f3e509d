"""Queries as tensors: one row a query, images as uint8, everything that is missing masked."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import fields

import numpy as np
import torch
from torch import Tensor

from structrl_ros.errors import ParameterError
from structrl_ros.models.grm.config import GrmConfig
from structrl_ros.progress.answers import check_query
from structrl_ros.progress.context import Query
from structrl_ros.progress.strip import Panels

_WORD = re.compile(r'[a-z]+')


@dataclass(frozen=True, slots=True)
class GrmInput:
    """B queries.

    Attributes:
        views: Start, goal, before, after, shape (B, 4, 3 slots, S, S, 3), uint8.
        view_mask: Which are there, shape (B, 4, 3), bool.
        cells: Cells of the panels before, then between, shape (B, C, P, P, 3), uint8.
        cell_mask: Which show a frame, shape (B, C), bool.
        words: Hashed words of the instruction, 0 is none, shape (B, W), int64.
    """

    views: Tensor
    view_mask: Tensor
    cells: Tensor
    cell_mask: Tensor
    words: Tensor

    def to(self, device: torch.device | str) -> GrmInput:
        """Return the input on another device."""
        return GrmInput(*(getattr(self, f.name).to(device) for f in fields(self)))


def make_input(config: GrmConfig, queries: Sequence[Query], instruction: str) -> GrmInput:
    """Return the tensors of queries about one instruction.

    Anchors show what `static8` shows: the first view that there is of start and goal.

    Raises:
        ParameterError: If there is no query, or views or panels are not of the model's layout.
    """
    if not queries:
        raise ParameterError('0 queries; allowed: 1 and more')
    rows = [query_arrays(config, query) for query in queries]
    views, view_mask, cells, cell_mask = (np.stack(part) for part in zip(*rows, strict=True))
    words = hash_words(config, instruction)
    return GrmInput(
        torch.from_numpy(views),
        torch.from_numpy(view_mask),
        torch.from_numpy(cells),
        torch.from_numpy(cell_mask),
        torch.tensor([words] * len(queries)),
    )


def hash_words(config: GrmConfig, instruction: str) -> list[int]:
    """Return the numbers of the instruction's words, 1 to V - 1, padded with 0 to W.

    A hash that is the same in every process; words beyond W are left out.
    """
    found = [
        1 + zlib.crc32(word.encode()) % (config.vocabulary - 1)
        for word in _WORD.findall(instruction.lower())
    ]
    return (found + [0] * config.words)[: config.words]


def query_arrays(
    config: GrmConfig, query: Query
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return views, view mask, cells and cell mask of one query, shaped as a row of `GrmInput`.

    Raises:
        ParameterError: If views or panels are not of the model's layout.
    """
    check_query(query, config.layout, config.view_px)
    parts = [query.start, query.goal, query.before, query.after]
    there = next(part for part in parts if part is not None)
    blank = np.zeros_like(there.images)
    none = np.zeros(len(there.available), dtype=np.bool_)
    images = np.stack([blank if part is None else part.images for part in parts])
    masks = np.stack([none if part is None else part.available for part in parts])
    masks[:2] = [_first_alone(mask) for mask in masks[:2]]
    pre, between = _cells(config, query.pre), _cells(config, query.between)
    cells = np.concatenate([pre[0], between[0]])
    filled = np.concatenate([pre[1], between[1]])
    return images, masks, cells, filled


def _first_alone(mask: np.ndarray) -> np.ndarray:
    alone = np.zeros_like(mask)
    alone[int(np.argmax(mask))] = mask.any()
    return alone


def _cells(config: GrmConfig, panels: Panels) -> tuple[np.ndarray, np.ndarray]:
    count, grid, px = len(panels.images), config.grid, config.cell_px
    cells = panels.images.reshape(count, grid, px, grid, px, 3).swapaxes(2, 3)
    return cells.reshape(-1, px, px, 3), panels.filled.reshape(-1)
