"""Generalised advantage estimation, for one trace or for B environments at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from numpy.typing import NDArray

from structrl_ros.errors import ParameterError
from structrl_ros.types import Float64

Bool = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Advantages:
    """Advantages, and returns = advantages + values (the critic's targets), shape (T, ...)."""

    advantages: Float64
    returns: Float64


def estimate_advantages(
    rewards: ArrayLike,
    values: ArrayLike,
    *,
    terminated: ArrayLike,
    truncated: ArrayLike,
    bootstrap: ArrayLike,
    gamma: float,
    trace_decay: float,
) -> Advantages:
    """Return GAE(gamma, lambda) (Schulman et al. 2016, Eq. 16; StructRL Section 2).

    delta_t = r_t + gamma V(o'_t) - V(o_t), summed backwards with gamma * lambda. A terminated
    step has no bootstrap; a truncated one has, and the sum stops at both. Where both flags are
    set, terminated wins. `bootstrap` is the value of the *true* next observation of each step, so
    nothing of the next episode reaches a step before an auto-reset.

    Args:
        rewards: Shape (T,) or (T, B).
        values: V(o_t), same shape.
        terminated: Whether the step ended in a terminal state, same shape.
        truncated: Whether the step was the last one for another reason, same shape.
        bootstrap: V of the true next observation of each step, same shape; not read where
            terminated.
        gamma: Discount a step, in [0, 1].
        trace_decay: GAE's lambda, in [0, 1].

    Raises:
        ParameterError: If shapes differ, a value is not finite, or a factor is out of range.
    """
    numbers = {
        'rewards': np.asarray(rewards, dtype=np.float64),
        'values': np.asarray(values, dtype=np.float64),
        'bootstrap': np.asarray(bootstrap, dtype=np.float64),
    }
    flags = {
        'terminated': np.asarray(terminated, dtype=bool),
        'truncated': np.asarray(truncated, dtype=bool),
    }
    shape = numbers['rewards'].shape
    for field, array in {**numbers, **flags}.items():
        if array.shape != shape:
            raise ParameterError(
                f'{field}: shape must be that of rewards, {shape}, got {array.shape}'
            )
    for field, factor in (('gamma', gamma), ('lambda', trace_decay)):
        if not 0.0 <= factor <= 1.0:
            raise ParameterError(f'{field}: must be in [0, 1], got {factor}')
    decay = np.where(flags['terminated'] | flags['truncated'], 0.0, gamma * trace_decay)
    with np.errstate(all='ignore'):  # what is not finite is refused below
        deltas = np.where(flags['terminated'], 0.0, numbers['bootstrap'])
        deltas *= gamma
        deltas += numbers['rewards']
        deltas -= numbers['values']
        advantages = _sum_backwards(deltas, decay)
    if not np.isfinite(advantages).all():
        _refuse_what_is_not_finite(numbers, flags['terminated'])
    return Advantages(advantages, advantages + numbers['values'])


def _refuse_what_is_not_finite(numbers: dict[str, Float64], terminated: Bool) -> None:
    for field, array in numbers.items():
        counts = ~terminated if field == 'bootstrap' else np.ones_like(terminated)
        if not np.isfinite(array[counts]).all():
            raise ParameterError(f'{field}: every value that counts must be finite')


def _sum_backwards(deltas: Float64, decay: Float64) -> Float64:
    """Return x_t = deltas_t + decay_t * x_{t+1}.

    Many environments: a loop over time with two operations a step, each over all of them. One
    trace: plain floats, which give the same bits.
    """
    if deltas.ndim == 1:
        carry = 0.0
        sums = []
        for delta, factor in zip(deltas[::-1].tolist(), decay[::-1].tolist(), strict=True):
            carry = delta + factor * carry
            sums.append(carry)
        return np.array(sums[::-1], dtype=np.float64)
    following = np.zeros(deltas.shape[1:])
    for delta, factor in zip(deltas[::-1], decay[::-1], strict=True):
        np.multiply(factor, following, out=factor)
        delta += factor
        following = delta
    return deltas
