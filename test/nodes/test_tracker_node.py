"""tracker_node as a process on real Fast DDS: live rewards are those of `structrl score`."""

import json
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='needs the ROS 2 wheels: make install')
pytest.importorskip('structrl_msgs', reason='needs structrl_msgs: make install')

import rclpy
from rclpy.executors import SingleThreadedExecutor

from structrl_ros.cli.score import score_document
from structrl_ros.errors import ParameterError
from structrl_ros.params.tracker import TrackerParameters
from structrl_ros.rewards.ledger import audit
from structrl_ros.rewards.structured import StructuredReward
from structrl_ros.subtasks.settings_text import SETTINGS_KEY
from structrl_ros.subtasks.settings_text import settings_from_text
from structrl_ros.subtasks.tracker import Tracker
from structrl_ros.types import ChunkDone
from structrl_ros.types import Episode
from structrl_ros.types import Plan
from structrl_ros.types import Predicates
from structrl_ros.types import Subtask
from structrl_ros.types import Verdict
from structrl_ros.wire import topics
from structrl_ros.wire.body_codecs import episode_to_message
from structrl_ros.wire.chunk_codecs import chunk_done_to_message
from structrl_ros.wire.plan_codecs import plan_to_message
from structrl_ros.wire.plan_codecs import subtask_status_from_message
from structrl_ros.wire.plan_codecs import verdict_to_message
from structrl_ros.wire.qos import message_type
from structrl_ros.wire.qos import publisher_qos
from structrl_ros.wire.qos import subscriber_qos
from structrl_ros.wire.reward_codecs import predicates_to_message
from structrl_ros.wire.reward_codecs import reward_from_message
from structrl_ros.wire.task_codecs import health_from_message

pytestmark = pytest.mark.ros

SECOND = 1_000_000_000
THINGS = ('soup', 'milk', 'butter')
NAMES = tuple(f'grasp({t}_1)' for t in THINGS) + tuple(f'in({t}_1, basket_1)' for t in THINGS)
DURATIONS = {name: 1.5 + index for index, name in enumerate(NAMES)}
SENT = (
    (Episode, topics.EPISODE, episode_to_message),
    (Plan, topics.PLAN, plan_to_message),
    (Verdict, topics.VERDICT, verdict_to_message),
    (Predicates, topics.PREDICATES, predicates_to_message),
    (ChunkDone, topics.CHUNK_DONE, chunk_done_to_message),
)


class World:
    """Publishes what body and planner would; listens to the tracker, which is another process."""

    def __init__(self):
        self.context = rclpy.Context()
        self.context.init()
        self.node = rclpy.create_node('world', context=self.context)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self.publishers = {
            kind: (self.node.create_publisher(message_type(t), t, publisher_qos(t)), encode)
            for kind, t, encode in SENT
        }
        self.rewards, self.health = [], []
        self.statuses = self.listen_to_status()
        self.listen(topics.REWARD, lambda m: self.rewards.append(reward_from_message(m)))
        self.listen(topics.DIAGNOSTICS, lambda m: self.health.extend(health_from_message(m)))

    def listen(self, topic, take):
        self.node.create_subscription(message_type(topic), topic, take, subscriber_qos(topic))

    def listen_to_status(self):
        heard = []
        self.listen(topics.SUBTASK, lambda m: heard.append(subtask_status_from_message(m)))
        return heard

    def send(self, *messages):
        for message in messages:
            publisher, encode = self.publishers[type(message)]
            publisher.publish(encode(message))

    def wait(self, condition, limit_s=30.0):
        deadline = time.monotonic() + limit_s
        while not condition():
            assert time.monotonic() < deadline, 'waited too long'
            self.executor.spin_once(timeout_sec=0.02)

    def ready(self):
        return all(p.get_subscription_count() for p, _ in self.publishers.values()) and all(
            self.node.count_publishers(topic) for topic in (topics.REWARD, topics.SUBTASK)
        )

    def close(self):
        self.executor.shutdown()
        self.node.destroy_node()
        self.context.shutdown()


@pytest.fixture
def world():
    world = World()
    yield world
    world.close()


@pytest.fixture
def durations_file(tmp_path):
    path = tmp_path / 'durations.json'
    path.write_text(json.dumps(DURATIONS))
    return path


@pytest.fixture
def tracker(durations_file):
    command = [sys.executable, '-m', 'structrl_ros.nodes.tracker_node', '--ros-args']
    for parameter in ('lockstep:=true', 'cap:=1.7', f'durations_file:={durations_file}'):
        command += ['-p', parameter]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    yield child
    if child.poll() is None:
        child.send_signal(signal.SIGINT)
    try:
        child.communicate(timeout=20)
    except subprocess.TimeoutExpired:
        child.kill()
        child.communicate()


def plan_of(random, stamp, revision):
    subtasks, stage = [], 0
    for thing in random.permutation(THINGS)[:2]:
        subtasks.append(Subtask(f'grasp({thing})', '', 'grasp', (str(thing),), stage))
        place = (f'place({thing}, basket)', '', 'place', (str(thing), 'basket'), stage + 1)
        subtasks.append(Subtask(*place))
        stage += int(random.integers(0, 3))
    return Plan(stamp, revision, 'go', tuple(subtasks))


def lockstep_run(random):
    """Return groups of messages: after each, the tracker owes a status or a reward."""
    now, groups = SECOND, []
    for number in (1, 2):
        now += SECOND
        begin = Episode(now, number, False, 'libero', 't', 'go', 0, 0)
        truth = Predicates(now, number, 0, 0, NAMES, (False,) * len(NAMES), False)
        plan, index = plan_of(random, now, 1), 0
        groups += [[begin, truth], [plan]]
        for chunk in range(1, 13):
            now += SECOND
            is_last = chunk == 12
            values = tuple(bool(v) for v in random.random(len(NAMES)) < 0.2)
            rows = np.zeros((8, 7), dtype=np.float32)
            group = [
                ChunkDone(now, number, chunk, 8, is_last, False, is_last, rows),
                Predicates(now, number, chunk, 8 * chunk, NAMES, values, is_last),
            ]
            is_done, stop = bool(random.random() < 0.3), bool(random.random() < 0.1)
            if index < len(plan.subtasks):
                id_ = plan.subtasks[index].id
                group.append(
                    Verdict(now, plan.revision, index, id_, is_done, 0.9, 0.02, 'rules', stop)
                )
                index += is_done
            groups.append([group[i] for i in random.permutation(len(group))])
            if stop and not is_last:
                plan, index = plan_of(random, now, plan.revision + 1), 0
                groups.append([plan])
    return groups


def test_live_rewards_equal_score_to_the_last_bit_and_status_is_latched(
    world, tracker, durations_file
):
    world.wait(world.ready)
    settings = TrackerParameters(
        lockstep=True, cap=1.7, durations_file=str(durations_file)
    ).settings()
    twin = Tracker(settings, StructuredReward)
    for group in lockstep_run(np.random.default_rng(3)):
        statuses = len(world.statuses)
        world.send(*group)
        for message in group:
            twin.consume(message)
        world.wait(lambda before=statuses: len(world.statuses) > before)
    world.wait(lambda: len(world.rewards) == 24)
    scored, is_fine = score_document('structured_reward', json.loads(json.dumps(twin.trace())))
    values = [value for case in scored['cases'] for value in case['output']['rewards']]
    assert is_fine
    assert [reward.value for reward in world.rewards] == values
    assert len({reward.value for reward in world.rewards}) > 4
    assert audit(world.rewards) == []

    late = world.listen_to_status()
    world.wait(lambda: late)
    assert late == [world.statuses[-1]]
    assert (late[0].episode, late[0].chunk, late[0].current) == (2, 12, '')

    mine = [values for name, _, _, values in world.health if name == 'tracker_node: tracker']
    assert settings_from_text(mine[-1][SETTINGS_KEY]) == settings


@pytest.mark.parametrize(
    ('content', 'fault'),
    [(None, 'No such file'), ('[', 'no JSON'), ('[]', 'an object'), ('{"a": -1}', 'a is -1')],
)
def test_wrong_durations_file_is_one_line(tmp_path, content, fault):
    path = tmp_path / 'durations.json'
    if content is not None:
        path.write_text(content)
    with pytest.raises(ParameterError, match=fault):
        TrackerParameters(durations_file=str(path)).settings()


def test_node_with_a_wrong_parameter_ends_with_one_line():
    command = [sys.executable, '-m', 'structrl_ros.nodes.tracker_node', '--ros-args']
    result = subprocess.run(
        [*command, '-p', 'pacing:=fast'], capture_output=True, text=True, timeout=60, check=False
    )
    assert result.returncode == 1
    assert 'tracker_node' in result.stderr
    assert "'pacing' is 'fast'; allowed: auto" in result.stderr
    assert 'Traceback' not in result.stderr
