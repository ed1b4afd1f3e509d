"""Robometer's conversion, potential-based shaping and the audit of the ledger."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structrl_ros.errors import ParameterError
from structrl_ros.rewards.ledger import audit
from structrl_ros.rewards.robometer import expected_progress
from structrl_ros.rewards.robometer import history_indices
from structrl_ros.rewards.robometer import robometer_rewards
from structrl_ros.rewards.shaping import shape_rewards
from structrl_ros.types import Reward

ROBOMETER = json.loads((Path(__file__).parents[1] / 'golden/robometer.json').read_text())['cases']
SHAPE = json.loads((Path(__file__).parents[1] / 'golden/shape.json').read_text())['cases']
POTENTIALS = st.lists(st.floats(-1.0, 1.0), min_size=1, max_size=30)


@pytest.mark.parametrize('case', ROBOMETER, ids=[case['name'] for case in ROBOMETER])
def test_robometer_equals_golden(case):
    rewards = robometer_rewards(**case['input'])
    np.testing.assert_allclose(rewards, case['expected']['rewards'], rtol=0, atol=1e-9)


def test_robometer_by_hand():
    rewards = robometer_rewards([0.5, 0.75, 0.9], 1, beta_r=0.1)
    np.testing.assert_allclose(rewards, [-0.05, 2.075, 0.0], atol=1e-15)


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=40))
def test_a_longer_failure_never_earns_more(progress):
    totals = np.cumsum(robometer_rewards(progress, None, beta_r=0.07041))
    assert (np.diff(totals) <= 0.0).all()


def test_expected_progress_of_one_sure_bin_is_its_place():
    np.testing.assert_allclose(expected_progress(np.eye(10)), np.arange(10) / 9.0)


def test_history_is_causal_and_repeats_frames_when_short():
    assert list(history_indices(0)) == [0] * 8
    assert list(history_indices(7)) == list(range(8))
    assert list(history_indices(70)) == [0, 10, 20, 30, 40, 50, 60, 70]


@pytest.mark.parametrize(
    ('call', 'field'),
    [
        (lambda: robometer_rewards([0.1, float('nan')], None, beta_r=0.1), 'progress'),
        (lambda: robometer_rewards([0.1], 1, beta_r=0.1), 'first_success'),
        (lambda: robometer_rewards([0.1], None, beta_r=float('inf')), 'beta_r'),
        (lambda: expected_progress(np.full(10, 0.2)), 'probabilities'),
        (lambda: expected_progress(np.ones(9) / 9), 'probabilities'),
        (lambda: history_indices(-1), 'newest'),
        (lambda: shape_rewards([1.0], [0.0], gamma=0.9, terminal=True), 'potential'),
        (lambda: shape_rewards([1.0], [0.0, np.inf], gamma=0.9, terminal=True), 'potential'),
        (lambda: shape_rewards([1.0], [0.0, 0.0], gamma=1.5, terminal=True), 'gamma'),
    ],
)
def test_bad_input_names_the_field(call, field):
    with pytest.raises(ParameterError, match=f'^{field}'):
        call()


@pytest.mark.parametrize('case', SHAPE, ids=[case['name'] for case in SHAPE])
def test_shape_equals_golden(case):
    rewards = shape_rewards(**case['input'])
    np.testing.assert_allclose(rewards, case['expected']['rewards'], rtol=0, atol=1e-9)


@given(POTENTIALS, st.floats(0.5, 1.0), st.booleans())
def test_shaping_sums_to_potential_difference(potential, gamma, terminal):
    phi = np.array([0.0, *potential])
    shaped = shape_rewards(np.zeros(len(potential)), phi, gamma=gamma, terminal=terminal)
    discounts = gamma ** np.arange(len(potential))
    last = 0.0 if terminal else gamma ** len(potential) * phi[-1]
    assert np.sum(discounts * shaped) == pytest.approx(last - phi[0], abs=1e-12)


def balanced():
    terms = [(('a', 0.1), ('b', 0.2)), (), (('c', 0.3), ('success', 2.0))]
    pages, total = [], 0.0
    for chunk, page in enumerate(terms, 1):
        value = 0.0
        for _, amount in page:
            value += amount
        total += value
        pages.append(Reward(chunk, 1, chunk, value, page, total, chunk == 3, False))
    return pages


def test_balanced_ledger_passes_and_a_second_episode_starts_at_zero():
    second = [replace(page, episode=2) for page in balanced()]
    assert audit([*balanced(), *second]) == []


@pytest.mark.parametrize(
    ('index', 'change', 'fault'),
    [
        (0, {'value': 0.3}, 'terms sum'),
        (1, {'episode_return': 9.0}, 'return is'),
        (1, {'chunk': 7}, 'follows chunk 1'),
        (0, {'terms': (('a', float('nan')),)}, 'not finite'),
        (1, {'truncated': True}, 'follows the end'),
        (0, {'terms': (('success', 2.0),), 'value': 2.0}, 'paid twice'),
    ],
)
def test_audit_finds_a_broken_page(index, change, fault):
    pages = balanced()
    pages[index] = replace(pages[index], **change)
    assert any(fault in line for line in audit(pages))
