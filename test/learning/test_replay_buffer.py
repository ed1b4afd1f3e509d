"""The replay buffer, operator labels."""

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from structrl_ros.errors import ParameterError
from structrl_ros.learning.interventions import credited_step
from structrl_ros.learning.interventions import label_steps
from structrl_ros.learning.replay import ReplayBuffer
from structrl_ros.types import Intervention


def small_buffer(capacity):
    return ReplayBuffer(capacity, {'id': ((), np.int64)}, action_dimension=1)


def play(buffer, first, steps, **end):
    """Add an episode whose observations are first, first + 1, ..., and actions the same."""
    buffer.start({'id': first})
    for step in range(first, first + steps):
        is_last = step == first + steps - 1
        buffer.append(
            requested=np.array([2.0 * step]),
            executed=np.array([step]),
            reward=float(step),
            next_observation={'id': step + 1},
            **(end if is_last else {}),
        )


def everything(buffer):
    return buffer.sample(40 * max(len(buffer), 1), np.random.default_rng(0))


def assert_whole(batch):
    np.testing.assert_array_equal(batch.next_observation['id'], batch.observation['id'] + 1)
    np.testing.assert_array_equal(batch.executed[:, 0], batch.observation['id'])
    np.testing.assert_array_equal(batch.requested, 2.0 * batch.executed)
    np.testing.assert_array_equal(batch.reward, batch.observation['id'])


def test_next_observation_at_a_truncation_is_the_final_one_not_the_next_episode():
    buffer = small_buffer(20)
    play(buffer, 0, 3, truncated=True)
    play(buffer, 100, 3, terminated=True)
    batch = everything(buffer)
    assert_whole(batch)
    assert len(buffer) == 6
    at_end = batch.observation['id'] == 2
    assert set(batch.next_observation['id'][at_end]) == {3}
    assert batch.truncated[at_end].all()
    assert not batch.terminated[at_end].any()


@given(st.lists(st.integers(1, 7), min_size=1, max_size=8), st.integers(2, 12))
@settings(max_examples=60)
def test_next_observation_stays_right_after_wrap_around(lengths, capacity):
    buffer = small_buffer(capacity)
    for episode, steps in enumerate(lengths):
        play(buffer, 1000 * episode, steps, truncated=True)
        if len(buffer):
            assert_whole(everything(buffer))
    assert len(buffer) <= capacity - 1
    newest = 1000 * (len(lengths) - 1) + lengths[-1] - 1
    assert newest in everything(buffer).observation['id']


def test_buffer_keeps_requested_and_executed_action_and_the_label():
    buffer = ReplayBuffer(4, {'id': ((), np.int64)}, action_dimension=2)
    buffer.start({'id': 0})
    buffer.append(
        requested=np.array([1.0, 1.0]),
        executed=np.array([0.5, 0.5]),
        reward=0.0,
        next_observation={'id': 1},
        intervened=True,
    )
    batch = buffer.sample(1, np.random.default_rng(0))
    assert batch.executed.tolist() == [[0.5, 0.5]]
    assert batch.requested.tolist() == [[1.0, 1.0]]
    assert batch.intervened.all()


def test_images_stay_uint8_and_cost_one_observation_a_transition():
    buffer = ReplayBuffer(101, {'head': ((128, 128, 3), np.uint8)}, action_dimension=7)
    assert buffer.nbytes / 100 <= 50 * 1024
    buffer.start({'head': np.full((128, 128, 3), 200, np.uint8)})
    buffer.append(
        requested=np.zeros(7),
        executed=np.zeros(7),
        reward=0.0,
        next_observation={'head': np.full((128, 128, 3), 201, np.uint8)},
    )
    batch = buffer.sample(2, np.random.default_rng(0))
    assert batch.observation['head'].dtype == np.uint8
    assert (batch.next_observation['head'] == 201).all()


def test_threads_that_add_and_sample_see_whole_transitions_only():
    buffer, stop, faults = small_buffer(50), threading.Event(), []
    play(buffer, 0, 10, truncated=True)

    def write():
        for episode in range(1, 60):
            play(buffer, 1000 * episode, 7, truncated=True)
        stop.set()

    def read():
        random = np.random.default_rng(1)
        while not stop.is_set():
            batch = buffer.sample(32, random)
            if (batch.next_observation['id'] != batch.observation['id'] + 1).any():
                faults.append(batch)

    threads = [threading.Thread(target=call) for call in (write, read)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert stop.is_set()
    assert not faults


def test_wrong_use_of_the_buffer_is_refused():
    buffer = small_buffer(3)
    with pytest.raises(ParameterError, match=r'^sample: '):
        buffer.sample(1, np.random.default_rng(0))
    with pytest.raises(ParameterError, match=r'^observation: parts'):
        buffer.start({'image': 0})
    play(buffer, 0, 1, terminated=True)
    with pytest.raises(ParameterError, match=r'^append: no episode'):
        buffer.append(
            requested=np.zeros(1),
            executed=np.zeros(1),
            reward=0.0,
            next_observation={'id': 0},
        )
    with pytest.raises(ParameterError, match=r'^capacity: '):
        small_buffer(1)


def takeover(stamp_ns, active):
    return Intervention(stamp_ns, 1, active, 'spacemouse', np.zeros(7, dtype=np.float32))


@pytest.mark.parametrize(
    ('events', 'labels'),
    [
        ([], [0, 0, 0, 0]),
        ([(0, True), (10, False)], [1, 0, 0, 0]),
        ([(30, True)], [0, 0, 0, 1]),
        ([(10, True), (30, False)], [0, 1, 1, 0]),
        ([(30, False), (10, True)], [0, 1, 1, 0]),
        ([(11, True), (21, False)], [0, 0, 1, 0]),
    ],
)
def test_operator_labels_sit_on_their_own_steps(events, labels):
    interventions = [takeover(*event) for event in events]
    assert label_steps([0, 10, 20, 30], interventions).tolist() == [bool(v) for v in labels]


def test_late_reward_credits_the_step_it_is_about():
    starts = np.arange(10) * 100_000_000
    assert credited_step(starts, 350_000_000) == 3
    assert credited_step(starts, 400_000_000) == 4
    assert credited_step(starts, 99_000_000_000) == 9
    assert credited_step(starts, -1) is None
    with pytest.raises(ParameterError, match=r'^start_stamps_ns: '):
        credited_step([1, 1], 1)
