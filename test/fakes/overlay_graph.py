"""A camera (a file) and an overlay_node in one ROS graph of this process."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager

import numpy as np
import rclpy
from PIL import Image as Picture
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from ros_domains import claimed_domain

from structrl_ros.nodes.camera_node import CameraNode
from structrl_ros.nodes.overlay_node import OverlayNode
from structrl_ros.wire.qos import message_type
from structrl_ros.wire.qos import recorder_qos

ROLE = 'head'


def scene(x):
    """Return a picture of a thing at x on a table with a pattern."""
    random = np.random.default_rng(0)
    image = np.kron(random.integers(90, 150, (12, 16, 1)), np.ones((8, 8, 3))).astype(np.uint8)
    image[40:60, x : x + 20] = (230, 20, 20)
    return image


LIVE, WANTED = scene(80), scene(20)


class Looker:
    """Subscribes to topics when told to; spins itself and the nodes."""

    def __init__(self):
        self.context = Context()
        rclpy.init(context=self.context, domain_id=claimed_domain('overlay'))
        self.node = rclpy.create_node('looker', context=self.context)
        self.heard = {}
        self.ended = threading.Event()
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self.thread = threading.Thread(target=self._spin, daemon=True)

    def look(self, topic):
        found = self.heard[topic] = []
        return self.node.create_subscription(
            message_type(topic), topic, found.append, recorder_qos(topic)
        )

    def wait(self, true, limit_s=60.0):
        end = time.monotonic() + limit_s
        while not (value := true()):
            assert time.monotonic() < end, {t: len(m) for t, m in self.heard.items()}
            time.sleep(0.01)
        return value

    def _spin(self):
        while not self.ended.is_set():
            self.executor.spin_once(timeout_sec=0.05)

    def close(self):
        self.ended.set()
        self.thread.join(10)
        self.executor.shutdown()
        self.context.try_shutdown()


@contextmanager
def overlay(tmp_path, **changes):
    """Run a camera that shows LIVE and an overlay_node; yields the node and a looker."""
    folder = tmp_path / 'camera'
    folder.mkdir()
    for number in range(4):
        Picture.fromarray(LIVE).save(folder / f'{number}.png')
    looker = Looker()
    values = {'role': ROLE, 'backend': 'file', 'source': str(folder), 'loop': True}
    values |= {'rate_hz': 20.0, 'frozen_after_s': 0.0, 'reconnect_s': 0.1}

    def parameters(given):
        return [Parameter(name, value=value) for name, value in given.items()]

    camera = CameraNode(context=looker.context, parameter_overrides=parameters(values))
    node = OverlayNode(
        context=looker.context, parameter_overrides=parameters({'role': ROLE, **changes})
    )
    looker.executor.add_node(camera)
    looker.executor.add_node(node)
    looker.thread.start()
    try:
        yield node, looker
    finally:
        camera.close()
        looker.close()
