"""The service `record` of recorder_node: one bag ends, the next begins, nothing is overwritten."""

import time

import pytest

pytest.importorskip('rclpy', reason='needs the ROS 2 wheels: make install')
pytest.importorskip('structrl_msgs', reason='needs structrl_msgs: make install')

import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from ros_domains import claimed_domain
from std_srvs.srv import SetBool

from structrl_ros.nodes.recorder_node import RecorderNode
from structrl_ros.recording.bag_reader import BagReader
from structrl_ros.types import Episode
from structrl_ros.types import Reward
from structrl_ros.wire import topics
from structrl_ros.wire.body_codecs import episode_to_message
from structrl_ros.wire.qos import message_type
from structrl_ros.wire.qos import publisher_qos
from structrl_ros.wire.reward_codecs import reward_to_message

pytestmark = pytest.mark.ros


class Graph:
    """A recorder and a node that publishes to it, in one executor."""

    def __init__(self, directory):
        self.context = Context()
        rclpy.init(context=self.context, domain_id=claimed_domain('recorder service'))
        self.recorder = RecorderNode(
            context=self.context,
            parameter_overrides=[Parameter('directory', value=str(directory))],
        )
        self.other = rclpy.create_node('other', context=self.context)
        self.sent = {
            topic: self.other.create_publisher(message_type(topic), topic, publisher_qos(topic))
            for topic in (topics.EPISODE, topics.REWARD)
        }
        self.client = self.other.create_client(SetBool, topics.RECORD)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.recorder)
        self.executor.add_node(self.other)

    def spin_until(self, happened, limit_s=60.0):
        end = time.monotonic() + limit_s
        while not happened():
            assert time.monotonic() < end
            self.executor.spin_once(timeout_sec=0.05)

    def record(self, on):
        self.spin_until(self.client.service_is_ready)
        future = self.client.call_async(SetBool.Request(data=on))
        self.spin_until(future.done)
        return future.result()

    def reward(self, chunk):
        """Publish a reward once somebody is there to hear it, and let it be heard."""
        publisher = self.sent[topics.REWARD]
        self.spin_until(publisher.get_subscription_count)
        before = self.recorder._bags.counts.total()
        publisher.publish(reward_to_message(Reward(chunk, 1, chunk, 0.5, (), 0.5, False, False)))
        self.spin_until(lambda: self.recorder._bags.counts.total() > before)

    def hear(self, topic):
        """Wait until the bag has a message of a topic; what is latched comes in its own time."""
        self.spin_until(lambda: self.recorder._bags.counts[topic])

    def close(self):
        self.recorder.close()
        self.executor.shutdown()
        self.context.try_shutdown()


@pytest.fixture
def graph(tmp_path):
    graph = Graph(tmp_path / 'bag')
    yield graph
    graph.close()


def chunks(path):
    reader = BagReader(path).raw_messages()
    return sum(1 for m in reader if m.topic == '/reward')


def test_a_bag_ends_and_the_next_begins_beside_it_with_what_is_latched(graph, tmp_path):
    episode = Episode(1, 1, False, 'twin', 't', 'i', 0, 0)
    graph.sent[topics.EPISODE].publish(episode_to_message(episode))
    graph.hear('/episode')
    graph.reward(1)
    ended = graph.record(False)
    assert ended.success, ended.message
    assert 'ended' in ended.message
    began = graph.record(True)
    assert began.success, began.message
    graph.hear('/episode')
    graph.reward(2)
    graph.reward(3)
    assert graph.record(False).success
    assert chunks(tmp_path / 'bag') == 1
    assert chunks(tmp_path / 'bag_2') == 2
    assert '/episode' in {m.topic for m in BagReader(tmp_path / 'bag_2').raw_messages()}


def test_asking_for_what_is_so_already_changes_nothing(graph, tmp_path):
    again = graph.record(True)
    assert not again.success
    assert 'nothing to do' in again.message
    assert graph.record(False).success
    assert not graph.record(False).success
    assert [path.name for path in tmp_path.iterdir()] == ['bag']
