"""replayer_node steered over ROS: it waits, pauses, steps, seeks, and tells what is latched."""

import time

import pytest

pytest.importorskip('rclpy', reason='needs the ROS 2 wheels: make install')
pytest.importorskip('structrl_msgs', reason='needs structrl_msgs: make install')

import rclpy
from rcl_interfaces.srv import SetParameters
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from std_srvs.srv import SetBool
from std_srvs.srv import Trigger
from structrl_msgs.msg import Subtask

from structrl_ros.nodes.replay_outlets import NEEDED
from structrl_ros.nodes.replayer_node import ReplayerNode
from structrl_ros.wire import topics
from structrl_ros.wire.qos import message_type
from structrl_ros.wire.qos import publisher_qos
from structrl_ros.wire.qos import recorder_qos

pytestmark = pytest.mark.ros

CHUNKS = 6
STEP = Subtask(id='s1', phrase='grasp it', verb='grasp')


class Stage:
    """A player in this process, somebody who listens, and somebody who steers."""

    def __init__(self, bag, **parameters):
        self.context = rclpy.Context()
        self.context.init()
        options = [Parameter(k, value=v) for k, v in {'bag': str(bag), **parameters}.items()]
        self.player = ReplayerNode(context=self.context, parameter_overrides=options)
        self.ear = rclpy.create_node('ear', context=self.context)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.player)
        self.executor.add_node(self.ear)
        self.heard = []

    def listen(self, names=NEEDED):
        for topic in names:
            self.ear.create_subscription(
                message_type(topic),
                topic,
                lambda message, topic=topic: self.heard.append((topic, message)),
                recorder_qos(topic),
            )

    def spin(self, count=20):
        for _ in range(count):
            self.executor.spin_once(timeout_sec=0.01)

    def wait(self, condition):
        deadline = time.monotonic() + 60.0
        while not condition():
            assert time.monotonic() < deadline, 'waited too long'
            self.executor.spin_once(timeout_sec=0.02)

    def call(self, kind, name, request):
        client = self.ear.create_client(kind, f'/replayer_node/{name}')
        self.wait(client.service_is_ready)
        future = client.call_async(request)
        self.wait(future.done)
        return future.result()

    def change(self, name, value):
        request = SetParameters.Request(
            parameters=[Parameter(name, value=value).to_parameter_msg()]
        )
        (result,) = self.call(SetParameters, 'set_parameters', request).results
        return result

    def of(self, topic):
        return [message for name, message in self.heard if name == topic]

    def chunks(self):
        return [m.chunk for m in self.of(topics.CHUNK_DONE)]

    def close(self):
        self.executor.shutdown()
        self.player.destroy_node()
        self.ear.destroy_node()
        self.context.shutdown()


@pytest.fixture
def stage(tmp_path, synthetic_run):
    synthetic_run(chunks=CHUNKS, done_at=(1, 2, 3, 5), step_ns=1_000_000).write(tmp_path)
    stages = []

    def make(**parameters):
        stages.append(Stage(tmp_path / 'bag', **parameters))
        return stages[-1]

    yield make
    for found in stages:
        found.close()


def test_player_waits_until_somebody_hears_what_a_brain_needs(stage):
    player = stage(wait_s=600.0)
    player.spin()
    assert player.player._outlets.played == 0
    player.listen(NEEDED[:-1])
    player.spin()
    assert player.player._outlets.played == 0
    player.listen(NEEDED[-1:])
    player.wait(lambda: player.chunks() == list(range(1, CHUNKS + 1)))


def test_steps_go_chunk_by_chunk_and_resume_plays_the_rest(stage):
    player = stage(paused=True)
    player.listen()
    player.spin()
    for k in range(1, 4):
        answer = player.call(Trigger, 'step', Trigger.Request())
        assert answer.success, answer.message
        player.wait(lambda k=k: len(player.chunks()) >= k)
        player.spin()
        assert player.chunks() == list(range(1, k + 1))
    player.call(SetBool, 'pause', SetBool.Request(data=False))
    player.wait(lambda: player.chunks() == list(range(1, CHUNKS + 1)))


def test_pause_holds_the_bag_and_a_seek_tells_the_plan_again(stage):
    player = stage(rate=0.01)
    player.listen()
    player.wait(lambda: player.of(topics.EPISODE))
    player.call(SetBool, 'pause', SetBool.Request(data=True))
    player.spin()
    played = player.player._outlets.played
    player.spin()
    assert player.player._outlets.played == played
    player.heard.clear()
    assert player.change('position_s', 0.05).successful
    assert player.change('rate', 100.0).successful
    player.call(SetBool, 'pause', SetBool.Request(data=False))
    player.wait(lambda: CHUNKS in player.chunks())
    assert player.of(topics.PLAN), 'the plan before the place'
    assert player.of(topics.EPISODE)
    assert player.chunks() == sorted(player.chunks())


def test_wrong_rate_and_place_are_refused_and_change_nothing(stage):
    player = stage(paused=True)
    for name, value in (('rate', 0.0), ('rate', 1e6), ('position_s', -5.0)):
        result = player.change(name, value)
        assert not result.successful
        assert name in result.reason
    assert player.player._playback.rate == 1.0


def test_late_joiner_gets_what_is_latched_and_nothing_else(stage):
    player = stage(rate=100.0)
    player.listen()
    player.wait(lambda: CHUNKS in player.chunks())
    player.heard.clear()
    player.listen([topics.PLAN, topics.EPISODE, topics.SAFETY, topics.CHUNK_DONE])
    player.wait(lambda: {n for n, _ in player.heard} >= {topics.PLAN, topics.SAFETY})
    player.wait(lambda: player.of(topics.EPISODE))
    player.spin()
    assert player.of(topics.PLAN)[0].instruction.startswith('put both')
    assert not player.chunks()


def test_loop_begins_again_with_the_first_chunk(stage):
    player = stage(rate=100.0, loop=True)
    player.listen()
    player.wait(lambda: player.chunks().count(1) >= 2)
    assert player.chunks()[:CHUNKS] == list(range(1, CHUNKS + 1))


def test_body_stands_still_until_a_plan_comes(stage):
    player = stage(play='body', begin='plan', rate=100.0)
    player.listen([n for n in NEEDED if n not in (topics.PLAN, topics.VERDICT)])
    player.wait(lambda: player.of(topics.EPISODE))
    player.spin(60)
    assert player.chunks() == []
    plan = message_type(topics.PLAN)
    brain = player.ear.create_publisher(plan, topics.PLAN, publisher_qos(topics.PLAN))
    brain.publish(plan(revision=1, subtasks=[STEP]))
    player.wait(lambda: CHUNKS in player.chunks())


def test_lockstep_player_waits_for_the_answer_to_each_chunk(stage):
    player = stage(begin='plan', play='body', lockstep=True, wait_s=600.0)
    player.listen([n for n in NEEDED if n not in (topics.PLAN, topics.VERDICT)])
    plan, status = (message_type(t) for t in (topics.PLAN, topics.SUBTASK))
    brain = player.ear.create_publisher(plan, topics.PLAN, publisher_qos(topics.PLAN))
    tracker = player.ear.create_publisher(status, topics.SUBTASK, publisher_qos(topics.SUBTASK))
    brain.publish(plan(revision=1, subtasks=[STEP]))
    for k in range(1, CHUNKS + 1):
        player.wait(lambda k=k: k in player.chunks())
        player.spin(30)
        assert player.chunks() == list(range(1, k + 1))
        assert max(m.chunk for m in player.of(topics.PREDICATES)) == k
        tracker.publish(status(episode=1, chunk=k, revision=1))
