"""The theory of MART-GRPO by exact enumeration: Appendix C, Propositions 1 to 4, Section B.9."""

import itertools
import math

import numpy as np
import pytest

from structrl_ros.errors import ParameterError
from structrl_ros.learning.gradient_comparison import break_even
from structrl_ros.learning.gradient_comparison import compare_gradients
from structrl_ros.learning.groups import group_advantages
from structrl_ros.learning.truncation import truncate_failures

HALF = 0.5


def moments(outcomes):
    """Return mean and variance of (probability, value) pairs."""
    mean = sum(p * v for p, v in outcomes)
    return mean, sum(p * (v - mean) ** 2 for p, v in outcomes)


def estimate(success, action, *, kept):
    """Return (R - 1/2) (a - 1/2), the estimator of Appendix C, of what is kept."""
    return (success - HALF) * (action - HALF) * kept


FAIR = [(0.25, success, action) for success in (0, 1) for action in (0, 1)]


def test_masking_failures_halves_the_variance_where_no_credit_is_left():
    full = [(p, estimate(s, a, kept=1)) for p, s, a in FAIR]
    masked = [(p, estimate(s, a, kept=s)) for p, s, a in FAIR]
    assert moments(full) == (0.0, 1 / 16)
    assert moments(masked) == (0.0, 1 / 32)


def test_a_boundary_that_knows_the_action_to_come_shifts_the_mean_by_a_sixteenth():
    masked = [(p, estimate(s, a, kept=not (s == 0 and a == 1))) for p, s, a in FAIR]
    removed = [(p, estimate(s, a, kept=1)) for p, s, a in FAIR if s == 0 and a == 1]
    assert removed == [(1 / 4, -1 / 4)]
    assert moments(masked)[0] == 1 / 16


def test_scenes_whose_shifts_cancel_hide_that_the_projection_fails():
    scenes = (1, 0)  # the action that succeeds there
    played = [(0.25, scene, action, int(action == scene)) for scene in scenes for action in (0, 1)]
    full = [(p, estimate(s, a, kept=1)) for p, _, a, s in played]
    masked = [(p, estimate(s, a, kept=s)) for p, _, a, s in played]
    assert (moments(full), moments(masked)) == ((0.0, 1 / 16), (0.0, 1 / 32))
    for scene, sign in ((1, 1), (0, -1)):
        lost = [estimate(s, a, kept=1) for _, x, a, s in played if x == scene and not s]
        assert lost == [sign / 4]  # the scene tells G; the masked estimator says 0


# An enumerable task: three binary actions, each with a chance of its own; success needs the first
# two to be 1. After a first 0, or a second, success is impossible: an ideal stop.
CHANCES = np.array([0.6, 0.3, 0.7])
PATHS = np.array(list(itertools.product((0, 1), repeat=3)))
WON = (PATHS[:, 0] == 1) & (PATHS[:, 1] == 1)
CHANCE = np.prod(np.where(PATHS == 1, CHANCES, 1 - CHANCES), axis=1)
SCORES = PATHS - CHANCES  # gradient of the log-chance of a Bernoulli logit, one parameter a step
EARLIEST = [None if w else (1 if path[0] == 0 else 2) for w, path in zip(WON, PATHS, strict=True)]
LATER = [None if w else max(b, 2) for w, b in zip(WON, EARLIEST, strict=True)]
WHOLE = [None] * len(PATHS)


def group_law(boundary, group_size=3):
    """Return mean, covariance of the group gradient over all groups, exactly.

    A group holds `group_size` independent paths; advantages are those of GRPO.
    """
    first, second = np.zeros(3), np.zeros((3, 3))
    for group in itertools.product(range(len(PATHS)), repeat=group_size):
        chosen = list(group)
        chance = float(np.prod(CHANCE[chosen]))
        scored = group_advantages(WON[chosen].astype(float), [0] * group_size)
        weights = truncate_failures(
            scored.advantages,
            WON[chosen].tolist(),
            [3] * group_size,
            [boundary[i] for i in chosen],
        ).weights
        gradient = (weights * SCORES[chosen]).sum(axis=0) / group_size
        first += chance * gradient
        second += chance * np.outer(gradient, gradient)
    return first, second - np.outer(first, first)


@pytest.fixture(scope='module')
def laws():
    return {
        name: group_law(b) for name, b in (('full', WHOLE), ('late', LATER), ('early', EARLIEST))
    }


def test_chances_of_the_paths_sum_to_one_and_some_succeed():
    assert CHANCE.sum() == pytest.approx(1.0)
    assert CHANCE[WON].sum() == pytest.approx(0.6 * 0.3)


def test_ideal_stops_keep_the_expected_group_gradient(laws):
    assert np.linalg.norm(laws['full'][0]) > 0.01
    assert laws['early'][0] == pytest.approx(laws['full'][0], abs=1e-12)
    assert laws['late'][0] == pytest.approx(laws['full'][0], abs=1e-12)


def is_at_most(small, large):
    return np.linalg.eigvalsh(large - small).min() >= -1e-12


def test_ideal_stops_do_not_raise_the_covariance_and_earlier_ones_have_no_more(laws):
    full, late, early = (laws[name][1] for name in ('full', 'late', 'early'))
    assert is_at_most(late, full)
    assert is_at_most(early, late)
    assert np.trace(early) < np.trace(late) < np.trace(full)


def test_a_boundary_that_looks_ahead_is_no_ideal_stop():
    ahead = [None if w else (2 if path[2] == 1 else 3) for w, path in zip(WON, PATHS, strict=True)]
    shift = group_law(ahead)[0] - group_law(WHOLE)[0]
    assert np.abs(shift[:2]).max() < 1e-12
    assert abs(shift[2]) > 0.01


@pytest.mark.parametrize('groups', [1, 3, 4, 5, 40])
def test_a_bias_pays_exactly_below_the_break_even(groups):
    drop, shift, variance = 0.9, 0.5, 2.0
    limit = break_even(drop, shift)
    assert limit == pytest.approx(3.6)
    error_full = variance / groups
    error_cut = (variance - drop) / groups + shift**2
    assert (error_cut < error_full) == (groups < limit)


def test_without_a_shift_any_drop_pays_and_a_rise_never():
    assert break_even(0.1, 0.0) == math.inf
    assert break_even(-0.1, 0.0) == 0.0
    assert break_even(-0.1, 2.0) == 0.0


def test_gradients_are_compared_by_hand():
    full = np.array([[2.0, 0.0], [-2.0, 0.0], [0.0, 2.0], [0.0, -2.0]])
    found = compare_gradients(full, full / 2)
    assert found.covariance_ratio == pytest.approx(0.25)
    assert (found.shift, found.shift_errors) == (0.0, 0.0)
    moved = compare_gradients(full, full / 2 + [3.0, 4.0])
    assert moved.shift == pytest.approx(5.0)
    assert moved.break_even == pytest.approx(0.75 * 16 / 3 / 25)


@pytest.mark.parametrize('shape', [(1, 2), (3, 2), (4,)])
def test_unequal_estimates_are_refused(shape):
    with pytest.raises(ParameterError, match='the same'):
        compare_gradients(np.zeros((4, 2) if shape != (1, 2) else shape), np.zeros(shape))
