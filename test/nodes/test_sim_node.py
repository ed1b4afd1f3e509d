"""Claims of sim_node on the kinematic body: a process of its own, real Fast DDS."""

import sys
import time
from pathlib import Path

import numpy as np
import pytest

rclpy = pytest.importorskip('rclpy')
pytest.importorskip('structrl_msgs')
sys.path.insert(0, str(Path(__file__).parent))

from body_harness import PLACE  # noqa: E402
from body_harness import RIGHT  # noqa: E402
from body_harness import Client  # noqa: E402
from body_harness import domain  # noqa: E402
from body_harness import end_node  # noqa: E402
from body_harness import start_node  # noqa: E402

from structrl_ros.control.action_limiter import ActionLimiter  # noqa: E402
from structrl_ros.control.episode_runner import EpisodeRunner  # noqa: E402
from structrl_ros.control.limits import Limits  # noqa: E402
from structrl_ros.sim.kinematic.body import KinematicBody  # noqa: E402
from structrl_ros.sim.kinematic.expert import KinematicExpert  # noqa: E402
from structrl_ros.types import ChunkDone  # noqa: E402
from structrl_ros.types import Episode  # noqa: E402
from structrl_ros.types import Observation  # noqa: E402
from structrl_ros.types import Predicates  # noqa: E402
from structrl_ros.types import Safety  # noqa: E402
from structrl_ros.types import SafetyState  # noqa: E402
from structrl_ros.types import SimulatorState  # noqa: E402
from structrl_ros.wire import topics  # noqa: E402

pytestmark = pytest.mark.ros

SOUP = 'kinematic/soup_in_basket'


def bring_up(domain_id, **parameters):
    process = start_node('sim_node', domain_id, body='kinematic', task=SOUP, **parameters)
    client = Client(domain_id)
    try:
        client.ready()
        yield client
    finally:
        client.close()
        status, log = end_node(process)
    assert status == 0, log
    assert 'Traceback' not in log


@pytest.fixture(scope='module')
def lockstep_body():
    yield from bring_up(domain(0), lockstep=True)


@pytest.fixture(scope='module')
def live_body():
    yield from bring_up(domain(1), lockstep=False)


@pytest.fixture
def lockstep(lockstep_body):
    assert lockstep_body.reset().accepted
    return lockstep_body


@pytest.fixture
def live(live_body):
    assert live_body.reset().accepted
    return live_body


def sample(client, kind):
    return [h for h in client.all(kind) if h.episode == client.episode.episode]


def test_lockstep_episode_through_topics_equals_the_rollout_in_process(lockstep):
    client, expert = lockstep, KinematicExpert()
    client.reset(SOUP, 3, 4)
    expert.reset(client.episode)
    number = 0
    while not client.last(Episode).ended:
        number += 1
        state = client.last(SimulatorState)
        actions = expert.act(Observation(0, 0, simulator=state), PLACE, '')
        done = client.run(number, actions)
        if done.terminated:
            client.wait(lambda: client.last(Episode).ended, 'the end of the episode')
    runner = EpisodeRunner(KinematicBody(), limiter=ActionLimiter(Limits(), period_s=0.05))
    runner.reset(SOUP, 3, 4)
    expert.reset(runner.episode)
    results = []
    while runner.is_running:
        observation = runner.observe(privileged=True)
        results.append(runner.run_chunk(expert.act(observation, PLACE, '')))
    dones, truths = sample(client, ChunkDone), sample(client, Predicates)[-len(results) :]
    assert len(dones) == len(results)
    assert dones[-1].success
    for done, truth, result in zip(dones, truths, results, strict=True):
        assert np.array_equal(done.executed, result.done.executed)
        assert truth.values == result.predicates.values
        assert (truth.chunk, truth.step) == (result.predicates.chunk, result.predicates.step)
    assert np.array_equal(client.last(SimulatorState).state, runner.simulator_state().state)
    elapsed = dones[-1].stamp_ns - client.episode.stamp_ns
    assert elapsed == results[-1].done.stamp_ns - runner.episode.stamp_ns


def test_lockstep_world_stands_still_between_chunks(lockstep):
    before = lockstep.now_ns
    time.sleep(0.4)
    assert lockstep.now_ns == before
    assert lockstep.run(1).stamp_ns == before + 8 * 50_000_000


def test_clock_starts_at_one_second_and_never_goes_back(lockstep):
    lockstep.run(1)
    lockstep.reset()
    lockstep.run(1)
    times = [h for h in list(lockstep.heard) if type(h) is int]
    assert lockstep.all(Episode)[0].stamp_ns == 1_000_000_000
    assert times[0] >= 1_000_000_000
    assert len(times) > 2
    assert times == sorted(times)


@pytest.mark.parametrize(
    ('changes', 'reason'),
    [
        ({'actions': np.zeros((8, 6), np.float32)}, 'shape (8, 6); allowed: (K, 7)'),
        ({'episode': 9999}, 'chunk of episode 9999'),
        ({'stamp_ns': 1_700_000_000_000_000_000}, 'in the future'),
        ({'action_space': 'joint_position'}, "this body takes 'ee_delta_pose'"),
        ({'chunk': 0}, 'chunk number 0 does not rise'),
    ],
)
def test_bad_chunk_is_refused_with_a_reason_and_the_body_holds(lockstep, changes, reason):
    client, before = lockstep, lockstep.now_ns
    client.send(changes.pop('chunk', 1), changes.pop('actions', RIGHT), **changes)
    client.wait(lambda: reason in client.last(Safety).reason, reason)
    assert client.is_holding()
    assert client.now_ns == before
    assert client.run(1).executed_steps == 8
    client.wait(lambda: client.last(Safety).state is SafetyState.OK, 'a good chunk ends the hold')


def test_chunk_of_nan_is_refused_with_a_reason(lockstep):
    client = lockstep
    message = client.send(1, np.zeros((8, 7)), episode=9999)
    message.episode = client.episode.episode
    message.data[3] = float('nan')
    client.publishers[topics.ACTION_CHUNK].publish(message)
    client.wait(lambda: 'nan' in client.last(Safety).reason, 'nan in the reason')
    assert client.is_holding()


def test_chunk_of_the_episode_before_does_not_survive_a_reset(lockstep):
    """LeRobot #1116: the queue of the episode before was served after the reset."""
    client = lockstep
    for _ in range(3):
        old = client.episode.episode
        client.send(1, np.tile(RIGHT, (100, 1)))
        assert client.reset(SOUP, 0, 1).accepted
        end = client.wait(
            lambda old=old: [e for e in client.all(Episode) if e.episode == old and e.ended], 'end'
        )[-1]
        assert end.end_reason in ('reset', 'horizon')
        before = client.now_ns
        time.sleep(0.2)
        assert client.now_ns == before
        assert sample(client, ChunkDone) == []
        assert client.run(1).chunk == 1


def test_after_the_end_chunks_are_refused_until_a_reset(lockstep):
    client = lockstep
    client.send(1, np.tile(RIGHT, (100, 1)))
    client.wait(lambda: client.last(Episode).ended, 'the horizon')
    assert client.last(Episode).end_reason == 'horizon'
    client.wait(lambda: client.last(ChunkDone).truncated, 'the truncated chunk')
    client.send(2)
    client.wait(
        lambda: 'has ended (horizon): call reset_episode' in client.last(Safety).reason, ''
    )
    client.reset()
    assert client.run(1).executed_steps == 8


def test_failed_reset_says_what_is_allowed_and_the_episode_goes_on(lockstep):
    response = lockstep.reset('kinematic/no_such_task')
    assert not response.accepted
    assert 'known: kinematic/soup_in_basket' in response.message
    response = lockstep.reset(SOUP, 0, 77)
    assert 'allowed: 0 to 49' in response.message
    assert lockstep.run(1).executed_steps == 8


def test_late_subscriber_gets_episode_truth_and_state_of_a_standing_world(lockstep):
    late = Client(lockstep.domain_id, 'late')
    try:
        late.ready()
        assert late.episode.episode == lockstep.episode.episode
        assert late.last(Predicates).chunk == 0
        assert late.now_ns == lockstep.now_ns
    finally:
        late.close()


def test_two_policies_publishing_at_once_are_named_and_one_of_them_moves_the_body():
    number = domain(3)
    process = start_node('sim_node', number, body='kinematic', task=SOUP)
    client, rogue = Client(number), Client(number, 'rogue')
    try:
        client.ready()
        rogue.ready()
        for k in range(1, 9):
            client.send(k)
            rogue.send(k)
            time.sleep(0.1)
        assert client.last(Safety).state is SafetyState.OK
        client.wait(client.is_holding, 'a hold after the last chunk')
        executed = sum(d.executed_steps for d in client.all(ChunkDone))
        assert 16 <= executed <= 32
    finally:
        client.close()
        rogue.close()
        status, log = end_node(process)
    assert status == 0
    assert 'two publishers (/client, /rogue)' in log


def test_real_time_holds_the_wall_clock(live):
    client = live
    begin_ns, began = client.now_ns, time.monotonic()
    time.sleep(2.0)
    factor = (client.now_ns - begin_ns) / 1e9 / (time.monotonic() - began)
    assert factor == pytest.approx(1.0, abs=0.15)
    assert client.is_holding()


def test_body_holds_within_two_control_periods_after_the_last_row(live):
    client = live
    client.send(1)
    done = client.wait(lambda: sample(client, ChunkDone), 'chunk_done')[0]
    client.wait(client.is_holding, 'a hold')
    safety = client.last(Safety)
    assert 'no chunk for 0.10 s' in safety.reason
    assert 0 <= safety.stamp_ns - done.stamp_ns <= 2 * 50_000_000
    place = client.last(SimulatorState).state[:3]
    time.sleep(0.3)
    assert np.array_equal(client.last(SimulatorState).state[:3], place)


def test_emergency_stop_is_latched_until_an_operator_resets_it(live):
    client = live
    client.send(1, np.tile(RIGHT, (2, 1)))
    assert client.stop(True).success
    client.wait(lambda: client.last(Safety).state is SafetyState.EMERGENCY, 'emergency')
    place = client.last(SimulatorState).state[:3]
    client.send(5)
    client.reset()
    client.send(1)
    time.sleep(0.3)
    assert client.last(Safety).state is SafetyState.EMERGENCY
    assert client.stop(False).success
    client.wait(client.is_holding, 'a hold after the reset')
    client.send(2)
    client.wait(lambda: client.last(Safety).state is SafetyState.OK, 'a chunk moves it again')
    assert place.shape == (3,)


def test_unknown_task_ends_the_node_with_one_clear_line():
    process = start_node('sim_node', domain(2), body='kinematic', task='kinematic/none')
    _, log = process.communicate(timeout=30)
    assert process.returncode == 1
    assert "unknown task 'kinematic/none'; known: kinematic/soup_in_basket" in log
    assert 'Traceback' not in log


def test_wrong_parameter_ends_the_node_with_one_clear_line():
    process = start_node('sim_node', domain(2), body='mujoco')
    _, log = process.communicate(timeout=30)
    assert process.returncode == 1
    assert "parameter 'body' is 'mujoco'; allowed: libero, tabletop, twin, kinematic" in log
    assert 'Traceback' not in log
