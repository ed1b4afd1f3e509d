"""recorder_node as a process on real Fast DDS: equal bytes, late start, signals, a full disk."""

import resource
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
from rclpy.serialization import deserialize_message

from structrl_ros.nodes.recorded_topics import recorded_topics
from structrl_ros.recording.bag_reader import BagReader
from structrl_ros.recording.decoding import decode
from structrl_ros.recording.decoding import is_decodable
from structrl_ros.recording.message_types import message_types
from structrl_ros.types import ActionChunk
from structrl_ros.types import ChunkDone
from structrl_ros.types import Episode
from structrl_ros.types import Intervention
from structrl_ros.types import Plan
from structrl_ros.types import Predicates
from structrl_ros.types import Progress
from structrl_ros.types import Proprioception
from structrl_ros.types import Reward
from structrl_ros.types import Safety
from structrl_ros.types import SafetyState
from structrl_ros.types import SimulatorState
from structrl_ros.types import Subtask
from structrl_ros.types import SubtaskStatus
from structrl_ros.types import Verdict
from structrl_ros.wire import topics
from structrl_ros.wire.body_codecs import episode_to_message
from structrl_ros.wire.body_codecs import safety_to_message
from structrl_ros.wire.body_codecs import simulator_state_to_message
from structrl_ros.wire.chunk_codecs import action_chunk_to_message
from structrl_ros.wire.chunk_codecs import chunk_done_to_message
from structrl_ros.wire.chunk_codecs import intervention_to_message
from structrl_ros.wire.image_codecs import image_to_message
from structrl_ros.wire.plan_codecs import plan_to_message
from structrl_ros.wire.plan_codecs import subtask_status_to_message
from structrl_ros.wire.plan_codecs import verdict_to_message
from structrl_ros.wire.proprioception_codecs import proprioception_to_messages
from structrl_ros.wire.qos import TOPICS
from structrl_ros.wire.qos import message_type
from structrl_ros.wire.qos import publisher_qos
from structrl_ros.wire.qos import subscriber_qos
from structrl_ros.wire.reward_codecs import predicates_to_message
from structrl_ros.wire.reward_codecs import progress_to_message
from structrl_ros.wire.reward_codecs import reward_to_message
from structrl_ros.wire.stamps import clock_to_message
from structrl_ros.wire.task_codecs import HealthLevel
from structrl_ros.wire.task_codecs import health_from_message
from structrl_ros.wire.task_codecs import health_to_message

pytestmark = pytest.mark.ros

SECOND = 1_000_000_000
ROWS = np.arange(14, dtype=np.float32).reshape(2, 7)
HEAD = topics.image_topic('head')


def stream(k):
    """One message of every streamed topic, the k-th, all stamped alike."""
    stamp = SECOND + k * 100_000_000
    arm = Proprioception(
        stamp, ('j1', 'j2'), np.zeros(2), np.ones(2), np.array([0, 0, 0, 0, 0, 0, 1.0]), np.ones(2)
    )
    parts = proprioception_to_messages(arm)
    pixels = np.full((8, 8, 3), k, dtype=np.uint8)
    state = SimulatorState(stamp, 1, k, 8 * k, 'long/0', 7, 1, np.arange(5.0))
    progress = Progress(stamp, 1, k, 0.1, 0.2, 0.3, False, 0.4, 0.5, 0.25, True)
    return {
        topics.CLOCK: clock_to_message(stamp),
        HEAD: image_to_message(pixels, stamp, 'head_optical'),
        topics.JOINT_STATES: parts.joint_states,
        topics.EE_POSE: parts.ee_pose,
        topics.PREDICATES: predicates_to_message(
            Predicates(stamp, 1, k, 8 * k, ('a', 'b'), (True, False), False)
        ),
        topics.ACTION_CHUNK: action_chunk_to_message(
            ActionChunk(stamp, 1, k, 'policy', 'ee_delta_pose', 0.05, ROWS)
        ),
        topics.CHUNK_DONE: chunk_done_to_message(
            ChunkDone(stamp, 1, k, 2, False, False, False, ROWS)
        ),
        topics.VERDICT: verdict_to_message(Verdict(stamp, 1, 0, 's1', False, 0.5, 0.25, 'rules')),
        topics.REWARD: reward_to_message(
            Reward(stamp, 1, k, 0.1, (('a', 0.1),), 0.1, False, False)
        ),
        topics.PROGRESS: progress_to_message(progress),
        topics.INTERVENTION: intervention_to_message(Intervention(stamp, 1, True, 'x', ROWS[0])),
        topics.PRIVILEGED_STATE: simulator_state_to_message(state),
        topics.DIAGNOSTICS: health_to_message(stamp, 'test', HealthLevel.OK, 'fine', {'k': k}),
    }


def latched():
    plan = Plan(SECOND, 1, 'do it', (Subtask('s1', 'grasp a', 'grasp', ('a',), 0),), '', 'rules')
    episode = Episode(SECOND, 1, False, 'libero', 'long/0', 'do it', 7, 1, objects=('a',))
    status = SubtaskStatus(SECOND, 1, 0, 1, 's1', (), ('s1',), ())
    return {
        topics.PLAN: plan_to_message(plan),
        topics.EPISODE: episode_to_message(episode),
        topics.SUBTASK: subtask_status_to_message(status),
        topics.SAFETY: safety_to_message(Safety(SECOND, SafetyState.OK, '')),
    }


class World:
    """Publishes in this process; the recorder runs in another."""

    def __init__(self):
        self.context = rclpy.Context()
        self.context.init()
        self.node = rclpy.create_node('world', namespace='/arm', context=self.context)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self.publishers, self.sent, self.health = {}, {}, []
        self.node.create_subscription(
            message_type(topics.DIAGNOSTICS),
            topics.DIAGNOSTICS,
            lambda m: self.health.extend(health_from_message(m)),
            subscriber_qos(topics.DIAGNOSTICS),
        )

    def publish(self, topic, message):
        if topic not in self.publishers:
            self.publishers[topic] = self.node.create_publisher(
                type(message), topic, publisher_qos(topic)
            )
        self.sent.setdefault(self.node.resolve_topic_name(topic), []).append(message)
        self.publishers[topic].publish(message)

    def offer(self, names):
        for topic in names:
            self.publishers[topic] = self.node.create_publisher(
                message_type(topic), topic, publisher_qos(topic)
            )

    def wait(self, condition, limit_s=60.0):
        deadline = time.monotonic() + limit_s
        while not condition():
            assert time.monotonic() < deadline, 'waited too long'
            self.executor.spin_once(timeout_sec=0.02)

    def rest(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.executor.spin_once(timeout_sec=0.01)

    def recorder_health(self):
        return [h for h in self.health if h[0] == 'recorder_node: bag']

    def recorder_hears(self):
        said = self.recorder_health()
        return set(said[-1][3]['connected'].split()) if said else set()

    def wait_for_reports(self, count):
        wanted = len(self.recorder_health()) + count
        self.wait(lambda: len(self.recorder_health()) >= wanted)

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
def start():
    children = []

    def start(*parameters, limit=None):
        command = [sys.executable, '-m', 'structrl_ros.nodes.recorder_node', '--ros-args']
        command += ['-r', '__ns:=/arm']
        for parameter in parameters:
            command += ['-p', parameter]

        def small_files():
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        child = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            preexec_fn=small_files if limit else None,
        )
        children.append(child)
        return child

    yield start
    for child in children:
        if child.poll() is None:
            child.kill()
        child.wait()
        child.stdout.close()


def end(child, number=signal.SIGINT):
    child.send_signal(number)
    return child.wait(timeout=60)


def test_every_topic_is_recorded_equal_and_latched_ones_are_seen_late(world, start, tmp_path):
    for topic, message in latched().items():
        world.publish(topic, message)
    first = stream(1)
    world.offer(first)
    child = start(f'directory:={tmp_path / "bag"}', 'images:=head')
    world.wait(
        lambda: all(
            p.get_subscription_count()
            for t, p in world.publishers.items()
            if t != topics.DIAGNOSTICS
        )
    )
    world.wait(lambda: world.publishers[topics.DIAGNOSTICS].get_subscription_count() > 1)
    world.wait(lambda: set(world.publishers) <= world.recorder_hears())
    for k in range(1, 6):
        for topic, message in stream(k).items():
            world.publish(topic, message)
        world.rest(0.2)
    world.wait_for_reports(2)
    assert end(child) == 0, child.stdout.read()
    reader = BagReader(tmp_path / 'bag')
    assert not reader.is_cut
    found = {}
    for raw in reader.raw_messages():
        found.setdefault(raw.topic, []).append(raw.data)
    for topic, messages in world.sent.items():
        got = [deserialize_message(data, type(messages[0])) for data in found[topic]]
        assert [m for m in got if topic != '/diagnostics' or m in messages] == messages, topic
    for raw in reader.raw_messages():
        if is_decodable(raw.msgtype):
            decode(raw.msgtype, reader.decode(raw))
    assert not [t for t in reader.topics if 'wrist' in t]


def test_type_hashes_in_the_bag_are_those_of_ros(world):
    world.offer(TOPICS)
    for topic in TOPICS:
        name = world.node.resolve_topic_name(topic)
        (info, *_) = world.node.get_publishers_info_by_topic(name)
        assert message_types().hash_rihs01(info.topic_type) == str(info.topic_type_hash), topic


def test_missing_chunks_are_counted_and_named(world, start, tmp_path):
    world.offer([topics.REWARD])
    child = start(f'directory:={tmp_path / "bag"}', 'images:=none')
    world.wait(lambda: world.publishers[topics.REWARD].get_subscription_count() > 0)
    for k in (1, 2, 6):
        world.publish(topics.REWARD, stream(k)[topics.REWARD])
    world.wait(lambda: any('gap /arm/reward' in h[3] for h in world.recorder_health()))
    _, level, text, values = world.recorder_health()[-1]
    assert (level, values['gap /arm/reward']) == (HealthLevel.WARN, '3')
    assert 'reward' in values['connected'].split()
    assert 'plan' not in values['connected'].split()
    assert '3 missing' in text
    assert end(child) == 0


def test_full_disk_stops_the_recording_and_not_the_node(world, start, tmp_path):
    world.offer([HEAD, topics.REWARD])
    child = start(f'directory:={tmp_path / "bag"}', limit=2_500_000)
    world.wait(lambda: all(p.get_subscription_count() for p in world.publishers.values()))
    picture = np.zeros((224, 224, 3), dtype=np.uint8)

    def is_full():
        world.publish(HEAD, image_to_message(picture, SECOND))
        return any(h[1] is HealthLevel.ERROR for h in world.recorder_health())

    world.wait(is_full)
    assert 'recording stopped: File too large' in world.recorder_health()[-1][2]
    assert child.poll() is None
    world.publish(HEAD, image_to_message(picture, 2 * SECOND))
    world.wait(lambda: int(world.recorder_health()[-1][3]['lost']) >= 1)
    assert end(child, signal.SIGTERM) == 0
    assert child.stdout.read().count('recording stopped') >= 1
    kept = sum(len(m.data) for m in BagReader(tmp_path / 'bag').raw_messages())
    assert 500_000 < kept < 2_500_000


def test_without_directory_the_node_says_that_it_does_not_record(world, start):
    child = start()
    world.wait(lambda: world.recorder_health())
    assert 'nothing is recorded' in world.recorder_health()[-1][2]
    assert end(child) == 0


def test_existing_folder_is_refused_in_one_line(start, tmp_path):
    child = start(f'directory:={tmp_path}')
    assert child.wait(timeout=30) == 1
    assert child.stdout.read().strip().endswith('give a new folder')


def test_unknown_choice_of_images_is_refused(start, tmp_path):
    child = start(f'directory:={tmp_path / "bag"}', 'images:=some')
    assert child.wait(timeout=30) == 1
    assert 'allowed: head, all, none' in child.stdout.read()
    assert not (tmp_path / 'bag').exists()


def test_images_parameter_chooses_cameras_with_their_intrinsics_and_depth():
    assert recorded_topics('all') == TOPICS
    head = set(recorded_topics('head')) - set(recorded_topics('none'))
    assert head == {HEAD, topics.camera_info_topic('head'), topics.depth_topic('head')}
