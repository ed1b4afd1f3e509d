"""mirror_node over real topics: joints in; truth, privileged state and pictures out."""

import time

import numpy as np
import pytest

pytest.importorskip('rclpy')
pytest.importorskip('structrl_msgs')
pytest.importorskip('mujoco')

import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from ros_domains import claimed_domain
from sensor_msgs.msg import JointState

from structrl_ros.errors import SimulationError
from structrl_ros.nodes.mirror_node import MirrorNode
from structrl_ros.types import ChunkDone
from structrl_ros.types import Episode
from structrl_ros.types import Proprioception
from structrl_ros.wire import topics
from structrl_ros.wire.body_codecs import episode_to_message
from structrl_ros.wire.body_codecs import simulator_state_from_message
from structrl_ros.wire.chunk_codecs import chunk_done_to_message
from structrl_ros.wire.image_codecs import image_from_message
from structrl_ros.wire.proprioception_codecs import proprioception_to_messages
from structrl_ros.wire.qos import message_type
from structrl_ros.wire.qos import publisher_qos
from structrl_ros.wire.qos import recorder_qos
from structrl_ros.wire.reward_codecs import predicates_from_message

pytestmark = [pytest.mark.ros, pytest.mark.sim]

SECOND = 1_000_000_000
START = np.array([0.0, 0.0, 0.0, -1.57, 0.0, 1.57, 0.785])
HEARD = {
    topics.PREDICATES: predicates_from_message,
    topics.PRIVILEGED_STATE: simulator_state_from_message,
    topics.image_topic('head'): image_from_message,
    topics.camera_info_topic('head'): lambda message: message,
}


class Arm:
    """Stands for arm_node, and hears the mirror."""

    def __init__(self, number, **parameters):
        self.context = Context()
        rclpy.init(context=self.context, domain_id=claimed_domain(number))
        values = [Parameter(name, value=value) for name, value in parameters.items()]
        self.mirror = MirrorNode(context=self.context, parameter_overrides=values)
        self.node = rclpy.create_node('arm_node', context=self.context)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.mirror)
        self.executor.add_node(self.node)
        self.heard = {topic: [] for topic in HEARD}
        for topic, decode in HEARD.items():
            keep = self.heard[topic]
            self.node.create_subscription(
                message_type(topic),
                topic,
                lambda m, keep=keep, decode=decode: keep.append(decode(m)),
                recorder_qos(topic),
            )
        self.senders = {
            topic: self.node.create_publisher(message_type(topic), topic, publisher_qos(topic))
            for topic in (topics.EPISODE, topics.JOINT_STATES, topics.CHUNK_DONE)
        }
        self.now_ns = SECOND

    def wait(self, true, meanwhile=lambda: None):
        end = time.monotonic() + 60.0
        while not true():
            assert time.monotonic() < end
            meanwhile()
            self.executor.spin_once(timeout_sec=0.02)

    def begin(self, number):
        episode = Episode(self.now_ns, number, False, 'fr3', 'apple_in_bowl', 'do it', 0, 0)
        self.senders[topics.EPISODE].publish(episode_to_message(episode))

    def measure(self, position=START):
        self.now_ns += SECOND // 10
        names = tuple(f'fr3_joint{i + 1}' for i in range(7))
        state = Proprioception(
            self.now_ns, names, position, np.zeros(7), np.eye(7)[6], np.full(2, 0.04)
        )
        message = proprioception_to_messages(state).joint_states
        self.senders[topics.JOINT_STATES].publish(message)

    def finish(self, episode, chunk):
        executed = np.zeros((2, 7), np.float32)
        done = ChunkDone(self.now_ns, episode, chunk, 2, False, False, False, executed)
        self.senders[topics.CHUNK_DONE].publish(chunk_done_to_message(done))

    def close(self):
        self.mirror.close()
        self.executor.shutdown()
        self.mirror.destroy_node()
        self.node.destroy_node()
        rclpy.try_shutdown(context=self.context)


@pytest.fixture
def arm():
    arm = Arm(11, task='apple_in_bowl', image_size=64, camera_rate_hz=10.0)
    yield arm
    arm.close()


def test_each_chunk_of_the_arm_gets_its_truth_and_each_state_its_scene(arm):
    truth, states = arm.heard[topics.PREDICATES], arm.heard[topics.PRIVILEGED_STATE]
    arm.begin(1)
    arm.wait(lambda: truth and states, arm.measure)
    assert (truth[0].episode, truth[0].chunk, truth[0].truth) == (1, 0, frozenset())
    assert truth[0].names == ('in(apple_1, bowl_1_contain_region)', 'grasp(apple_1)')
    assert (states[-1].task, states[-1].seed, states[-1].episode) == ('apple_in_bowl', 0, 1)
    arm.wait(lambda: truth[-1].chunk == 7, lambda: arm.finish(1, 7))
    assert truth[-1].stamp_ns == arm.now_ns
    arm.begin(2)
    arm.wait(lambda: states[-1].episode == 2, arm.measure)
    seen = len(truth)
    arm.finish(1, 8)  # of an episode that is over
    arm.finish(2, 1)
    arm.wait(lambda: truth[-1].chunk == 1)
    assert {(t.episode, t.chunk) for t in truth[seen:]} <= {(2, 0), (2, 1)}


def test_pictures_follow_the_joints_and_carry_their_stamp(arm):
    pictures, infos = (
        arm.heard[topics.image_topic('head')],
        arm.heard[topics.camera_info_topic('head')],
    )
    arm.begin(1)
    arm.wait(lambda: pictures and infos, arm.measure)
    assert pictures[-1][1].shape == (64, 64, 3)
    assert infos[-1].k[0] == pytest.approx(32.0 / np.tan(np.deg2rad(28.0)), rel=1e-3)
    before = pictures[-1][1].astype(int)
    moved_ns = arm.now_ns
    down = START + np.array([0.0, 0.5, 0.0, -0.3, 0.0, 0.3, 0.0])
    arm.wait(lambda: pictures[-1][0] > moved_ns + SECOND // 5, lambda: arm.measure(down))
    assert (np.abs(pictures[-1][1] - before).max(axis=2) > 30).mean() > 0.01


def test_joints_that_are_no_arm_are_left_alone(arm):
    states = arm.heard[topics.PRIVILEGED_STATE]
    arm.begin(1)
    arm.wait(lambda: states, arm.measure)
    before = states[-1].step
    for broken in ([0.0] * 5, [float('nan')] * 9):
        message = JointState(position=broken, velocity=[0.0] * len(broken))
        arm.senders[topics.JOINT_STATES].publish(message)
    arm.wait(lambda: states[-1].step > before, arm.measure)
    assert np.isfinite(states[-1].state).all()


def test_a_task_that_cannot_be_mirrored_ends_the_node_with_one_line():
    context = Context()
    rclpy.init(context=context, domain_id=claimed_domain(11))
    values = [Parameter('task', value='drawer_store')]
    with pytest.raises(SimulationError, match="'drawer_store' cannot be mirrored; allowed"):
        MirrorNode(context=context, parameter_overrides=values)
    rclpy.try_shutdown(context=context)
