"""Executed actions of two bags, dimension by dimension."""

from __future__ import annotations

import numpy as np

from structrl_ros.recording.mismatch_entry import Mismatch
from structrl_ros.recording.mismatch_entry import compare_distance
from structrl_ros.recording.mismatch_entry import compare_samples
from structrl_ros.recording.mismatch_entry import compare_shares
from structrl_ros.recording.mismatch_signals import Signals
from structrl_ros.types import Float64

#: Entries of `ee_delta_pose`.
POSE_NAMES = ('x', 'y', 'z', 'turn x', 'turn y', 'turn z', 'gripper')
#: From this absolute value on an entry is at its limit.
SATURATED = 0.999
#: Distance between distributions, and difference of shares, that are worth a look.
TOLERANCE = 0.05
SHARE_TOLERANCE = 0.05

_REMEDY = (
    'normalisation and action scale of the checkpoint, units and frame of the actions, limits of '
    'the arm; a policy that sees something else acts otherwise: look at the pictures first'
)
_LIMITS = 'action scale of the checkpoint, limits of the arm and of the action limiter'


def dimension_names(count: int) -> tuple[str, ...]:
    """Return names of the entries of an action."""
    return POSE_NAMES if count == len(POSE_NAMES) else tuple(str(i) for i in range(count))


def compare_actions(sim: Signals, real: Signals) -> list[Mismatch]:
    """Return for each dimension the distance of its distribution and the share at its limit.

    The distance is Wasserstein's of order one, in units of the action. `details` hold means,
    ranges, standard deviations and shares at the limit. The gripper is a switch, always at its
    limit, so it has no line of its own for that.
    """
    ours, theirs = sim.actions(), real.actions()
    if not len(ours) or not len(theirs) or ours.shape[1] != theirs.shape[1]:
        return []
    lines: list[Mismatch] = []
    for index, name in enumerate(dimension_names(ours.shape[1])):
        lines += _compare(name, ours[:, index], theirs[:, index])
    return lines


def _compare(name: str, sim: Float64, real: Float64) -> list[Mismatch]:
    from scipy.stats import wasserstein_distance

    line = compare_samples('action', f'action {name}', '1', sim, real, TOLERANCE, _REMEDY)
    distance = compare_distance(line, float(wasserstein_distance(sim, real)))
    limits = _at_limit(sim), _at_limit(real)
    for key, figures in (
        ('mean', (sim.mean(), real.mean())),
        ('standard deviation', (sim.std(), real.std())),
        ('lowest', (sim.min(), real.min())),
        ('highest', (sim.max(), real.max())),
        ('share at the limit', (limits[0] / len(sim), limits[1] / len(real))),
    ):
        distance = distance.with_detail(key, float(figures[0]), float(figures[1]))
    if name == 'gripper':
        return [distance]
    counts = (limits[0], len(sim)), (limits[1], len(real))
    share = compare_shares(
        'action', f'action {name} at its limit', *counts, SHARE_TOLERANCE, _LIMITS
    )
    return [distance, share]


def _at_limit(values: Float64) -> int:
    return int((np.abs(values) >= SATURATED).sum())
