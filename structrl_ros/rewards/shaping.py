"""Potential-based shaping with the GRM's potential (Robo-Dopamine 2.0, Eq. 18)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from structrl_ros.errors import ParameterError
from structrl_ros.types import Float64


def shaping_term(
    potential: ArrayLike, next_potential: ArrayLike, *, gamma: float, terminated: ArrayLike
) -> Float64:
    """Return gamma * Phi(s') - Phi(s), with Phi(s') = 0 where the episode terminated.

    Robo-Dopamine 2.0, Eq. 18. A truncation is no terminal state: it keeps its potential.

    Args:
        potential: Phi(s_t), any shape.
        next_potential: Phi(s_{t+1}) of the true next observation, same shape.
        gamma: Discount of the policy optimisation, in (0, 1].
        terminated: Whether the step ended in a terminal state, same shape.

    Raises:
        ParameterError: If gamma is out of range.
    """
    if not 0.0 < gamma <= 1.0:
        raise ParameterError(f'gamma: must be in (0, 1], got {gamma}')
    following = np.where(terminated, 0.0, np.asarray(next_potential, dtype=np.float64))
    term: Float64 = gamma * following - np.asarray(potential, dtype=np.float64)
    return term


def shape_rewards(
    task_rewards: ArrayLike, potential: ArrayLike, *, gamma: float, terminal: ArrayLike
) -> Float64:
    """Return r_t + gamma * Phi_{t+1} - Phi_t for whole episodes (Robo-Dopamine 2.0, Eq. 18).

    Args:
        task_rewards: Rewards of the task, shape (T,) or (T, B).
        potential: Potential Phi_0 ... Phi_T, shape (T + 1,) or (T + 1, B).
        gamma: Discount, in (0, 1].
        terminal: Whether the last step is terminal (False: truncated), a bool or shape (B,).

    Returns:
        Shaped rewards, same shape as `task_rewards`.

    Raises:
        ParameterError: If the lengths do not fit, a value is not finite, or gamma is wrong.
    """
    rewards = np.asarray(task_rewards, dtype=np.float64)
    phi = np.asarray(potential, dtype=np.float64)
    if phi.shape != (rewards.shape[0] + 1, *rewards.shape[1:]):
        raise ParameterError(
            f'potential: must have one entry more than task_rewards {rewards.shape}, '
            f'got {phi.shape}'
        )
    for field, array in (('task_rewards', rewards), ('potential', phi)):
        if not np.isfinite(array).all():
            raise ParameterError(f'{field}: every value must be finite')
    terminated = np.zeros(rewards.shape, dtype=bool)
    if len(rewards):
        terminated[-1] = terminal
    return rewards + shaping_term(phi[:-1], phi[1:], gamma=gamma, terminated=terminated)
