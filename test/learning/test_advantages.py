"""GAE, returns, group advantages and failure truncation."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from structrl_ros.errors import ParameterError
from structrl_ros.learning.gae import estimate_advantages
from structrl_ros.learning.groups import group_advantages
from structrl_ros.learning.groups import normalise_advantages
from structrl_ros.learning.truncation import truncate_failures

FOLDER = Path(__file__).parents[1] / 'golden'


def golden(kind):
    cases = json.loads((FOLDER / f'{kind}.json').read_text())['cases']
    return pytest.mark.parametrize('case', cases, ids=[case['name'] for case in cases])


def nan_for_none(values):
    return [float('nan') if value is None else value for value in values]


def random_batch(seed, steps, batch):
    random = np.random.default_rng(seed)
    return {
        'rewards': random.normal(size=(steps, batch)),
        'values': random.normal(size=(steps, batch)),
        'terminated': random.random((steps, batch)) < 0.15,
        'truncated': random.random((steps, batch)) < 0.15,
        'bootstrap': random.normal(size=(steps, batch)),
    }


@golden('gae')
def test_gae_equals_golden(case):
    arguments = dict(case['input'])
    result = estimate_advantages(trace_decay=arguments.pop('lambda'), **arguments)
    expected = case['expected']
    np.testing.assert_allclose(result.advantages, expected['advantages'], rtol=0, atol=1e-9)
    np.testing.assert_allclose(result.returns, expected['returns'], rtol=0, atol=1e-9)


@given(st.integers(0, 2**31), st.integers(0, 12), st.integers(1, 5))
@settings(max_examples=60)
def test_gae_of_many_environments_equals_each_trace_to_the_last_bit(seed, steps, batch):
    arrays = random_batch(seed, steps, batch)
    together = estimate_advantages(**arrays, gamma=0.99, trace_decay=0.95)
    for b in range(batch):
        alone = estimate_advantages(
            **{name: array[:, b] for name, array in arrays.items()}, gamma=0.99, trace_decay=0.95
        )
        np.testing.assert_array_equal(alone.advantages, together.advantages[:, b])
        np.testing.assert_array_equal(alone.returns, together.returns[:, b])


@given(st.integers(0, 2**31), st.integers(1, 12))
@settings(max_examples=60)
def test_gae_of_concatenated_episodes_equals_each_episode(seed, length):
    arrays = {n: a[:, 0] for n, a in random_batch(seed, 2 * length, 1).items()}
    arrays['terminated'][length - 1], arrays['truncated'][length - 1] = False, True
    whole = estimate_advantages(**arrays, gamma=0.9, trace_decay=0.8)
    for part in (slice(None, length), slice(length, None)):
        alone = estimate_advantages(
            **{name: array[part] for name, array in arrays.items()}, gamma=0.9, trace_decay=0.8
        )
        np.testing.assert_array_equal(alone.advantages, whole.advantages[part])


@given(st.integers(0, 2**31), st.integers(1, 12))
@settings(max_examples=60)
def test_gae_with_zero_decay_is_the_temporal_difference(seed, steps):
    arrays = random_batch(seed, steps, 2)
    result = estimate_advantages(**arrays, gamma=0.9, trace_decay=0.0)
    following = np.where(arrays['terminated'], 0.0, arrays['bootstrap'])
    expected = arrays['rewards'] + 0.9 * following - arrays['values']
    np.testing.assert_allclose(result.advantages, expected, atol=1e-12)


def test_gae_reads_done_at_its_own_step():
    result = estimate_advantages(
        [1.0, 1.0, 1.0, 1.0],
        [0.0, 0.0, 0.0, 0.0],
        terminated=[False, True, False, False],
        truncated=[False] * 4,
        bootstrap=[0.0, 9.0, 0.0, 2.0],
        gamma=0.5,
        trace_decay=1.0,
    )
    np.testing.assert_allclose(result.advantages, [1.5, 1.0, 2.0, 2.0])


def test_step_that_is_terminated_and_truncated_does_not_bootstrap():
    arguments = {'bootstrap': [5.0], 'gamma': 0.99, 'trace_decay': 0.95}
    both = estimate_advantages([1.0], [0.0], terminated=[True], truncated=[True], **arguments)
    assert both.returns[0] == 1.0


def test_timeout_bootstraps_the_final_observation_not_the_last_value():
    result = estimate_advantages(
        [1.0], [10.0], terminated=[False], truncated=[True], bootstrap=[2.0],
        gamma=0.9, trace_decay=0.95,
    )  # fmt: skip
    assert result.returns[0] == pytest.approx(1.0 + 0.9 * 2.0)


def test_bootstrap_of_a_terminated_step_may_be_missing():
    result = estimate_advantages(
        [1.0], [0.5], terminated=[True], truncated=[False], bootstrap=[float('nan')],
        gamma=0.9, trace_decay=0.95,
    )  # fmt: skip
    assert result.advantages[0] == 0.5


@pytest.mark.parametrize(
    ('change', 'field'),
    [
        ({'values': [0.0, 0.0]}, 'values'),
        ({'truncated': []}, 'truncated'),
        ({'rewards': [float('inf')]}, 'rewards'),
        ({'bootstrap': [float('nan')]}, 'bootstrap'),
        ({'gamma': 1.1}, 'gamma'),
        ({'trace_decay': -0.1}, 'lambda'),
    ],
)
def test_wrong_gae_input_names_the_field(change, field):
    arguments = {
        'rewards': [0.0],
        'values': [0.0],
        'terminated': [False],
        'truncated': [False],
        'bootstrap': [0.0],
        'gamma': 0.9,
        'trace_decay': 0.9,
    }
    with pytest.raises(ParameterError, match=f'^{field}: '):
        estimate_advantages(**arguments | change)


@golden('group_advantages')
def test_group_advantages_equal_golden(case):
    document = case['input']
    result = group_advantages(nan_for_none(document['returns']), document['groups'])
    np.testing.assert_allclose(
        result.advantages, case['expected']['advantages'], rtol=0, atol=1e-9
    )


@pytest.mark.parametrize('value', [0.35, 0.1, 0.7])
def test_equal_returns_give_zero_whatever_their_rounding(value):
    for size in (1, 7, 8):
        assert not group_advantages([value] * size, [0] * size).advantages.any()


def test_one_tiny_difference_gives_bounded_advantages():
    result = group_advantages([0.7] * 7 + [0.7 + 1e-7], [0] * 8).advantages
    assert np.abs(result).max() < 0.1
    assert not group_advantages([0.7] * 7 + [0.7 + 1e-10], [0] * 8).advantages.any()
    assert np.abs(group_advantages([0.35] * 7 + [-0.25], [0] * 8).advantages).max() < 2.5


def test_unscorable_return_leaves_the_others_unchanged():
    nan = float('nan')
    result = group_advantages([1.0, nan, 0.0, 1.0], [0] * 4)
    without = group_advantages([1.0, 0.0, 1.0], [0] * 3)
    assert result.advantages[1] == 0.0
    np.testing.assert_array_equal(np.delete(result.advantages, 1), without.advantages)
    assert list(result.scored) == [True, False, True, True]


def test_dead_and_unscored_groups_do_not_count_as_informative():
    nan = float('nan')
    result = group_advantages([1.0, 0.0, 0.5, 0.5, nan, nan], ['a', 'a', 'b', 'b', 'c', 'c'])
    assert list(result.informative) == [True, True, False, False, False, False]
    assert list(result.scored) == [True, True, True, True, False, False]


@given(
    st.lists(st.tuples(st.floats(-5.0, 5.0), st.integers(0, 3)), min_size=1, max_size=30),
    st.randoms(),
)
def test_group_advantages_follow_a_permutation_of_the_rollouts(rollouts, random):
    order = random.sample(range(len(rollouts)), len(rollouts))
    returns, groups = zip(*rollouts, strict=True)
    straight = group_advantages(returns, groups).advantages
    mixed = group_advantages([returns[i] for i in order], [groups[i] for i in order]).advantages
    np.testing.assert_allclose(mixed, straight[order], rtol=0, atol=1e-6)
    for group in set(groups):
        members = [i for i, g in enumerate(groups) if g == group]
        assert abs(straight[members].sum()) < 1e-6


def test_wrong_group_input_names_the_field():
    with pytest.raises(ParameterError, match=r'^groups: '):
        group_advantages([1.0, 2.0], [0])
    with pytest.raises(ParameterError, match=r'^returns: '):
        group_advantages([float('inf')], [0])


def test_normalising_one_or_no_valid_entry_gives_zero():
    np.testing.assert_array_equal(normalise_advantages([3.0, np.nan], [True, False]), [0.0, 0.0])
    np.testing.assert_array_equal(normalise_advantages([3.0, 4.0], [False, False]), [0.0, 0.0])
    both = normalise_advantages([3.0, 5.0, 100.0], [True, True, False])
    np.testing.assert_allclose(both, [-np.sqrt(0.5), np.sqrt(0.5), 0.0], atol=1e-5)
    with pytest.raises(ParameterError, match=r'^advantages: '):
        normalise_advantages([np.nan], [True])


@golden('truncation')
def test_truncation_equals_golden(case):
    result = truncate_failures(**case['input'])
    expected = case['expected']
    assert [len(row) for row in result.rows()] == [len(row) for row in expected['weights']]
    for row, right in zip(result.rows(), expected['weights'], strict=True):
        np.testing.assert_allclose(row, right, rtol=0, atol=1e-9)
    assert result.retained_negative_mass == pytest.approx(
        expected['retained_negative_mass'], abs=1e-9
    )


@given(st.data())
def test_truncation_only_removes_failure_feedback_after_the_boundary(data):
    count = data.draw(st.integers(0, 6))
    rows = st.lists
    advantages = data.draw(rows(st.floats(-3.0, 3.0), min_size=count, max_size=count))
    success = data.draw(rows(st.booleans(), min_size=count, max_size=count))
    chunks = data.draw(rows(st.integers(1, 9), min_size=count, max_size=count))
    boundary = data.draw(
        rows(st.one_of(st.none(), st.integers(0, 12)), min_size=count, max_size=count)
    )
    result = truncate_failures(advantages, success, chunks, boundary)
    assert 0.0 <= result.retained_negative_mass <= 1.0 + 1e-12
    for i, row in enumerate(result.rows()):
        kept = chunks[i] if success[i] or boundary[i] is None else boundary[i]
        expected = [advantages[i] / chunks[i] if k < kept else 0.0 for k in range(chunks[i])]
        assert row == expected


def test_no_failure_mass_counts_as_all_retained():
    assert truncate_failures([1.0], [True], [3], [1]).retained_negative_mass == 1.0
    assert truncate_failures([], [], [], []).retained_negative_mass == 1.0


@pytest.mark.parametrize(
    ('arguments', 'field'),
    [
        (([1.0], [True, False], [1], [None]), 'success'),
        (([1.0], [True], [0], [None]), 'valid_chunks'),
        (([1.0], [True], [1], [-1]), 'boundary'),
        (([float('nan')], [True], [1], [None]), 'advantages'),
    ],
)
def test_wrong_truncation_input_names_the_field(arguments, field):
    with pytest.raises(ParameterError, match=f'^{field}: '):
        truncate_failures(*arguments)
