"""Pictures of a graph's episodes for the report of its evaluation."""

import sys
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('rclpy')
pytest.importorskip('structrl_msgs')
sys.path.insert(0, str(Path(__file__).parent))

import rclpy
from body_harness import domain
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor

from structrl_ros.nodes.last_picture import LastPicture
from structrl_ros.recording.report_episodes import load_pictures
from structrl_ros.wire.image_codecs import image_to_message
from structrl_ros.wire.qos import message_type
from structrl_ros.wire.qos import publisher_qos
from structrl_ros.wire.topics import image_topic

pytestmark = pytest.mark.ros


@pytest.fixture
def camera():
    """A node, and a function that publishes a picture and waits until the node has it."""
    context = Context()
    rclpy.init(context=context, domain_id=domain(1))
    node = rclpy.create_node('evaluator', context=context)
    topic = image_topic('head')
    publisher = node.create_publisher(message_type(topic), topic, publisher_qos(topic))
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)

    def publish(message, picture):
        before, end = picture._data, time.monotonic() + 60.0
        while picture._data is before:
            assert time.monotonic() < end, 'no picture came in 60 s'
            publisher.publish(message)
            executor.spin_once(timeout_sec=0.1)

    yield node, publish
    executor.shutdown()
    rclpy.try_shutdown(context=context)


def test_newest_picture_is_kept_with_its_episode(tmp_path, camera):
    node, publish = camera
    picture = LastPicture(node)
    assert picture.pixels() is None
    picture.save(tmp_path, 0)
    assert load_pictures(tmp_path) == {}
    pixels = np.full((48, 64, 3), (200, 30, 60), dtype=np.uint8)
    publish(image_to_message(pixels, 1_000), picture)
    assert np.array_equal(picture.pixels(), pixels)
    picture.save(tmp_path, 7)
    assert list(load_pictures(tmp_path)) == [7]
    picture.forget()
    assert picture.pixels() is None


def test_picture_that_is_not_understood_loses_no_episode(tmp_path, camera):
    node, publish = camera
    picture = LastPicture(node)
    message = image_to_message(np.zeros((4, 4, 3), dtype=np.uint8), 1_000)
    message.encoding = 'x-rays'
    publish(message, picture)
    picture.save(tmp_path, 1)
    assert load_pictures(tmp_path) == {}
