"""The QoS table of the contract: every pair fits, and says what docs/architecture.md says."""

from __future__ import annotations

import pytest

pytest.importorskip('rclpy', reason='needs the ROS 2 wheels: make install')

from rclpy.qos import DurabilityPolicy
from rclpy.qos import QoSCompatibility
from rclpy.qos import ReliabilityPolicy
from rclpy.qos import qos_check_compatible

from structrl_ros.errors import ParameterError
from structrl_ros.wire import qos
from structrl_ros.wire import topics

pytestmark = pytest.mark.ros


@pytest.mark.parametrize('topic', qos.TOPICS)
def test_every_subscriber_profile_fits_its_publisher(topic: str) -> None:
    publisher = qos.publisher_qos(topic)
    for subscriber in (
        qos.subscriber_qos(topic),
        qos.subscriber_qos(topic, lockstep=True),
        qos.recorder_qos(topic),
    ):
        compatibility, reason = qos_check_compatible(publisher, subscriber)
        assert compatibility == QoSCompatibility.OK, reason


def test_the_table_covers_every_topic_name() -> None:
    services = {
        topics.RESET_EPISODE,
        topics.RESET_SAFETY,
        topics.EMERGENCY_STOP,
        topics.EXECUTE_TASK,
        topics.RECORD,
        topics.MARK_EPISODE,
    }
    names = {value for name, value in vars(topics).items() if name.isupper()}
    families = (topics.IMAGES, topics.CAMERA_INFOS, topics.DEPTHS)
    names -= {*families, topics.ROLES}
    assert names - services | {t for family in families for t in family} == set(qos.TOPICS)


@pytest.mark.parametrize('topic', [topics.PLAN, topics.EPISODE, topics.SUBTASK, topics.SAFETY])
def test_latched_topics_are_transient_local_on_both_sides(topic: str) -> None:
    for profile in (qos.publisher_qos(topic), qos.subscriber_qos(topic)):
        assert profile.durability == DurabilityPolicy.TRANSIENT_LOCAL
        assert profile.reliability == ReliabilityPolicy.RELIABLE
        assert profile.depth == 1


def test_images_are_sent_reliably_and_taken_as_best_effort_newest() -> None:
    topic = topics.image_topic('head')
    assert qos.publisher_qos(topic).reliability == ReliabilityPolicy.RELIABLE
    assert qos.publisher_qos(topic).depth == 5
    assert qos.subscriber_qos(topic).reliability == ReliabilityPolicy.BEST_EFFORT
    assert qos.subscriber_qos(topic).depth == 1
    assert qos.subscriber_qos(topic, lockstep=True).reliability == ReliabilityPolicy.RELIABLE


def test_an_action_chunk_lives_as_long_as_it_lasts() -> None:
    profile = qos.publisher_qos(topics.ACTION_CHUNK, lifespan_s=0.5)
    assert profile.lifespan.nanoseconds == 500_000_000
    assert qos.publisher_qos(topics.ACTION_CHUNK).lifespan.nanoseconds == 0
    with pytest.raises(ParameterError, match='lifespan of action_chunk is -1'):
        qos.publisher_qos(topics.ACTION_CHUNK, lifespan_s=-1.0)


def test_unknown_topics_and_roles_are_refused_by_name() -> None:
    with pytest.raises(ParameterError, match=r"unknown topic 'plann'; known: .*plan"):
        qos.publisher_qos('plann')
    with pytest.raises(ParameterError, match="unknown camera role 'front'; known: head"):
        topics.image_topic('front')
