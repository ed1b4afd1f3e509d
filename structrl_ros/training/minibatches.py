"""Minibatches of nearly equal size, in an order that is drawn."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor


def minibatches(count: int, size: int, random: np.random.Generator) -> Iterator[Tensor]:
    """Yield the numbers 0 ... count - 1 in a drawn order, in parts of at most `size`.

    The parts differ by at most one row: a short last one would be a noisy step.
    """
    order = random.permutation(count)
    for part in np.array_split(order, max(1, -(-count // size))):
        yield torch.from_numpy(part)
