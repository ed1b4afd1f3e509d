"""CPU time and losses of recorder_node with two cameras and the state (docs/recording.md).

Two images of 640 x 480 at 30 Hz and the state at 100 Hz.
Usage: .venv/bin/python benchmarks/recorder_cost.py [SECONDS]

Everything goes through real DDS, from another process. A loss is told by the recorder itself, and
counted here from what was sent and what lies in the bag.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from structrl_ros.params.graph import additional_environment
from structrl_ros.recording.bag_reader import BagReader
from structrl_ros.types import Proprioception
from structrl_ros.types import UInt8

SIZE = (480, 640)
CAMERAS = ('head', 'left_wrist')
CAMERA_HZ, STATE_HZ = 30.0, 100.0
FORMS = {
    'MCAP': (),
    'MCAP, zstd': ('compression:=zstd',),
    'sqlite3': ('storage:=sqlite3',),
}


@dataclass
class Result:
    """One recording: messages sent, kept and reported missing, and CPU seconds a second."""

    sent: int
    kept: int
    reported: int
    cpu_s: float
    megabytes: float
    late_ms: float


def used_s(process: int) -> float:
    """Return the CPU time that a process has used, in seconds."""
    fields = Path(f'/proc/{process}/stat').read_text().rsplit(')', 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def pictures() -> list[UInt8]:
    """Return frames of a drawn table with a sensor's noise, shape (480, 640, 3)."""
    rng = np.random.default_rng(0)
    rows, columns = np.mgrid[0 : SIZE[0], 0 : SIZE[1]]
    frames = []
    for k in range(8):
        red = 90 + 60 * np.sin(columns / 90 + k / 4)
        frame = np.stack([red, 70 + rows / 6, 60 + columns / 8], axis=-1)
        disc = (columns - 200 - 20 * k) ** 2 + (rows - 240) ** 2 < 4000
        frame[disc] = (200, 60, 40)
        frames.append(np.clip(frame + rng.normal(0, 2.0, frame.shape), 0, 255).astype(np.uint8))
    return frames


class Source:
    """Publishes cameras and state on time."""

    def __init__(self) -> None:
        """Make the messages once, so that publishing costs little."""
        import rclpy

        from structrl_ros.wire import topics
        from structrl_ros.wire.image_codecs import image_to_message
        from structrl_ros.wire.proprioception_codecs import proprioception_to_messages
        from structrl_ros.wire.qos import message_type
        from structrl_ros.wire.qos import publisher_qos
        from structrl_ros.wire.qos import subscriber_qos

        self.node = rclpy.create_node('source')
        names = [topics.image_topic(role) for role in CAMERAS]
        names += [topics.JOINT_STATES, topics.EE_POSE]
        self.publishers = {
            n: self.node.create_publisher(message_type(n), n, publisher_qos(n)) for n in names
        }
        pose = np.array([0.4, 0.0, 0.3, 0.0, 0.0, 0.0, 1.0])
        joints = tuple(f'joint{i}' for i in range(9))
        arm = Proprioception(1, joints, np.zeros(9), np.zeros(9), pose, np.ones(2))
        state = proprioception_to_messages(arm)
        self.images = [image_to_message(p, 1, 'camera') for p in pictures()]
        self.state = {topics.JOINT_STATES: state.joint_states, topics.EE_POSE: state.ee_pose}
        self.cameras = names[: len(CAMERAS)]
        self.sent = 0
        self.health: dict[str, str] = {}
        topic = topics.DIAGNOSTICS
        self.node.create_subscription(message_type(topic), topic, self.note, subscriber_qos(topic))

    def note(self, message: Any) -> None:
        """Keep what the recorder said last."""
        from structrl_ros.wire.task_codecs import health_from_message

        for name, _, _, values in health_from_message(message):
            if name == 'recorder_node: bag':
                self.health = values

    def wait(self, condition: Callable[[], bool]) -> None:
        """Spin until a condition holds."""
        import rclpy

        while not condition():
            rclpy.spin_once(self.node, timeout_sec=0.1)

    def is_heard(self) -> bool:
        """Return whether the recorder says that it hears every topic."""
        return set(self.publishers) <= set(self.health.get('connected', '').split())

    def settle(self) -> None:
        """Wait until the recorder has written what was under way: nothing but its own words."""
        before, reports = self.messages(), 0
        while reports < 2:
            said = self.health
            self.wait(lambda said=said: self.health is not said)
            reports = reports + 1 if self.messages() - before <= 2 else 0
            before = self.messages()

    def messages(self) -> int:
        """Return how many messages the recorder says it has."""
        return int(self.health.get('messages', 0))

    def play(self, seconds: float) -> float:
        """Publish for a time and return how late a message was at most, in milliseconds."""
        began, late = time.monotonic(), 0.0
        due = [(k / CAMERA_HZ, 'camera', k) for k in range(int(seconds * CAMERA_HZ))]
        due += [(k / STATE_HZ, 'state', k) for k in range(int(seconds * STATE_HZ))]
        for at, what, k in sorted(due):
            wait = began + at - time.monotonic()
            late = max(late, -wait)
            time.sleep(max(0.0, wait))
            messages = (
                dict.fromkeys(self.cameras, self.images[k % len(self.images)])
                if what == 'camera'
                else self.state
            )
            for name, message in messages.items():
                self.stamp(message, k)
                self.publishers[name].publish(message)
                self.sent += 1
        return 1000.0 * late

    def stamp(self, message: Any, k: int) -> None:
        """Number a message by its stamp."""
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(k, 1_000_000_000)


def record(source: Source, seconds: float, options: tuple[str, ...]) -> Result:
    """Record for a time into a folder that is deleted afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        bag = Path(folder, 'bag')
        words = [f'directory:={bag}', 'images:=all', *options]
        command = [sys.executable, '-m', 'structrl_ros.nodes.recorder_node', '--ros-args']
        command += [w for word in words for w in ('-p', word)]
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            source.health = {}
            source.wait(source.is_heard)
            source.sent, began_s = 0, used_s(child.pid)
            late_ms = source.play(seconds)
            source.settle()
            cpu_s = used_s(child.pid) - began_s
        finally:
            child.send_signal(signal.SIGINT)
            child.wait(60)
        reader = BagReader(bag)
        kept = sum(reader.topics[f'/{name}'].count for name in source.publishers)
        size = sum(f.stat().st_size for f in bag.glob('bag_*'))
        reported = sum(reader.missing.values())
        return Result(source.sent, kept, reported, cpu_s / seconds, size / 1e6, late_ms)


def main() -> None:
    """Print the table."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 20.0
    for name, value in additional_environment().items():
        os.environ[name] = value
    import rclpy

    rclpy.init()
    source = Source()
    print('| bag | sent | kept | reported missing | CPU s/s | MB/s on disk | latest publish |')
    print('|---|---|---|---|---|---|---|')
    for name, options in FORMS.items():
        r = record(source, seconds, options)
        print(
            f'| {name} | {r.sent} | {r.kept} | {r.reported} | {r.cpu_s:.3f} '
            f'| {r.megabytes / seconds:.1f} | {r.late_ms:.0f} ms |',
            flush=True,
        )
    rclpy.shutdown()


if __name__ == '__main__':
    main()
