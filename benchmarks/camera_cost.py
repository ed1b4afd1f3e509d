"""CPU time of what camera_node does with a frame (docs/cameras.md).

Usage: .venv/bin/python benchmarks/camera_cost.py
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from structrl_ros.camera_types import CameraFrame
from structrl_ros.drivers.cameras.region import Region
from structrl_ros.pixel_formats import rgb_from_file
from structrl_ros.pixel_formats import rgb_from_rows
from structrl_ros.wire.image_codecs import image_to_message

REPEATS = 40


def cost_ms(work: Callable[[], Any]) -> float:
    """Return the CPU time of a call, in milliseconds."""
    work()
    began_s = time.process_time()
    for _ in range(REPEATS):
        work()
    return 1000.0 * (time.process_time() - began_s) / REPEATS


def node_cost(seconds: float = 10.0) -> tuple[float, float, int]:
    """Return the share of a core that a camera_node takes, its delay in ms, and frames heard.

    It plays an MJPG film of 640 x 480 at 30 Hz to one subscriber, decoding included.
    """
    import cv2
    import rclpy

    from structrl_ros.wire import topics
    from structrl_ros.wire.qos import message_type
    from structrl_ros.wire.qos import subscriber_qos
    from structrl_ros.wire.task_codecs import health_from_message

    rclpy.init()
    ear, heard, health = rclpy.create_node('ear'), [], []
    image = topics.image_topic('head')
    ear.create_subscription(message_type(image), image, heard.append, subscriber_qos(image))
    ear.create_subscription(
        message_type(topics.DIAGNOSTICS),
        topics.DIAGNOSTICS,
        lambda message: health.extend(health_from_message(message)),
        10,
    )
    with tempfile.TemporaryDirectory() as folder:
        path = f'{folder}/film.avi'
        film = cv2.VideoWriter(path, cv2.VideoWriter_fourcc(*'MJPG'), 30, (640, 480))
        for number in range(90):
            stripes = np.roll(np.arange(640) % 255, number).astype(np.uint8)
            film.write(np.broadcast_to(stripes[:, None], (480, 640, 3)).copy())
        film.release()
        words = ['role:=head', 'backend:=file', f'source:={path}', 'loop:=true', 'rate_hz:=30.0']
        command = [sys.executable, '-m', 'structrl_ros.nodes.camera_node', '--ros-args']
        child = subprocess.Popen([*command, *(w for word in words for w in ('-p', word))])
        try:
            while not heard:
                rclpy.spin_once(ear, timeout_sec=0.1)
            heard.clear()
            began_s, end_s = used_s(child.pid), time.monotonic() + seconds
            while time.monotonic() < end_s:
                rclpy.spin_once(ear, timeout_sec=0.1)
            share = (used_s(child.pid) - began_s) / seconds
        finally:
            child.terminate()
            child.wait(10)
    rclpy.shutdown()
    return share, float(health[-1][3]['delay_ms']), len(heard)


def used_s(process: int) -> float:
    """Return the CPU time that a process has used, in seconds."""
    fields = Path(f'/proc/{process}/stat').read_text().rsplit(')', 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def main() -> None:
    """Print the table."""
    noise = np.random.default_rng(0).integers(0, 60, (480, 640, 3), np.uint8)
    picture = (noise + (np.arange(640, dtype=np.uint8)[:, None] // 4)).astype(np.uint8)
    frame = CameraFrame(0, 0, picture)
    packed = np.ascontiguousarray(picture[..., :2])
    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, 'JPEG', quality=90)
    jpeg = buffer.getvalue()
    size = {'width': 640, 'height': 480}
    centre = Region((80, 0, 480, 480), (224, 224))
    works: dict[str, Callable[[], Any]] = {
        'message of 640 x 480': lambda: image_to_message(picture, 1, 'f'),
        'crop to 480 x 480, resize to 224 x 224': lambda: centre.apply(frame),
        'message of 224 x 224': lambda: image_to_message(picture[:224, :224], 1, 'f'),
        'look for a frozen picture': lambda: zlib.crc32(picture.data),
        'decode rgb8': lambda: rgb_from_rows('rgb8', picture.data, step=1920, **size),
        'decode bgr8': lambda: rgb_from_rows('bgr8', picture.data, step=1920, **size),
        'decode yuyv': lambda: rgb_from_rows('yuyv', packed.data, step=1280, **size),
        f'decode JPEG ({len(jpeg) // 1000} kB)': lambda: rgb_from_file(jpeg, 'jpeg'),
    }
    print('| step, 640 x 480 | CPU ms |\n|---|---|')
    for name, work in works.items():
        print(f'| {name} | {cost_ms(work):.2f} |')
    share, delay_ms, heard = node_cost()
    print(
        f'camera_node at 30 Hz: {share:.1%} of a core, {delay_ms} ms from stamp to topic, '
        f'{heard} frames heard in 10 s'
    )


if __name__ == '__main__':
    main()
