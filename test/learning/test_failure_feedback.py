"""Uniform scaling, random prefixes, and the account of what feedback was kept."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structrl_ros.errors import ParameterError
from structrl_ros.learning.failure_feedback import FeedbackTally
from structrl_ros.learning.failure_feedback import draw_boundaries
from structrl_ros.learning.failure_feedback import failure_mass
from structrl_ros.learning.failure_feedback import scale_failures
from structrl_ros.learning.failure_feedback import tally_of_document
from structrl_ros.learning.truncation import truncate_failures

ADVANTAGES = [1.5, -0.5, -1.0]
SUCCESS = [True, False, False]
CHUNKS = [1, 2, 4]


def test_scaling_leaves_successes_and_denominators_as_they_are():
    kept = scale_failures(ADVANTAGES, SUCCESS, CHUNKS, 0.25)
    assert kept.rows() == [[1.5], [-0.0625] * 2, [-0.0625] * 4]
    assert kept.retained_negative_mass == 0.25


def test_scaling_where_nothing_failed_keeps_all():
    kept = scale_failures([0.5, -0.5], [True, True], [2, 2], 0.25)
    assert kept.rows() == [[0.25, 0.25], [-0.25, -0.25]]
    assert kept.retained_negative_mass == 1.0


@pytest.mark.parametrize('scale', [-0.1, 1.1, float('nan')])
def test_a_scale_outside_its_range_is_refused(scale):
    with pytest.raises(ParameterError, match=r'must be in \[0, 1\]'):
        scale_failures(ADVANTAGES, SUCCESS, CHUNKS, scale)


@given(st.integers(0, 2**32 - 1))
def test_random_prefixes_are_observed_ones_cut_to_the_rollout(seed):
    random = np.random.default_rng(seed)
    drawn = draw_boundaries(random, {3: 2, 9: 1}, SUCCESS, CHUNKS)
    assert drawn[0] is None
    assert drawn[1] == 2
    assert drawn[2] in (3, 4)


def test_prefixes_are_drawn_as_often_as_they_were_observed():
    random = np.random.default_rng(0)
    drawn = draw_boundaries(random, {1: 30, 7: 10}, [False] * 4000, [9] * 4000)
    assert drawn.count(1) / 4000 == pytest.approx(0.75, abs=0.03)
    assert set(drawn) == {1, 7}


def test_prefixes_without_any_observed_are_refused():
    with pytest.raises(ParameterError, match='at least one'):
        draw_boundaries(np.random.default_rng(0), {}, SUCCESS, CHUNKS)


def account(boundaries, reasons):
    tally = FeedbackTally()
    kept = truncate_failures(ADVANTAGES, SUCCESS, CHUNKS, boundaries)
    tally.add(np.array(ADVANTAGES), SUCCESS, kept, boundaries, reasons)
    return tally


def test_account_of_an_update_by_hand():
    tally = account([None, None, 1], ['', 'no specific error', ''])
    assert (tally.failures, tally.shortened) == (2, 1)
    assert tally.fallbacks == {'no specific error': 1}
    assert tally.boundaries == {2: 1, 1: 1}
    assert tally.mass_before == pytest.approx(1.5)
    assert tally.mass_after == pytest.approx(0.5 + 0.25)
    assert tally.retained == pytest.approx(0.5)


def test_a_boundary_beyond_the_end_shortens_nothing():
    tally = account([None, 7, 4], ['', '', ''])
    assert (tally.shortened, tally.retained) == (0, 1.0)
    assert tally.boundaries == {2: 1, 4: 1}


def test_pooled_mass_weighs_updates_by_their_mass_not_alike():
    pooled = account([None, None, 1], ['', '', ''])
    quiet = FeedbackTally(failures=1, mass_before=8.5, mass_after=8.5, boundaries={4: 1})
    pooled.merge(quiet)
    assert pooled.retained == pytest.approx((0.75 + 8.5) / 10)
    assert pooled.boundaries == {2: 1, 1: 1, 4: 1}
    assert FeedbackTally().retained == 1.0


def test_an_account_comes_back_from_its_document():
    tally = account([None, 1, 2], ['', '', ''])
    assert tally_of_document(tally.document()) == tally
    with pytest.raises(ParameterError, match='account of feedback'):
        tally_of_document({'failures': 1})


def test_mass_of_failures_that_did_better_than_their_group_is_none():
    assert failure_mass([0.5, -0.5], [False, True]) == 0.0
