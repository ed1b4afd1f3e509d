"""The state vector of LIBERO: a function of the state alone, with the things of the goal."""

import numpy as np
import pytest

pytest.importorskip('libero', reason='needs LIBERO: make install')

from structrl_ros.ports import StateBody
from structrl_ros.sim.libero.body import LiberoBody
from structrl_ros.sim.libero.features import FEATURE_NAMES

pytestmark = pytest.mark.sim


@pytest.fixture(scope='module')
def bodies():
    pair = LiberoBody(), LiberoBody()
    yield pair
    for body in pair:
        body.close()


def entries(body):
    return dict(zip(FEATURE_NAMES, body.features().tolist(), strict=True))


def test_twin_set_to_the_state_tells_the_same_bits(bodies):
    body, twin = bodies
    random = np.random.default_rng(0)
    for each in bodies:
        each.reset('long/0', 0, 3)
    for _ in range(10):
        body.step(random.uniform(-1.0, 1.0, 7).astype(np.float32))
    twin.set_simulator_state(body.simulator_state())
    np.testing.assert_array_equal(body.features(), twin.features())
    assert isinstance(body, StateBody)


def test_things_are_relative_to_the_hand_and_truth_is_told(bodies):
    body, _ = bodies
    body.reset('long/0', 0, 3)
    before = entries(body)
    for _ in range(4):
        body.step(np.array([0, 0, 1, 0, 0, 0, -1], dtype=np.float32))
    after = entries(body)
    risen = (after['hand_z'] - before['hand_z']) * 0.3
    assert risen > 0.02
    assert (after['thing_0_far_z'] - before['thing_0_far_z']) * 0.3 == pytest.approx(
        -risen, abs=2e-3
    )
    assert [before[f'thing_{i}_is_there'] for i in range(4)] == [1.0, 1.0, 1.0, 0.0]
    assert [before[f'true_{i}'] for i in range(4)] == [0.0] * 4
    assert before['task_0'] == 1.0
