"""The tabletop action map against its formula, its inverse, and what it must refuse."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from structrl_ros.errors import ParameterError
from structrl_ros.errors import PolicyError
from structrl_ros.models.policies.action_map import ACTION_MAPS
from structrl_ros.models.policies.action_map import action_map

TABLETOP = ACTION_MAPS['tabletop']


def rows(dimension, bound=1.0):
    shape = arrays.array_shapes(min_dims=0, max_dims=3, max_side=4)
    numbers = st.floats(-bound, bound, width=32)
    return shape.flatmap(lambda s: arrays.arrays(np.float32, (*s, dimension), elements=numbers))


def test_half_and_full_and_rest_are_the_hand_worked_offsets():
    body = TABLETOP.to_body(np.array([[0.5, 1.0, -0.1, -0.5, -1.0]], np.float32))
    assert body.dtype == np.float32
    expected = [0.125 + 0.09375, 1.0, -0.025 - 0.00075, 0.0, 0.0, -0.125 - 0.09375, -1.0]
    np.testing.assert_allclose(body, [expected], atol=1e-7)


@given(rows(5))
def test_the_inverse_gives_back_the_policy_s_actions(actions):
    back = TABLETOP.from_body(TABLETOP.to_body(actions))
    np.testing.assert_allclose(back, actions, atol=1e-6, rtol=0)


@given(rows(7))
def test_the_map_gives_back_the_body_s_actions(body):
    body[..., 3:5] = 0.0
    again = TABLETOP.to_body(TABLETOP.from_body(body))
    np.testing.assert_allclose(again, body, atol=1e-6, rtol=0)


@given(rows(5, bound=50.0))
def test_unclipped_actions_end_in_the_body_s_range(actions):
    body = TABLETOP.to_body(actions)
    assert np.abs(body).max(initial=0.0) <= 1.0
    np.testing.assert_array_equal(body, TABLETOP.to_body(np.clip(actions, -1, 1)))


def test_noise_of_a_tenth_never_turns_a_grip_around():
    noise = np.random.default_rng(0).normal(scale=0.1, size=(100_000, 1, 5)).astype(np.float32)
    for label in (-1.0, 1.0):
        noisy = noise + np.float32(label)
        assert (np.sign(TABLETOP.to_body(noisy)[..., 6]) == label).all()


def test_noise_at_rest_is_four_times_smaller_than_in_motion():
    noise = np.random.default_rng(0).normal(scale=0.1, size=(20_000, 5)).astype(np.float32)
    rest = TABLETOP.to_body(noise)[:, 0].std()
    motion = TABLETOP.to_body(noise * 0.1 + np.float32(0.577))[:, 0].std() * 10
    assert 3.5 < motion / rest < 4.5


@given(rows(7))
def test_the_identity_map_keeps_what_is_in_range(body):
    identity = action_map('identity')
    np.testing.assert_array_equal(identity.to_body(body), body)
    np.testing.assert_array_equal(identity.from_body(body), body)


@pytest.mark.parametrize(
    ('call', 'words'),
    [
        (lambda: TABLETOP.to_body(np.zeros((4, 7))), r'shape \(4, 7\); allowed: \(\.\.\., 5\)'),
        (lambda: TABLETOP.to_body(np.full((1, 5), np.nan)), 'NaN or infinity; allowed: finite'),
        (lambda: TABLETOP.from_body(np.full((1, 7), np.inf)), 'NaN or infinity'),
        (lambda: TABLETOP.from_body(np.eye(7)), 'turns about x or y by 1; allowed: 0'),
    ],
)
def test_what_cannot_be_mapped_is_told_in_one_line(call, words):
    with pytest.raises(PolicyError, match=words) as told:
        call()
    assert '\n' not in str(told.value)


def test_an_unknown_map_names_the_known_ones():
    with pytest.raises(ParameterError, match="unknown action map 'cubic'; known: tabletop, id"):
        action_map('cubic')
