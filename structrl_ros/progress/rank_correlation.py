"""Rank correlation with ties, in numpy alone (scipy.stats takes long to import)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from structrl_ros.types import Float64


def average_ranks(values: Float64) -> Float64:
    """Return ranks from 1, ties sharing their average, shape (n,); as scipy.stats.rankdata."""
    order = np.argsort(values, kind='stable')
    ordered = values[order]
    starts = np.empty(len(values) + 1, dtype=bool)
    starts[0] = starts[-1] = True
    np.not_equal(ordered[1:], ordered[:-1], out=starts[1:-1])
    edges = np.flatnonzero(starts)
    average = (edges[:-1] + edges[1:] + 1) / 2.0
    ranks = np.empty(len(values))
    ranks[order] = average[np.cumsum(starts[:-1]) - 1]
    return ranks


def spearman(first: ArrayLike, second: ArrayLike) -> float | None:
    """Return Spearman's correlation with average ranks, in [-1, 1].

    A constant side gives 0: it orders nothing. Fewer than two points or a value that is not
    finite gives None.
    """
    pair = _finite_pair(first, second)
    if pair is None:
        return None
    a, b = (average_ranks(side) - (len(side) + 1) / 2.0 for side in pair)
    spread = float(np.sqrt(np.dot(a, a) * np.dot(b, b)))
    return float(np.dot(a, b)) / spread if spread > 0.0 else 0.0


def _finite_pair(first: ArrayLike, second: ArrayLike) -> tuple[Float64, Float64] | None:
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if len(a) < 2 or len(a) != len(b) or not np.isfinite(a).all() or not np.isfinite(b).all():
        return None
    return a, b
