"""Two estimators of one gradient on the same groups: covariance, shift, and when a bias pays."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from structrl_ros.errors import ParameterError


@dataclass(frozen=True, slots=True)
class GradientComparison:
    """An estimator that cuts feedback beside the full one.

    Attributes:
        covariance_ratio: Trace of its covariance over that of full feedback.
        shift: Norm of the difference of the means.
        shift_errors: Root mean square, over the entries, of the mean difference in standard
            errors of its paired estimate; about 1 if there is no shift.
        break_even: n of `break_even`; infinite if no shift was measured.
    """

    covariance_ratio: float
    shift: float
    shift_errors: float
    break_even: float


def compare_gradients(full: ArrayLike, cut: ArrayLike) -> GradientComparison:
    """Compare estimates of the same groups.

    Args:
        full: With full feedback, one row a group, shape (n, D), n >= 2.
        cut: With cut feedback, of the same groups in their order, shape (n, D).

    Raises:
        ParameterError: If the shapes differ, or there are fewer than two groups.
    """
    whole, part = np.asarray(full, dtype=np.float64), np.asarray(cut, dtype=np.float64)
    if whole.shape != part.shape or whole.ndim != 2 or len(whole) < 2:
        raise ParameterError(
            f'estimates of shapes {whole.shape} and {part.shape}; allowed: the same (n, D), n >= 2'
        )
    trace_full = float(whole.var(axis=0, ddof=1).sum())
    trace_cut = float(part.var(axis=0, ddof=1).sum())
    difference = part - whole
    mean = difference.mean(axis=0)
    error = difference.std(axis=0, ddof=1) / math.sqrt(len(whole))
    told = error > 0.0
    squares = (mean[told] / error[told]) ** 2
    shift = float(np.linalg.norm(mean))
    return GradientComparison(
        covariance_ratio=trace_cut / trace_full if trace_full else 1.0,
        shift=shift,
        shift_errors=float(np.sqrt(squares.mean())) if told.any() else 0.0,
        break_even=break_even(trace_full - trace_cut, shift),
    )


def break_even(variance_drop: float, shift: float) -> float:
    """Return the groups a step below which a biased estimator has less error (Section B.9).

    The mean over n groups has the squared error V / n + |d|^2, so that the one with less variance
    and a fixed shift d is better if and only if n < (drop of V) / |d|^2.

    Args:
        variance_drop: Trace of the covariance that was lost, of one group; negative if it grew.
        shift: Norm |d|, >= 0.
    """
    if shift == 0.0:
        return math.inf if variance_drop > 0.0 else 0.0
    return max(variance_drop, 0.0) / shift**2
