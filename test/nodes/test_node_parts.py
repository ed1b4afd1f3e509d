"""Parts that nodes share: taking chunks, health, the heartbeat."""

import time
from functools import partial

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='needs the ROS 2 wheels: make install')
pytest.importorskip('structrl_msgs')

import rclpy
from ros_domains import claimed_domain

from structrl_ros.errors import MessageError
from structrl_ros.nodes.body_thread import Counters
from structrl_ros.nodes.chunk_intake import ChunkIntake
from structrl_ros.nodes.contexts import joined_graph
from structrl_ros.nodes.health import Health
from structrl_ros.nodes.hearing import Ears
from structrl_ros.nodes.hearing import hear
from structrl_ros.nodes.heartbeat import Heartbeat
from structrl_ros.types import ActionChunk
from structrl_ros.wire import topics
from structrl_ros.wire.chunk_codecs import action_chunk_to_message
from structrl_ros.wire.qos import message_type
from structrl_ros.wire.qos import publisher_qos
from structrl_ros.wire.qos import recorder_qos
from structrl_ros.wire.qos import subscriber_qos
from structrl_ros.wire.stamps import stamp_from_header
from structrl_ros.wire.task_codecs import HealthLevel
from structrl_ros.wire.task_codecs import health_from_message

pytestmark = pytest.mark.ros
ACTIONS = np.zeros((8, 7), np.float32)


@pytest.fixture
def graph():
    """A node called `part`, and a function that spins until something is so."""
    make = partial(rclpy.create_node, 'part')
    with joined_graph(make, domain_id=claimed_domain('parts')) as (node, executor):

        def until(happened):
            end = time.monotonic() + 60.0
            while not happened():
                assert time.monotonic() < end, 'nothing came in 60 s'
                executor.spin_once(timeout_sec=0.1)

        yield node, until


class Refusals:
    """An intake whose judge refuses for `reason`, at the second `now_s`."""

    def __init__(self, node, capfd):
        self.reason, self.now_s, self.distrusted = '', 100.0, []
        self.counters, self.capfd = Counters(), capfd
        self.intake = ChunkIntake(
            node,
            lambda chunk, publishers: self.reason,
            self.distrusted.append,
            self.counters,
            now_s=lambda: self.now_s,
        )
        self.number = 0

    def send(self, reason, *, after_s=0.0, spoil=False):
        """Take a chunk that is refused for a reason; return what is logged of it."""
        self.reason, self.number = reason, self.number + 1
        self.now_s += after_s
        chunk = ActionChunk(1, 1, self.number, 'policy', 'ee_delta_pose', 0.05, ACTIONS)
        message = action_chunk_to_message(chunk)
        if spoil:
            message.step_period = -1.0
        self.intake.take(message)
        return self.capfd.readouterr().err


@pytest.fixture
def refusals(graph, capfd):
    return Refusals(graph[0], capfd)


def test_a_new_reason_is_said_at_once_and_a_repeat_once_a_second(refusals):
    assert 'chunk 1 rejected: of episode two' in refusals.send('of episode two')
    assert refusals.send('of episode two', after_s=0.3) == ''
    assert 'chunk 3 rejected: of no source' in refusals.send('of no source', after_s=0.1)
    assert refusals.send('of episode two', after_s=0.3) == ''
    assert 'chunk 5 rejected: of episode two' in refusals.send('of episode two', after_s=0.5)
    assert refusals.counters.rejected == 5


def test_an_age_that_grows_makes_no_new_reason(refusals):
    assert '3.05 s old' in refusals.send('chunk 3.05 s old, limit 3.00 s')
    assert refusals.send('chunk 3.45 s old, limit 3.00 s', after_s=0.4) == ''
    assert '4.25 s old' in refusals.send('chunk 4.25 s old, limit 3.00 s', after_s=0.8)


def test_a_chunk_that_is_taken_is_neither_counted_nor_logged(refusals):
    assert refusals.send('') == ''
    assert refusals.counters.rejected == 0


def test_what_is_no_chunk_is_distrusted_and_counted(refusals):
    said = refusals.send('not asked', spoil=True)
    assert 'chunk 1 rejected: ' in said
    assert 'not asked' not in said
    (why,) = refusals.distrusted
    assert 'step_period' in why
    assert refusals.counters.rejected == 1


def test_health_tells_part_level_text_values_and_time(graph):
    node, until = graph
    heard = []
    hear(node, topics.DIAGNOSTICS, lambda m: m, heard.append)
    health = Health(node, 'model')
    until(lambda: node.count_publishers(topics.DIAGNOSTICS) and _is_met(health._publisher))
    health.tell(HealthLevel.WARN, 'slow', {'latency_s': 0.25}, stamp_ns=5)
    before_ns = time.time_ns()
    health.tell(HealthLevel.ERROR, 'gone', {})
    until(lambda: len(heard) == 2)
    first, second = heard
    told = ('part: model', HealthLevel.WARN, 'slow', {'latency_s': '0.25'})
    assert health_from_message(first) == [told]
    assert health_from_message(second) == [('part: model', HealthLevel.ERROR, 'gone', {})]
    assert stamp_from_header(first.header) == 5
    assert stamp_from_header(second.header) >= before_ns
    health.close()
    until(lambda: node.count_publishers(topics.DIAGNOSTICS) == 0)


def _is_met(publisher):
    return publisher.get_subscription_count() > 0


def test_a_heartbeat_beats_from_start_to_stop_and_names_its_node(graph):
    node, until = graph
    heard = []
    hear(node, topics.HEARTBEAT, lambda m: m, heard.append)
    heart = Heartbeat(node)
    until(lambda: _is_met(heart._beats))
    assert list(node.timers) == []
    heart.start()
    until(lambda: len(heard) >= 3)
    assert {message.frame_id for message in heard} == {'part'}
    stamps = [stamp_from_header(message) for message in heard]
    assert stamps == sorted(set(stamps))
    heart.stop()
    assert list(node.timers) == []
    heart.start()
    heart.close()
    assert list(node.timers) == []
    until(lambda: node.count_publishers(topics.HEARTBEAT) == 0)


@pytest.mark.parametrize('qos', [subscriber_qos, recorder_qos])
def test_ears_hear_every_topic_as_they_are_told_to_and_end_together(graph, qos):
    node = graph[0]
    had = list(node.subscriptions)
    ears = Ears(node, qos)
    for topic in (topics.EPISODE, topics.HEARTBEAT):
        ears.hear(topic, lambda m: m, print)
    new = {s.topic_name: s for s in node.subscriptions if s not in had}
    assert set(new) == {f'/{topics.EPISODE}', f'/{topics.HEARTBEAT}'}
    for topic in (topics.EPISODE, topics.HEARTBEAT):
        asked, wanted = new[f'/{topic}'].qos_profile, qos(topic)
        assert (asked.depth, asked.reliability) == (wanted.depth, wanted.reliability)
        assert asked.durability == wanted.durability
    ears.close()
    ears.close()
    assert list(node.subscriptions) == had


def test_a_message_that_breaks_the_contract_is_a_warning_with_its_topic(graph, capfd):
    node, until = graph
    decoded, taken = [], []

    def decode(message):
        decoded.append(message.frame_id)
        if message.frame_id == 'bad':
            raise MessageError('frame is bad')
        return message.frame_id

    hear(node, topics.HEARTBEAT, decode, taken.append)
    kind, qos = message_type(topics.HEARTBEAT), publisher_qos(topics.HEARTBEAT)
    publisher = node.create_publisher(kind, topics.HEARTBEAT, qos)
    until(lambda: _is_met(publisher))

    def heard(name):
        publisher.publish(kind(frame_id=name))
        return name in decoded

    until(lambda: heard('bad'))
    until(lambda: heard('good'))
    assert set(taken) == {'good'}
    assert f'{topics.HEARTBEAT}: frame is bad' in capfd.readouterr().err
