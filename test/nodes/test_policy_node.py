"""Claims of policy_node with a real body in a process of its own; faulty policies are injected."""

import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

rclpy = pytest.importorskip('rclpy')
pytest.importorskip('structrl_msgs')
sys.path.insert(0, str(Path(__file__).parent))

from body_harness import PLACE  # noqa: E402
from body_harness import Client  # noqa: E402
from body_harness import domain  # noqa: E402
from body_harness import end_node  # noqa: E402
from body_harness import start_node  # noqa: E402
from rcl_interfaces.srv import GetParameters  # noqa: E402
from rcl_interfaces.srv import SetParameters  # noqa: E402
from rclpy.context import Context  # noqa: E402
from rclpy.executors import ExternalShutdownException  # noqa: E402
from rclpy.executors import SingleThreadedExecutor  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402

from structrl_ros.errors import SimulationError  # noqa: E402
from structrl_ros.nodes.policy_node import PolicyNode  # noqa: E402
from structrl_ros.types import ActionChunk  # noqa: E402
from structrl_ros.types import ChunkDone  # noqa: E402
from structrl_ros.types import Episode  # noqa: E402
from structrl_ros.types import Intervention  # noqa: E402
from structrl_ros.types import PolicySpec  # noqa: E402
from structrl_ros.types import Safety  # noqa: E402
from structrl_ros.types import SafetyState  # noqa: E402
from structrl_ros.types import Subtask  # noqa: E402
from structrl_ros.wire import topics  # noqa: E402
from structrl_ros.wire.chunk_codecs import intervention_to_message  # noqa: E402

pytestmark = pytest.mark.ros

SOUP = 'kinematic/soup_in_basket'
GRASP = Subtask('grasp(soup)', '', 'grasp', ('alphabet soup',), 0)


class StubPolicy:
    """A policy behind the port whose `think` a test gives; it counts what it is asked."""

    def __init__(self, think, *, roles=(), max_age_s=None, chunk_length=8):
        self.spec = PolicySpec(
            name='stub',
            action_space='ee_delta_pose',
            action_dimension=7,
            chunk_length=chunk_length,
            roles=roles,
            max_age_s=max_age_s or {},
        )
        self.think = think
        self.asked = []
        self.resets = []

    def reset(self, episode):
        self.resets.append(episode.episode)

    def act(self, observation, subtask, instruction):
        assert observation.simulator is None
        self.asked.append((observation, subtask, instruction))
        return self.think(len(self.asked))

    def close(self):
        pass


def still(_):
    return np.zeros((8, 7), np.float32)


class LocalNode:
    """A policy_node in this process, in its own context and thread."""

    def __init__(self, domain_id, policy, **parameters):
        self.context = Context()
        rclpy.init(context=self.context, domain_id=domain_id)
        values = {'use_sim_time': True, **parameters}
        self.node = PolicyNode(
            maker=lambda _, body: policy,
            context=self.context,
            parameter_overrides=[Parameter(k, value=v) for k, v in values.items()],
        )
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self.thread = threading.Thread(target=self._spin, daemon=True)
        self.thread.start()

    def _spin(self):
        while self.context.ok():
            try:
                self.executor.spin_once(timeout_sec=0.05)
            except ExternalShutdownException:
                return

    def close(self):
        self.node.close()
        self.context.try_shutdown()
        self.thread.join(5)
        self.executor.shutdown()


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


@pytest.fixture(scope='module')
def live_body():
    yield from bring_up(domain(10), lockstep=False, camera_rate_hz=20.0)


@pytest.fixture(scope='module')
def lockstep_body():
    yield from bring_up(domain(11), lockstep=True)


@pytest.fixture
def live(live_body):
    live_body.pursue(None, revision=1000)
    assert live_body.reset().accepted
    return live_body


@pytest.fixture
def local():
    """Give a function that brings up a policy_node, and end them after the test."""
    nodes = []

    def make(client, policy, **parameters):
        nodes.append(LocalNode(client.domain_id, policy, **parameters))
        return nodes[-1]

    yield make
    for node in nodes:
        node.close()


def count(client, kind=ActionChunk):
    return len([h for h in client.all(kind) if h.episode == client.episode.episode])


def test_expert_in_lockstep_solves_the_task_chunk_by_chunk(lockstep_body):
    client = lockstep_body
    client.reset()
    process = start_node(
        'policy_node', client.domain_id, policy='expert', lockstep=True, use_sim_time=True
    )
    try:
        client.pursue(PLACE)
        for k in range(1, 40):
            client.wait(lambda k=k: count(client, ChunkDone) >= k, f'chunk {k}')
            if client.last(ChunkDone).terminated:
                break
            client.pursue(PLACE, chunk=k, stamp_ns=client.last(ChunkDone).stamp_ns)
        assert client.last(ChunkDone).success
        chunks = [c for c in client.all(ActionChunk) if c.episode == client.episode.episode]
        assert [c.chunk for c in chunks] == list(range(1, len(chunks) + 1))
        assert {c.source for c in chunks} == {'expert'}
        assert client.last(Safety).state is not SafetyState.EMERGENCY
    finally:
        status, log = end_node(process)
    assert status == 0, log
    assert 'Traceback' not in log


def test_killed_policy_is_a_hold_within_two_periods_and_its_successor_goes_on(live):
    client = live
    parameters = {'policy': 'expert', 'use_sim_time': True}
    process = start_node('policy_node', client.domain_id, **parameters)
    client.pursue(PLACE)
    client.wait(lambda: count(client) >= 2, 'two chunks')
    process.kill()
    process.communicate()
    client.wait(client.is_holding, 'a hold')
    chunk, safety = client.last(ActionChunk), client.last(Safety)
    assert 'holding position' in safety.reason
    assert safety.stamp_ns <= chunk.stamp_ns + (len(chunk.actions) + 3) * 50_000_000
    successor = start_node('policy_node', client.domain_id, **parameters)
    try:
        client.wait(lambda: client.last(Episode).ended, 'the end of the task', 40.0)
        assert client.last(Episode).success
    finally:
        status, log = end_node(successor)
    assert status == 0, log


def test_next_chunk_is_asked_for_while_the_last_one_runs(live, local):
    client, policy = live, StubPolicy(still)
    local(client, policy, replan_steps=4)
    client.pursue(GRASP)
    client.wait(lambda: count(client) >= 6, 'six chunks')
    stamps = np.diff([c.stamp_ns for c in client.all(ActionChunk)[-5:]]) / 50_000_000
    assert (stamps >= 4).all()
    assert np.median(stamps) <= 5
    assert client.last(Safety).state is SafetyState.OK
    assert policy.asked[0][1] == GRASP
    assert policy.asked[0][2] == 'put the soup in the basket'


def test_node_answers_within_a_second_while_the_policy_thinks(live, local):
    client = live
    began = threading.Event()

    def slow(_):
        began.set()
        time.sleep(4.0)
        return still(0)

    node = local(client, StubPolicy(slow))
    client.pursue(GRASP)
    assert began.wait(10)
    asker = client.node.create_client(GetParameters, '/policy_node/get_parameters')
    assert asker.wait_for_service(10)
    at = time.monotonic()
    answer = client.call(asker, GetParameters.Request(names=['policy', 'replan_steps']))
    assert time.monotonic() - at < 1.0
    assert answer.values[0].string_value == 'expert'
    assert node.node.get_name() == 'policy_node'


@pytest.mark.parametrize('change', ['subtask', 'reset', 'takeover', 'hold'])
def test_what_is_under_way_is_dropped(live, local, change):
    client = live
    began, go = threading.Event(), threading.Event()

    def first_is_slow(n):
        if n == 1:
            began.set()
            go.wait(10)
        return np.full((8, 7), 0.1 if n == 1 else 0.2, np.float32)

    policy = StubPolicy(first_is_slow)
    local(client, policy)
    client.pursue(GRASP)
    assert began.wait(10)
    if change == 'subtask':
        client.pursue(PLACE, revision=2)
    elif change == 'reset':
        client.reset()
        client.pursue(PLACE, revision=2)
    elif change == 'takeover':
        message = Intervention(0, client.episode.episode, True, 'spacemouse', np.zeros(7))
        client.publishers[topics.INTERVENTION].publish(intervention_to_message(message))
    else:
        client.pursue(None, revision=2)
    time.sleep(0.5)
    before = len(client.all(ActionChunk))
    go.set()
    time.sleep(0.7)
    later = client.all(ActionChunk)[before:]
    assert all(c.actions[-1, 0] == np.float32(0.2) for c in later)
    if change in ('subtask', 'reset'):
        client.wait(lambda: len(client.all(ActionChunk)) > before, 'a chunk of the new subtask')
        assert policy.asked[-1][1] == PLACE
        assert client.last(ActionChunk).episode == client.episode.episode
    else:
        assert later == []
        assert client.is_holding()
    if change == 'takeover':
        message = Intervention(0, client.episode.episode, False, 'spacemouse', np.zeros(7))
        client.publishers[topics.INTERVENTION].publish(intervention_to_message(message))
        client.wait(lambda: len(client.all(ActionChunk)) > before, 'a chunk after the release')


def test_policy_that_raises_holds_the_body_and_is_tried_again(live, local):
    client = live

    def fails_twice(n):
        if n <= 2:
            raise SimulationError('the net is not well')
        return still(n)

    policy = StubPolicy(fails_twice)
    local(client, policy)
    client.pursue(GRASP)
    client.wait(lambda: len(policy.asked) == 2, 'a second try')
    assert count(client) == 0
    assert client.is_holding()
    client.wait(lambda: count(client) >= 1, 'a chunk at the third try')


def test_nan_of_a_policy_is_not_published(live, local):
    client = live
    policy = StubPolicy(lambda _: np.full((8, 7), np.nan, np.float32))
    local(client, policy)
    client.pursue(GRASP)
    client.wait(lambda: len(policy.asked) >= 2, 'two tries')
    assert count(client) == 0
    assert client.is_holding()


def test_frozen_camera_means_no_chunk_and_a_hold(live, local):
    client = live
    policy = StubPolicy(still, roles=('head',), max_age_s={'head': 0.6})
    local(client, policy, replan_steps=4)
    client.pursue(GRASP)
    client.wait(lambda: count(client) >= 2, 'chunks while the camera runs')
    seen = policy.asked[-1][0]
    assert seen.images['head'].shape[2] == 3
    assert seen.stamp_ns == seen.image_stamps_ns['head'] == seen.proprioception.stamp_ns
    setter = client.node.create_client(SetParameters, '/sim_node/set_parameters')
    assert setter.wait_for_service(10)
    frozen = Parameter('camera_rate_hz', value=0.0).to_parameter_msg()
    done = client.call(setter, SetParameters.Request(parameters=[frozen]))
    assert done.results[0].successful, done.results[0].reason
    try:
        time.sleep(1.5)
        client.wait(client.is_holding, 'a hold')
        before = count(client)
        time.sleep(0.8)
        assert count(client) == before
    finally:
        runs = Parameter('camera_rate_hz', value=20.0).to_parameter_msg()
        client.call(setter, SetParameters.Request(parameters=[runs]))
    client.wait(lambda: count(client) > before, 'chunks when the camera runs again')


def test_learned_policy_sees_no_privileged_state(live, local):
    client, policy = live, StubPolicy(still)
    local(client, policy)
    client.pursue(GRASP)
    client.wait(lambda: policy.asked, 'a question')
    names = client.node.get_subscriptions_info_by_topic('/privileged/state')
    assert [i.node_name for i in names] == ['client']


def test_checkpoint_is_refused_with_a_clear_line():
    process = start_node('policy_node', domain(12), policy='checkpoint', checkpoint='/tmp/none')
    time.sleep(3.0)
    assert process.poll() is None
    status, log = end_node(process)
    assert status == 0
    assert '/tmp/none' in log
    assert 'Traceback' not in log
