"""How well one row of success rates predicts another: Pearson, Spearman and MMRV, by rows.

Each function takes rates of shape (R, T), R resamples of T tasks, and gives one number a row, NaN
where a row does not define it.
"""

from __future__ import annotations

import numpy as np

from structrl_ros.types import Float64


def pearson(sim: Float64, real: Float64) -> Float64:
    """Return Pearson's correlation of each row, shape (R,); NaN where a side is constant."""
    a = sim - sim.mean(axis=1, keepdims=True)
    b = real - real.mean(axis=1, keepdims=True)
    spread = np.sqrt((a * a).sum(axis=1) * (b * b).sum(axis=1))
    constant = (np.ptp(sim, axis=1) == 0.0) | (np.ptp(real, axis=1) == 0.0)
    with np.errstate(invalid='ignore', divide='ignore'):
        found = (a * b).sum(axis=1) / spread
    return np.where(constant, np.nan, np.clip(found, -1.0, 1.0))


def spearman(sim: Float64, real: Float64) -> Float64:
    """Return Spearman's rank correlation of each row, shape (R,); ties share their mean rank."""
    from scipy.stats import rankdata

    return pearson(rankdata(sim, axis=1), rankdata(real, axis=1))


def mean_maximum_rank_violation(sim: Float64, real: Float64) -> Float64:
    """Return the MMRV of each row, shape (R,), in [0, 1]; 0 means that the order is kept.

    Li et al., "Evaluating Real-World Robot Manipulation Policies in Simulation" (SIMPLER), 2024,
    section on metrics: the mean over i of the largest |real_i - real_j| among the j with
    (sim_i < sim_j) != (real_i < real_j). The paper ranks policies on a task; here the rows may be
    tasks of a policy as well. Its released code compares by `>`, which differs on ties alone.
    """
    gap = np.abs(real[:, :, None] - real[:, None, :])
    violated = (sim[:, :, None] < sim[:, None, :]) != (real[:, :, None] < real[:, None, :])
    found: Float64 = np.where(violated, gap, 0.0).max(axis=2).mean(axis=1)
    return found
