"""A camera of a topic in a process without a node: for the doctor's look at it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import rclpy

from structrl_ros.nodes.log_directory import ensure_log_directory
from structrl_ros.nodes.topic_camera import TopicCamera
from structrl_ros.params.camera import CameraParameters
from structrl_ros.ports import Camera
from structrl_ros.ports import Clock


@contextmanager
def subscribed_camera(p: CameraParameters, clock: Clock) -> Iterator[Camera]:
    """Give the camera of a topic, with a node and a thread of its own.

    Args:
        p: Parameters of a camera_node; `source` is the topic.
        clock: Tells when a frame was received.
    """
    ensure_log_directory()
    rclpy.init(args=[])
    node = rclpy.create_node('structrl_doctor_camera')
    camera = TopicCamera(
        *(node, p.source),
        info_topic=p.info_topic,
        compressed=p.transport == 'compressed',
        intrinsics=None,
        clock=clock,
    )
    threading.Thread(target=rclpy.spin, args=(node,), daemon=True).start()
    try:
        yield camera
    finally:
        rclpy.try_shutdown()
