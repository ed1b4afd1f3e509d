"""Conversion of learned progress to chunk rewards, as StructRL's baseline does (Eq. 5)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from structrl_ros.errors import ParameterError
from structrl_ros.types import Float64

#: Scale of the progress reward on LIBERO-Long (StructRL Appendix F), by backbone.
BETA_R = {'gr00t_n1.5': 0.07041, 'pi0.5': 0.04401}

#: Frames that Robometer sees at once (StructRL Appendix F).
HISTORY_FRAMES = 8


def robometer_rewards(
    progress: Sequence[float] | Float64,
    first_success: int | None,
    *,
    beta_r: float,
    lambda_c: float = 2.0,
) -> Float64:
    """Return one reward a chunk from progress predictions (StructRL Eq. 5).

    beta_r (p_k - 1) before success, beta_r p_k + lambda_c at the first success, 0 after.

    Args:
        progress: Predicted progress p_k, shape (M,), in [0, 1] but not clipped.
        first_success: Chunk (from 0) in which success was first seen, or None.
        beta_r: Scale of the progress term, see `BETA_R`.
        lambda_c: Terminal reward.

    Returns:
        Rewards, shape (M,).

    Raises:
        ParameterError: If a value is not finite or `first_success` is no chunk of the episode.
    """
    predicted = np.asarray(progress, dtype=np.float64)
    if not np.isfinite(predicted).all():
        raise ParameterError('progress: every value must be finite')
    for field, value in (('beta_r', beta_r), ('lambda_c', lambda_c)):
        if not math.isfinite(value):
            raise ParameterError(f'{field}: must be finite, got {value}')
    rewards: Float64 = beta_r * (predicted - 1.0)
    if first_success is None:
        return rewards
    if not 0 <= first_success < len(predicted):
        raise ParameterError(
            f'first_success: must be none or in 0..{len(predicted) - 1}, got {first_success}'
        )
    rewards[first_success] = beta_r * predicted[first_success] + lambda_c
    rewards[first_success + 1 :] = 0.0
    return rewards


def expected_progress(probabilities: Float64) -> Float64:
    """Return the expectation over Robometer's bins, which stand at 0, 1/9, ..., 1.

    Args:
        probabilities: Probability of each of the ten bins, shape (..., 10), each row sums to 1.

    Returns:
        Progress in [0, 1], shape (...).

    Raises:
        ParameterError: If a row does not hold ten probabilities that sum to 1.
    """
    rows = np.asarray(probabilities, dtype=np.float64)
    if rows.ndim == 0 or rows.shape[-1] != 10:
        raise ParameterError(f'probabilities: ten bins are needed, got shape {rows.shape}')
    if not ((rows >= 0.0).all() and np.allclose(rows.sum(axis=-1), 1.0, atol=1e-5)):
        raise ParameterError('probabilities: each row must be >= 0 and sum to 1')
    progress: Float64 = rows @ np.linspace(0.0, 1.0, 10)
    return progress


def history_indices(newest: int, frames: int = HISTORY_FRAMES) -> NDArray[np.intp]:
    """Return the frames of the causal history: round(linspace(0, t, frames)).

    StructRL Appendix F. Halves round to the even neighbour, as numpy does.

    Args:
        newest: Index t of the newest frame, >= 0.
        frames: How many frames the model takes.

    Returns:
        Indices in [0, t], ascending, shape (frames,); a short history repeats frames.

    Raises:
        ParameterError: If `newest` is negative or `frames` is not positive.
    """
    if newest < 0 or frames < 1:
        raise ParameterError(f'newest must be >= 0 and frames >= 1, got {newest} and {frames}')
    return np.rint(np.linspace(0.0, newest, frames)).astype(np.intp)
