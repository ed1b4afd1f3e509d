"""CPU time of `structrl console`: two 640x480 cameras at 10 Hz, with nobody, one, three browsers.

Usage: .venv/bin/python benchmarks/console_cost.py [--seconds 20]
The cameras, state at 20 Hz and the browsers run in this process; what is measured is the console's
own process, user and system time of all its threads, as a share of one core.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import rclpy
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from structrl_ros.params.graph import process_environment
from structrl_ros.types import Reward
from structrl_ros.wire import topics
from structrl_ros.wire.image_codecs import image_to_message
from structrl_ros.wire.qos import message_type
from structrl_ros.wire.qos import publisher_qos
from structrl_ros.wire.reward_codecs import reward_to_message

ROLES = ('head', 'left_wrist')
RATE_HZ = 10.0
#: Seconds for discovery and the first pictures, before the measurement.
SETTLE_S = 4.0


class Source:
    """Publishes two cameras and a reward each tick, from a thread."""

    def __init__(self) -> None:
        """Begin to publish."""
        rclpy.init()
        self._node = rclpy.create_node('console_cost')
        names = [*map(topics.image_topic, ROLES), topics.REWARD]
        self._publishers = {
            n: self._node.create_publisher(message_type(n), n, publisher_qos(n)) for n in names
        }
        noise = np.random.default_rng(0).integers(0, 30, (480, 640, 3), np.uint8)
        slope = np.linspace(0, 200, 640, dtype=np.uint8)[None, :, None]
        self._pictures = [np.roll(noise + slope, 8 * k, axis=1) for k in range(16)]
        self.pictures = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def close(self) -> None:
        """Publish no more."""
        self._ended.set()
        self._thread.join()
        rclpy.try_shutdown()

    def _run(self) -> None:
        tick, began_s = 0, time.monotonic()
        while not self._ended.wait(max(0.0, began_s + tick / RATE_HZ - time.monotonic())):
            tick += 1
            self.pictures += len(ROLES)
            stamp_ns = tick * round(1e9 / RATE_HZ)
            for role in ROLES:
                message = image_to_message(self._pictures[tick % 16], stamp_ns)
                self._publishers[topics.image_topic(role)].publish(message)
            for k in (1, 2):
                reward = Reward(stamp_ns, 1, 2 * tick + k, 0.1, (('a', 0.1),), 1.0, False, False)
                self._publishers[topics.REWARD].publish(reward_to_message(reward))


class Viewer:
    """A browser's end of the feed: confirms everything, counts pictures and bytes."""

    def __init__(self, url: str) -> None:
        """Open a session and look at all cameras."""
        cookie = httpx.get(f'{url}/session').headers['set-cookie'].partition(';')[0]
        self._opened = contextlib.ExitStack()
        self._socket = self._opened.enter_context(
            connect(
                url.replace('http', 'ws', 1) + '/live',
                origin=url,  # type: ignore[arg-type]
                additional_headers={'Cookie': cookie},
                proxy=None,
            )
        )
        self._socket.send(json.dumps({'look': ROLES}))
        self.pictures = 0
        self.size = 0
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def close(self) -> None:
        """Go."""
        self._opened.close()
        self._thread.join()

    def _run(self) -> None:
        try:
            for message in self._socket:
                self._take(message)
        except ConnectionClosed:
            return

    def _take(self, message: Any) -> None:
        self.size += len(message)
        if isinstance(message, str):
            self._socket.send('{"seen":"state"}')
            return
        length = struct.unpack('<I', message[:4])[0]
        self._socket.send(json.dumps({'seen': json.loads(message[4 : 4 + length])['role']}))
        self.pictures += 1


def used_s(process: int) -> float:
    """Return the CPU time that a process has used, in seconds."""
    fields = Path(f'/proc/{process}/stat').read_text().rsplit(')', 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def measure(
    url: str, process: int, source: Source, count: int, seconds: float
) -> tuple[float, ...]:
    """Return share of a core, pictures published, pictures and MB of a browser, a second each."""
    viewers = [Viewer(url) for _ in range(count)]
    time.sleep(SETTLE_S)
    before = [(v.pictures, v.size) for v in viewers]
    sent, used, began_s = source.pictures, used_s(process), time.monotonic()
    time.sleep(seconds)
    took_s = time.monotonic() - began_s
    share = (used_s(process) - used) / took_s
    came = [(v.pictures - p, v.size - s) for v, (p, s) in zip(viewers, before, strict=True)]
    published = (source.pictures - sent) / took_s
    for viewer in viewers:
        viewer.close()
    each = took_s * max(count, 1)
    return share, published, sum(p for p, _ in came) / each, sum(s for _, s in came) / each / 1e6


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--seconds', type=float, default=20.0)
    seconds = parser.parse_args().seconds
    os.environ.update(process_environment())
    source = Source()
    command = [sys.executable, '-m', 'structrl_ros.cli.main', 'console', '--port', '0']
    console = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert console.stdout is not None
        lines = iter(console.stdout.readline, '')
        url = next(m[1] for line in lines if (m := re.search(r'(http://\S+)/', line)))
        print('| browsers | share of one core | pictures/s sent | pictures/s, MB/s a browser |')
        print('|---|---|---|---|')
        for count in (0, 1, 3):
            numbers = measure(url, console.pid, source, count, seconds)
            share, sent, came, size = numbers
            print(f'| {count} | {share:.1%} | {sent:.1f} | {came:.1f}, {size:.2f} |', flush=True)
    finally:
        console.terminate()
        console.wait(20)
        source.close()


if __name__ == '__main__':
    main()
