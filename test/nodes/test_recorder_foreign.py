"""recorder_node beside publishers that are not ours: every QoS is heard, no loss is silent."""

import signal
import subprocess
import sys
import time

import pytest

pytest.importorskip('rclpy', reason='needs the ROS 2 wheels: make install')
pytest.importorskip('structrl_msgs', reason='needs structrl_msgs: make install')

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import DurabilityPolicy
from rclpy.qos import QoSProfile
from rclpy.qos import ReliabilityPolicy
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState
from typer.testing import CliRunner

from structrl_ros.cli.main import app
from structrl_ros.nodes.recorder_inbox import compatible_qos
from structrl_ros.recording.bag_metadata import OFFERED
from structrl_ros.recording.bag_metadata import notes_on_topics
from structrl_ros.recording.bag_reader import BagReader
from structrl_ros.wire import topics
from structrl_ros.wire.qos import message_type
from structrl_ros.wire.qos import recorder_qos
from structrl_ros.wire.qos import subscriber_qos
from structrl_ros.wire.task_codecs import health_from_message

pytestmark = pytest.mark.ros

VOLATILE = QoSProfile(depth=5, durability=DurabilityPolicy.VOLATILE)
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class Neighbour:
    """A node that publishes as it likes, and reads what the recorder says of itself."""

    def __init__(self):
        self.context = rclpy.Context()
        self.context.init()
        self.node = rclpy.create_node('neighbour', namespace='/arm', context=self.context)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self.health = []
        self.node.create_subscription(
            message_type(topics.DIAGNOSTICS),
            topics.DIAGNOSTICS,
            lambda m: self.health.extend(health_from_message(m)),
            subscriber_qos(topics.DIAGNOSTICS),
        )

    def offer(self, topic, qos):
        return self.node.create_publisher(message_type(topic), topic, qos)

    def wait(self, condition):
        deadline = time.monotonic() + 60.0
        while not condition():
            assert time.monotonic() < deadline, 'waited too long'
            self.executor.spin_once(timeout_sec=0.02)

    def values(self):
        said = [h for h in self.health if h[0] == 'recorder_node: bag']
        return said[-1][3] if said else {}

    def close(self):
        self.executor.shutdown()
        self.node.destroy_node()
        self.context.shutdown()


@pytest.fixture
def neighbour():
    neighbour = Neighbour()
    yield neighbour
    neighbour.close()


@pytest.fixture
def recorder(tmp_path):
    command = [sys.executable, '-m', 'structrl_ros.nodes.recorder_node', '--ros-args']
    command += ['-r', '__ns:=/arm', '-p', f'directory:={tmp_path / "bag"}']
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    yield child
    if child.poll() is None:
        child.kill()
    child.wait()
    child.stdout.close()


def end(child):
    child.send_signal(signal.SIGINT)
    assert child.wait(timeout=60) == 0
    return child.stdout.read()


@pytest.mark.parametrize(
    ('topic', 'qos', 'words'),
    [
        (topics.JOINT_STATES, qos_profile_sensor_data, 'best effort, volatile'),
        (topics.PLAN, VOLATILE, 'reliable, volatile'),
    ],
    ids=['best effort', 'not latched'],
)
def test_publisher_that_offers_less_than_the_contract_is_heard(
    neighbour, recorder, tmp_path, topic, qos, words
):
    publisher = neighbour.offer(topic, qos)
    neighbour.wait(lambda: publisher.get_subscription_count())
    neighbour.wait(lambda: topic in neighbour.values().get('connected', '').split())
    kind, sent, before = message_type(topic), 0, int(neighbour.values()['messages'])
    while int(neighbour.values()['messages']) < before + 20 and sent < 3000:
        message = kind()
        message.header.stamp.sec = sent = sent + 1
        publisher.publish(message)
        neighbour.executor.spin_once(timeout_sec=0.02)
    said = end(recorder)
    assert words in said, said
    reader = BagReader(tmp_path / 'bag')
    found = [m.header.stamp.sec for *_, m in reader.messages([f'/arm/{topic}'])]
    assert len(found) >= 5, said
    assert found == sorted(set(found))
    assert len(found) + reader.missing.get(f'/arm/{topic}', 0) == found[-1] - found[0] + 1
    assert notes_on_topics(tmp_path / 'bag', OFFERED) == {f'/arm/{topic}': words}


def test_what_a_stopped_recorder_missed_is_counted_to_the_last_message(
    neighbour, recorder, tmp_path
):
    publisher = neighbour.offer(topics.JOINT_STATES, qos_profile_sensor_data)
    neighbour.wait(lambda: publisher.get_subscription_count())
    neighbour.wait(lambda: topics.JOINT_STATES in neighbour.values().get('connected', '').split())
    sent = 0

    def publish(count):
        nonlocal sent
        for _ in range(count):
            sent += 1
            publisher.publish(JointState(name=[str(sent)], position=[0.0] * 100))

    def is_heard():
        publish(1)
        return int(neighbour.values()['messages']) >= before + 20

    name, before = f'/arm/{topics.JOINT_STATES}', int(neighbour.values()['messages'])
    neighbour.wait(is_heard)
    early = sent
    recorder.send_signal(signal.SIGSTOP)
    publish(5000)
    recorder.send_signal(signal.SIGCONT)

    def is_reported():
        publish(1)
        return f'gap {name}' in neighbour.values()

    neighbour.wait(is_reported)
    assert f'{name}: ' in end(recorder)
    reader = BagReader(tmp_path / 'bag')
    numbers = [int(m.name[0]) for *_, m in reader.messages([name])]
    assert numbers[0] <= early
    assert reader.missing[name] > 0
    assert len(numbers) + reader.missing[name] == numbers[-1] - numbers[0] + 1
    shown = CliRunner().invoke(app, ['bag', 'info', str(tmp_path / 'bag')]).output
    assert str(reader.missing[name]) in shown


def test_all_publishers_of_a_topic_decide_how_it_is_heard():
    wanted = recorder_qos(topics.PLAN)
    best_effort = qos_profile_sensor_data

    def heard(*offered):
        qos = compatible_qos(wanted, offered)
        return qos.reliability, qos.durability

    reliable, latched = ReliabilityPolicy.RELIABLE, DurabilityPolicy.TRANSIENT_LOCAL
    assert heard() == heard(LATCHED) == (reliable, latched)
    assert heard(LATCHED, VOLATILE) == (reliable, DurabilityPolicy.VOLATILE)
    assert heard(LATCHED, best_effort) == (
        ReliabilityPolicy.BEST_EFFORT,
        DurabilityPolicy.VOLATILE,
    )
