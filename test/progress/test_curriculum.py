"""Claims of pairs and of the Signed-Hop Curriculum: families, quotas, pools, stages."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structrl_ros.errors import ParameterError
from structrl_ros.progress.curriculum import CONTROLS
from structrl_ros.progress.curriculum import split_pools
from structrl_ros.progress.curriculum import stages
from structrl_ros.progress.pairs import QUOTAS
from structrl_ros.progress.pairs import Branch
from structrl_ros.progress.pairs import Family
from structrl_ros.progress.pairs import State
from structrl_ros.progress.pairs import Trajectory
from structrl_ros.progress.pairs import labels_of
from structrl_ros.progress.pairs import make_pair
from structrl_ros.progress.pairs import sample_pairs

EDITS = {'wrong': (Branch.NEGATIVE, range(4, 11)), 'dark': (Branch.ROBUST, range(11))}
FULL = Trajectory('one', 11, EDITS)
PLAIN = Trajectory('two', 21)


def sample(count=2000, seed=0, trajectories=(FULL, PLAIN)):
    return sample_pairs(list(trajectories), count, np.random.default_rng(seed))


@pytest.mark.parametrize(
    ('before', 'after', 'family', 'hop'),
    [
        (State(2), State(6), Family.PROGRESS, 0.5),
        (State(6), State(3), Family.REGRESS, -0.5),
        (State(0), State(4), Family.START_ANCHORED, 0.4),
        (State(10), State(4), Family.GOAL_ANCHORED, -0.6),
        (State(5), State(5, Branch.ROBUST, 'dark'), Family.INVARIANCE, 0.0),
        (State(2, Branch.ROBUST, 'dark'), State(6), Family.ROBUST, 0.5),
        (State(5), State(5, Branch.NEGATIVE, 'wrong'), Family.FAILURE, -1.0 / 1.5),
        (State(5, Branch.NEGATIVE, 'wrong'), State(5), Family.RECOVERY, 1.0 / 1.5),
        (
            State(5, Branch.NEGATIVE, 'wrong'),
            State(8, Branch.NEGATIVE, 'wrong'),
            Family.WITHIN_FAILURE,
            -0.6,
        ),
    ],
)
def test_pair_has_its_family_and_the_hop_by_hand(before, after, family, hop):
    pair = make_pair(FULL, before, after)
    assert pair.family is family
    assert pair.hop == pytest.approx(hop, abs=1e-12)


def test_negative_state_at_the_start_is_refused():
    with pytest.raises(ParameterError, match=r'negative state at frame 0'):
        make_pair(FULL, State(0, Branch.NEGATIVE, 'wrong'), State(3))
    with pytest.raises(ParameterError, match='frame 11 of 11'):
        make_pair(FULL, State(11), State(3))


def test_families_get_their_quota_and_edits_stay_in_their_frames():
    pairs = sample(2000)
    assert len(pairs) == 2000
    counts = Counter(pair.family for pair in pairs)
    for family, share in QUOTAS.items():
        assert abs(counts[family] - 2000 * share) <= 1, family
    for pair in pairs:
        for state in (pair.before, pair.after):
            assert (state.edit == '') == (state.branch is Branch.POSITIVE)
            if state.edit:
                branch, frames = EDITS[state.edit]
                assert pair.episode == 'one'
                assert branch is state.branch
                assert state.index in frames
    assert labels_of(pairs).tolist() == [100 * pair.hop for pair in pairs]
    assert all(abs(pair.hop) <= 1.0 for pair in pairs)
    assert sample(50, 3) == sample(50, 3)
    assert sample(50, 3) != sample(50, 4)


def test_families_that_cannot_be_had_give_their_share_to_the_others():
    pairs = sample(700, trajectories=(PLAIN,))
    counts = Counter(pair.family for pair in pairs)
    assert len(pairs) == 700
    assert set(counts) == {
        Family.PROGRESS,
        Family.REGRESS,
        Family.START_ANCHORED,
        Family.GOAL_ANCHORED,
    }
    assert counts[Family.PROGRESS] == pytest.approx(700 * 0.15 / 0.45, abs=1)


def test_quotas_and_trajectories_that_cannot_be_are_one_line():
    rng = np.random.default_rng(0)
    with pytest.raises(ParameterError, match=r'quotas sum to 0\.5; allowed: 1'):
        sample_pairs([PLAIN], 10, rng, {Family.PROGRESS: 0.5})
    with pytest.raises(ParameterError, match='no trajectory gives a pair'):
        sample_pairs([], 10, rng)


@given(st.integers(1, 200), st.floats(0.0, 1.0), st.integers(0, 5))
def test_pools_part_each_family_by_the_size_of_its_hops(count, share, seed):
    pairs = sample(count, seed)
    pools = split_pools(pairs, share)
    assert sorted([*pools.large, *pools.fine]) == list(range(count))
    for family in Family:
        large = [abs(pairs[i].hop) for i in pools.large if pairs[i].family is family]
        fine = [abs(pairs[i].hop) for i in pools.fine if pairs[i].family is family]
        total = len(large) + len(fine)
        assert share * total - 1e-6 <= len(large) < share * total + 1
        if large and fine:
            assert min(large) >= max(fine)


def members(stage, pools):
    return np.isin(stage, pools.large).mean()


def test_stages_are_those_of_the_paper():
    pools = split_pools(sample(2000))
    got = {c: stages(c, pools, 400, np.random.default_rng(1)) for c in CONTROLS}
    assert all(len(stage) == 400 for both in got.values() for stage in both)
    share = {c: tuple(float(members(s, pools)) for s in both) for c, both in got.items()}
    assert share['E4'] == (1.0, 0.25)
    assert share['E3'] == (1.0, 0.0)
    assert share['E2'] == (0.0, 1.0)
    assert sum(share['E1']) == pytest.approx(1.25)
    assert abs(share['E1'][0] - share['E1'][1]) < 0.15
    assert share['E0'] == pytest.approx((0.4, 0.4), abs=0.08)


def test_matched_pool_holds_the_examples_of_the_curriculum():
    pools = split_pools(sample(2000))
    ordered = np.concatenate(stages('E4', pools, 400, np.random.default_rng(1)))
    shuffled = np.concatenate(stages('E1', pools, 400, np.random.default_rng(1)))
    assert sorted(ordered) == sorted(shuffled)
    assert not np.array_equal(ordered, shuffled)


def test_pool_is_used_up_before_a_pair_comes_again():
    pools = split_pools(sample(100))
    first, _ = stages('E3', pools, 2 * len(pools.large), np.random.default_rng(0))
    assert set(Counter(first.tolist()).values()) == {2}


def test_unknown_control_and_empty_pool_are_one_line():
    pools = split_pools(sample(10), 0.0)
    with pytest.raises(ParameterError, match="control 'E5'; allowed: E0, E1, E2, E3, E4"):
        stages('E5', pools, 4, np.random.default_rng(0))
    with pytest.raises(ParameterError, match='a pool of pairs is empty'):
        stages('E4', pools, 4, np.random.default_rng(0))
