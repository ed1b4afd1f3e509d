"""How sure a comparison of gradients is: an interval of the ratio, a test of the shift."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from structrl_ros.errors import ParameterError
from structrl_ros.types import Float64

#: Resamples of the interval, and sign flips of the test.
RESAMPLES = 2000


def ratio_interval(
    full: ArrayLike, cut: ArrayLike, *, confidence: float = 0.95, seed: int = 0
) -> tuple[float, float]:
    """Return the bootstrap interval, over groups, of a ratio of traces of covariances.

    A trace is the mean squared distance of the groups from their mean; groups are resampled with
    both their distances, so that what the estimators share is kept. The means are not resampled:
    with n groups that makes the interval narrower by about 1 / n of its width.

    Args:
        full: With full feedback, one row a group, shape (n, D), n >= 2.
        cut: With cut feedback, of the same groups in their order, shape (n, D).
        confidence: Two-sided level, in (0, 1).
        seed: Of the resamples.

    Raises:
        ParameterError: If the shapes differ, there are fewer than two groups, or full feedback
            has no variance.
    """
    whole, part = _pair(full, cut)
    below = ((whole - whole.mean(axis=0)) ** 2).sum(axis=1)
    above = ((part - part.mean(axis=0)) ** 2).sum(axis=1)
    if not below.any():
        raise ParameterError('full feedback: every group has the same gradient')
    if not 0.0 < confidence < 1.0:
        raise ParameterError(f'confidence {confidence}; allowed: between 0 and 1')
    drawn = np.random.default_rng(seed).integers(0, len(below), (RESAMPLES, len(below)))
    sums = below[drawn].sum(axis=1)
    ratios = above[drawn].sum(axis=1)[sums > 0.0] / sums[sums > 0.0]
    tail = 50.0 * (1.0 - confidence)
    low, high = np.percentile(ratios, [tail, 100.0 - tail])
    return float(low), float(high)


def shift_p(full: ArrayLike, cut: ArrayLike, *, seed: int = 0) -> float:
    """Return the p that the means are the same, by flipping signs of the groups' differences.

    The statistic is the norm of the mean difference. Under the null hypothesis, and if differences
    are as likely as their negatives, every pattern of signs is as likely.

    Args:
        full: As for `ratio_interval`.
        cut: As for `ratio_interval`.
        seed: Of the signs.

    Raises:
        ParameterError: If the shapes differ, or there are fewer than two groups.
    """
    whole, part = _pair(full, cut)
    difference = part - whole
    products = difference @ difference.T
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], (RESAMPLES, len(products)))
    flipped = np.einsum('rn,nm,rm->r', signs, products, signs, optimize=True)
    found = float(products.sum())
    # A difference of 0 everywhere is as large as all of its flips.
    as_large = flipped >= found - 1e-12 * float(np.abs(products).sum())
    return float((as_large.sum() + 1) / (RESAMPLES + 1))


def squared_shift(full: ArrayLike, cut: ArrayLike) -> float:
    """Return an unbiased estimate of |d|^2, the squared distance of the means.

    The squared norm of the mean difference holds the noise of n groups, tr(C) / n, which is taken
    off; so the estimate may be negative where the shift is small.

    Args:
        full: As for `ratio_interval`.
        cut: As for `ratio_interval`.

    Raises:
        ParameterError: If the shapes differ, or there are fewer than two groups.
    """
    whole, part = _pair(full, cut)
    difference = part - whole
    noise = float(difference.var(axis=0, ddof=1).sum()) / len(difference)
    return float((difference.mean(axis=0) ** 2).sum()) - noise


def _pair(full: ArrayLike, cut: ArrayLike) -> tuple[Float64, Float64]:
    whole, part = np.asarray(full, dtype=np.float64), np.asarray(cut, dtype=np.float64)
    if whole.shape != part.shape or whole.ndim != 2 or len(whole) < 2:
        raise ParameterError(
            f'estimates of shapes {whole.shape} and {part.shape}; allowed: the same (n, D), n >= 2'
        )
    return whole, part
