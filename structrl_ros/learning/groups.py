"""Group-relative advantages (GRPO, as StructRL Section 3.2.3 and MART-GRPO use them)."""

from __future__ import annotations

from collections.abc import Hashable
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from numpy.typing import NDArray

from structrl_ros.errors import ParameterError
from structrl_ros.types import Float64

Integers = NDArray[np.intp]

#: Added to the standard deviation.
EPSILON = 1e-6

#: Largest difference inside a group that still counts as no difference (rounding residue).
NO_SPREAD = 1e-9


@dataclass(frozen=True, slots=True)
class GroupAdvantages:
    """Advantages, shape (n,), and two masks that say why some are 0.

    `scored`: the return was no NaN. `informative`: scored, and its group has a spread; losses
    average over these, so that dead groups do not dilute the denominator.
    """

    advantages: Float64
    scored: NDArray[np.bool_]
    informative: NDArray[np.bool_]


def group_advantages(returns: ArrayLike, groups: Sequence[Hashable] | Integers) -> GroupAdvantages:
    """Return (R - mean) / (sample standard deviation + 1e-6) inside each group.

    A group with one scored member, or whose returns differ by at most 1e-9, gives 0. A return
    that could not be scored (NaN) is left out of its group and gets 0.

    Args:
        returns: Return of each rollout, shape (n,), NaN where it could not be scored.
        groups: Group of each rollout, length n, in any order; an integer array is fastest.

    Raises:
        ParameterError: If the lengths differ or a return is infinite.
    """
    values = np.asarray(returns, dtype=np.float64)
    if values.ndim != 1 or len(values) != len(groups):
        raise ParameterError(
            f'groups: must have one entry a return ({values.shape}), got {len(groups)}'
        )
    if np.isinf(values).any():
        raise ParameterError('returns: every value must be finite, or none')
    index = _group_numbers(groups)
    scored = ~np.isnan(values)
    size = int(index.max(initial=-1)) + 1
    inside, kept = index[scored], values[scored]
    count = np.bincount(inside, minlength=size)
    divisor = np.maximum(count, 1)
    mean = np.bincount(inside, kept, minlength=size) / divisor
    deviation = kept - mean[inside]
    mean_square = np.bincount(inside, deviation**2, minlength=size) / np.maximum(count - 1, 1)
    has_spread = (count > 1) & (_spread(inside, kept, size) > NO_SPREAD)
    advantages = np.zeros(len(values))
    scaled = deviation / (np.sqrt(mean_square)[inside] + EPSILON)
    advantages[scored] = np.where(has_spread[inside], scaled, 0.0)
    informative = np.zeros(len(values), dtype=bool)
    informative[scored] = has_spread[inside]
    return GroupAdvantages(advantages, scored, informative)


def _group_numbers(groups: Sequence[Hashable] | Integers) -> Integers:
    """Return a small number from 0 for each group."""
    if isinstance(groups, np.ndarray):
        if len(groups) and np.ptp(groups) < 4 * len(groups):
            return np.asarray(groups - groups.min(), dtype=np.intp)
        return np.unique(groups, return_inverse=True)[1]
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(group, len(numbers)) for group in groups], dtype=np.intp)


def _spread(inside: NDArray[np.intp], kept: Float64, size: int) -> Float64:
    highest, lowest = np.full(size, -np.inf), np.full(size, np.inf)
    np.maximum.at(highest, inside, kept)
    np.minimum.at(lowest, inside, kept)
    spread: Float64 = highest - lowest
    return spread


def normalise_advantages(advantages: ArrayLike, mask: ArrayLike) -> Float64:
    """Return advantages with mean 0 and sample standard deviation 1 over the valid entries.

    Args:
        advantages: Any shape; entries outside the mask may be NaN.
        mask: Which entries are valid, same shape.

    Returns:
        Normalised advantages, same shape; 0 outside the mask, and everywhere if fewer than two
        entries are valid or they differ by at most 1e-9.

    Raises:
        ParameterError: If the shapes differ or a valid entry is not finite.
    """
    values, valid = np.asarray(advantages, dtype=np.float64), np.asarray(mask, dtype=bool)
    if values.shape != valid.shape:
        raise ParameterError(f'mask: shape must be {values.shape}, got {valid.shape}')
    kept = values[valid]
    if not np.isfinite(kept).all():
        raise ParameterError('advantages: every valid value must be finite')
    normalised = np.zeros(values.shape)
    if len(kept) > 1 and np.ptp(kept) > NO_SPREAD:
        normalised[valid] = (kept - kept.mean()) / (kept.std(ddof=1) + EPSILON)
    return normalised
