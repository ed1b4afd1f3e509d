"""Monte Carlo returns with a bootstrap at truncations."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from structrl_ros.learning.gae import estimate_advantages
from structrl_ros.types import Float64


def returns_to_go(
    rewards: ArrayLike,
    *,
    terminated: ArrayLike,
    truncated: ArrayLike,
    bootstrap: ArrayLike,
    gamma: float,
) -> Float64:
    """Return the discounted sum of rewards from each step on.

    A truncated episode goes on beyond its last step: gamma times the value of its true last
    observation stands for the rest. This is GAE with lambda 1 and values 0, in which only the
    steps at a truncation (and the last step of the batch) bootstrap.

    Args:
        rewards: Shape (T,) or (T, B).
        terminated: Whether the step ended in a terminal state, same shape.
        truncated: Whether the step was the last one for another reason, same shape.
        bootstrap: V of the true next observation, same shape; read at truncations and in the
            last row alone.
        gamma: Discount a step, in [0, 1].

    Raises:
        ParameterError: If shapes differ, a value is not finite, or gamma is out of range.
    """
    flags = np.array(truncated, dtype=bool)
    if flags.ndim and len(flags):
        flags[-1] = True
    tails = np.where(flags, np.asarray(bootstrap, dtype=np.float64), 0.0)
    estimate = estimate_advantages(
        rewards,
        np.zeros(np.shape(rewards)),
        terminated=terminated,
        truncated=flags,
        bootstrap=tails,
        gamma=gamma,
        trace_decay=1.0,
    )
    return estimate.advantages
