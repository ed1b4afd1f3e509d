"""Statistics of a dataset: exact for numbers; for pictures over evenly spaced frames."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structrl_ros.types import UInt8

#: Most pictures of an episode that count.
PICTURES = 100
QUANTILES = {'q01': 0.01, 'q10': 0.10, 'q50': 0.50, 'q90': 0.90, 'q99': 0.99}

Statistics = dict[str, Any]


def number_statistics(values: NDArray[Any]) -> Statistics:
    """Return min, max, mean, std, count and quantiles of a column (T,) or (T, n), by entry."""
    rows = np.asarray(values, dtype=np.float64).reshape(len(values), -1)
    found: Statistics = {
        'min': rows.min(axis=0).tolist(),
        'max': rows.max(axis=0).tolist(),
        'mean': rows.mean(axis=0).tolist(),
        'std': rows.std(axis=0).tolist(),
        'count': [len(rows)],
    }
    levels = np.quantile(rows, list(QUANTILES.values()), axis=0)
    return found | {name: q.tolist() for name, q in zip(QUANTILES, levels, strict=True)}


def counted_frames(length: int) -> frozenset[int]:
    """Return which frames of an episode count in the statistics of its pictures."""
    return frozenset(np.linspace(0, length - 1, min(length, PICTURES)).round().astype(int))


class PictureHistogram:
    """How often each level of red, green and blue was seen: all statistics follow from it."""

    def __init__(self) -> None:
        """Begin empty."""
        self.counts = np.zeros((3, 256), dtype=np.int64)
        self.pictures = 0

    def see(self, pixels: UInt8) -> None:
        """Count an RGB picture (H, W, 3)."""
        for channel in range(3):
            self.counts[channel] += np.bincount(pixels[..., channel].ravel(), minlength=256)
        self.pictures += 1

    def add(self, other: PictureHistogram) -> None:
        """Add what another one saw."""
        self.counts += other.counts
        self.pictures += other.pictures

    def statistics(self) -> Statistics:
        """Return them by channel, nested (3, 1, 1), in [0, 1]; `count` is of pictures."""
        levels = np.arange(256) / 255.0
        total = self.counts.sum(axis=1)
        mean = self.counts @ levels / total
        variance = self.counts @ levels**2 / total - mean**2
        seen = self.counts > 0
        shares = self.counts.cumsum(axis=1) / total[:, None]
        found = {
            'min': levels[seen.argmax(axis=1)],
            'max': levels[255 - seen[:, ::-1].argmax(axis=1)],
            'mean': mean,
            'std': np.sqrt(np.maximum(variance, 0.0)),
            **{name: levels[(shares >= q).argmax(axis=1)] for name, q in QUANTILES.items()},
        }
        nested: Statistics = {n: v.reshape(3, 1, 1).tolist() for n, v in found.items()}
        return nested | {'count': [self.pictures]}


@dataclass
class DatasetStatistics:
    """Gathers the columns of all episodes."""

    _columns: dict[str, list[NDArray[Any]]] = field(default_factory=dict)
    _pictures: dict[str, PictureHistogram] = field(default_factory=dict)

    def see(
        self, columns: Mapping[str, NDArray[Any]], pictures: Mapping[str, PictureHistogram]
    ) -> dict[str, Statistics]:
        """Take in an episode and return its own statistics."""
        for key, values in columns.items():
            self._columns.setdefault(key, []).append(np.array(values))
        for key, histogram in pictures.items():
            self._pictures.setdefault(key, PictureHistogram()).add(histogram)
        found = {key: number_statistics(values) for key, values in columns.items()}
        return found | {key: h.statistics() for key, h in pictures.items()}

    def total(self) -> dict[str, Statistics]:
        """Return the statistics of all episodes, for `stats.json`."""
        found = {k: number_statistics(np.concatenate(v)) for k, v in self._columns.items()}
        return found | {key: h.statistics() for key, h in self._pictures.items()}
