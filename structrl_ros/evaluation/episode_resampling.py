"""Bootstrap over whole episodes: what stems from one episode is drawn together or not at all."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from numpy.typing import NDArray

from structrl_ros.errors import ParameterError
from structrl_ros.evaluation.paired import RESAMPLES
from structrl_ros.types import Float64


def episode_weights(episodes: Sequence[str], rng: np.random.Generator) -> Float64:
    """Return how often each entry is in each resample of whole episodes, (RESAMPLES, n).

    Edited descendants of one source are not independent: a resample takes an episode with all its
    entries.

    Args:
        episodes: Name of the episode of each entry, length n.
        rng: Of the draws.

    Raises:
        ParameterError: If there is no entry.
    """
    places, draws = _draw(episodes, rng)
    return draws[:, places]


def episode_interval(
    values: ArrayLike, episodes: Sequence[str], *, seed: int = 0
) -> tuple[float, float]:
    """Return the 95 % percentile bootstrap interval of a mean over entries of episodes.

    Args:
        values: One an entry, shape (n,).
        episodes: Name of the episode of each, length n.
        seed: Of the draws.

    Raises:
        ParameterError: If there is no entry.
    """
    places, draws = _draw(episodes, np.random.default_rng(seed))
    sums = np.bincount(places, weights=np.asarray(values, dtype=np.float64))
    return percentile_interval((draws @ sums) / (draws @ np.bincount(places)))


def percentile_interval(resampled: Float64) -> tuple[float, float]:
    """Return the 2.5 % and the 97.5 % quantile of a number over its resamples, shape (R,)."""
    low, high = np.quantile(resampled, [0.025, 0.975])
    return float(low), float(high)


def _draw(episodes: Sequence[str], rng: np.random.Generator) -> tuple[NDArray[np.intp], Float64]:
    """Return the number of each entry's episode (n,), and how often each is drawn, (R, E)."""
    if not len(episodes):
        raise ParameterError('0 entries to resample; allowed: 1 and more')
    numbers = {name: i for i, name in enumerate(dict.fromkeys(episodes))}
    places = np.array([numbers[name] for name in episodes], dtype=np.intp)
    share = np.full(len(numbers), 1.0 / len(numbers))
    draws = rng.multinomial(len(numbers), share, size=RESAMPLES)
    return places, draws.astype(np.float64)
