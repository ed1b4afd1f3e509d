"""Signed hops, their inverse and the fusion of anchors (Robo-Dopamine 2.0, Eq. 7 to 17)."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from structrl_ros.errors import ParameterError
from structrl_ros.progress.fusion import Fusion
from structrl_ros.progress.fusion import fuse
from structrl_ros.progress.hop import LABEL_SCALE
from structrl_ros.progress.hop import invert_hop
from structrl_ros.progress.hop import signed_hop

FOLDER = Path(__file__).parents[1] / 'golden'
HOPS = json.loads((FOLDER / 'signed_hop.json').read_text())['cases']
FUSE = json.loads((FOLDER / 'fuse.json').read_text())['cases']

PROGRESS = st.floats(0.0, 1.0)
STATES = st.one_of(
    PROGRESS.map(lambda p: (p, False)),
    st.floats(-1.0, 0.0, exclude_max=True).map(lambda p: (p, True)),
)
PREDICTIONS = st.one_of(st.floats(-1.5, 1.5), st.just(float('nan')))


@pytest.mark.parametrize('case', HOPS, ids=[case['name'] for case in HOPS])
def test_signed_hop_equals_golden(case):
    hops = signed_hop(*zip(*case['input']['pairs'], strict=True))
    np.testing.assert_allclose(hops, case['expected']['hops'], rtol=0, atol=1e-9)
    np.testing.assert_allclose(
        LABEL_SCALE * hops, case['expected']['labels'], rtol=0, atol=1e-9 * LABEL_SCALE
    )


def test_recovery_is_measured_toward_the_goal_and_failure_toward_minus_one():
    assert signed_hop(-0.5, 0.5, True, False) == pytest.approx(2.0 / 3.0)
    assert signed_hop(0.5, -0.5, False, True) == pytest.approx(-2.0 / 3.0)
    assert signed_hop(0.5, 0.25, False, False) == pytest.approx(-0.5)


@given(STATES, STATES)
@settings(max_examples=300)
def test_inverse_of_the_hop_gives_the_second_state_back(before, after):
    hop = signed_hop(before[0], after[0], before[1], after[1])
    assert -1.0 <= hop <= 1.0
    floor = -1.0 if before[1] or after[1] else 0.0
    assert invert_hop(hop, before[0], floor) == pytest.approx(after[0], abs=1e-12)


@given(STATES, STATES)
def test_hop_has_the_sign_of_the_change(before, after):
    hop = signed_hop(before[0], after[0], before[1], after[1])
    assert np.sign(hop) in (0.0, np.sign(after[0] - before[0]))


@given(st.floats(-1.0, 1.0), st.lists(st.floats(-1.0, 1.0), min_size=2, max_size=8))
def test_inverse_rises_with_the_hop_on_the_negative_branch(phi, hops):
    reached = invert_hop(np.sort(hops), phi, -1.0)
    assert (np.diff(reached) >= 0.0).all()
    assert (np.abs(reached) <= 1.0 + 1e-12).all()


def test_a_worse_hop_never_raises_progress_once_negative():
    potential = [0.0]
    for hop in (-0.5, -0.5, -1.0):
        potential.append(float(invert_hop(hop, potential[-1], -1.0)))
    assert potential == [0.0, -0.5, -0.75, -1.0]


@pytest.mark.parametrize(
    ('pair', 'field'),
    [
        ((1.5, 0.0, False, False), 'phi_before'),
        ((0.0, float('nan'), False, False), 'phi_after'),
        ((0.0, -0.2, False, False), 'phi_after'),
        ((-0.2, 0.5, False, False), 'phi_before'),
    ],
)
def test_state_that_contradicts_its_flag_is_refused(pair, field):
    with pytest.raises(ParameterError, match=f'^{field}: '):
        signed_hop(*pair)


@pytest.mark.parametrize('case', FUSE, ids=[case['name'] for case in FUSE])
def test_fuse_equals_golden(case):
    fused = fuse(**case['input'])
    np.testing.assert_allclose(fused.potential, case['expected']['potential'], rtol=0, atol=1e-9)
    np.testing.assert_array_equal(fused.negative_branch, case['expected']['negative_branch'])
    assert fused.valid.all()


def test_fusion_of_one_step_by_hand():
    fused = fuse([-0.4], [-0.7], [-0.5])
    mean = (-0.4 + (1.0 - 0.7 * 2.0) + -0.5) / 3.0
    assert fused.potential[1] == pytest.approx(mean)
    assert fused.negative_branch[1]


def test_exact_predictions_give_the_true_potential_back():
    truth = np.array([0.0, 0.2, 0.5, -0.5, -0.7, 0.6, 1.0])
    negative = truth < 0.0
    forward = signed_hop(0.0, truth[1:], False, negative[1:])
    backward = signed_hop(1.0, truth[1:], False, negative[1:])
    incremental = signed_hop(truth[:-1], truth[1:], negative[:-1], negative[1:])
    fused = fuse(forward, backward, incremental)
    np.testing.assert_allclose(fused.potential, truth, atol=1e-12)
    np.testing.assert_array_equal(fused.negative_branch, negative)


@pytest.mark.parametrize('anchor', [0, 1, 2])
def test_unparseable_prediction_repeats_potential_and_gate(anchor):
    anchors = np.array([[0.3, -0.4, 0.5], [-0.7, -0.7, -0.5], [0.3, -0.5, 0.6]])
    anchors[anchor, 2] = np.nan
    fused = fuse(*anchors)
    assert list(fused.valid) == [True, True, False]
    assert fused.potential[3] == fused.potential[2] != 0.0
    assert fused.negative_branch[3] == fused.negative_branch[2] == True  # noqa: E712


@given(st.lists(st.lists(PREDICTIONS, min_size=3, max_size=3), min_size=0, max_size=12))
def test_potential_stays_in_bounds_and_gate_follows_the_forward_anchor(steps):
    fused = fuse(*np.array(steps).reshape(-1, 3).T)
    assert (np.abs(fused.potential) <= 1.0).all()
    assert fused.potential[0] == 0.0
    for t, (forward, _, _) in enumerate(steps):
        if fused.valid[t]:
            assert fused.negative_branch[t + 1] == (forward < 0.0)


@given(st.integers(0, 8), st.integers(1, 4), st.integers(0, 2**31))
@settings(max_examples=60)
def test_streaming_equals_batch_to_the_last_bit(length, batch, seed):
    random = np.random.default_rng(seed)
    anchors = random.uniform(-1.2, 1.2, (3, length, batch))
    anchors[random.random(anchors.shape) < 0.05] = np.nan
    together = fuse(*anchors)
    for b in range(batch):
        stream = Fusion()
        for t in range(length):
            valid = stream.step(*anchors[:, t, b])
            assert bool(valid) == together.valid[t, b]
            assert float(stream.potential) == together.potential[t + 1, b]
            assert bool(stream.negative_branch) == together.negative_branch[t + 1, b]


def test_reset_of_one_stream_leaves_the_other():
    fusion = Fusion((2,))
    fusion.step([-0.5, -0.5], [-0.5, -0.5], [-0.5, -0.5])
    fusion.reset(np.array([True, False]))
    assert fusion.potential[0] == 0.0
    assert fusion.potential[1] != 0.0
    assert list(fusion.negative_branch) == [False, True]


def test_lengths_that_differ_and_infinite_values_are_refused():
    with pytest.raises(ParameterError, match=r'^backward: shape'):
        fuse([0.1], [0.1, 0.2], [0.1])
    with pytest.raises(ParameterError, match=r'^incremental: .* finite'):
        fuse([0.1], [0.1], [float('inf')])
