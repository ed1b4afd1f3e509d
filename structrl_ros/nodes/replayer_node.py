"""replayer_node: a bag plays the body's topics, and what else of the recording is asked for.

The messages go out as they were recorded, byte for byte, on the contract's topics under this
node's namespace, whatever namespace they came from. `/clock` is the recorded one; where none was
recorded (an arm), it is the time of receipt.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rclpy.clock import Clock
from rclpy.clock import ClockType
from rclpy.node import Node

from structrl_ros.nodes.health import Health
from structrl_ros.nodes.parameters import declare
from structrl_ros.nodes.replay_controls import ReplayControls
from structrl_ros.nodes.replay_gate import ReplayGate
from structrl_ros.nodes.replay_outlets import ReplayOutlets
from structrl_ros.nodes.replayed_topics import played_topics
from structrl_ros.nodes.spinning import drain
from structrl_ros.nodes.spinning import run_node
from structrl_ros.params.replayer import ReplayerParameters
from structrl_ros.recording.bag_reader import BagReader
from structrl_ros.recording.playback import Playback
from structrl_ros.wire import topics
from structrl_ros.wire.qos import is_latched
from structrl_ros.wire.task_codecs import HealthLevel

#: Seconds between two looks at what is due.
TICK_S = 0.002


class ReplayerNode(Node):
    """Publishes what is due; pauses, steps and seeks when it is told to."""

    def __init__(self, ended: threading.Event | None = None, **options: Any) -> None:
        """Open the bag.

        Args:
            ended: Set at the end of the bag, unless it is looped.
            **options: Of rclpy's Node.

        Raises:
            BagError: If there is no bag, or it holds nothing to play.
            ParameterError: If a parameter is not allowed.
        """
        super().__init__('replayer_node', **options)
        self._settings = p = declare(self, ReplayerParameters)
        self._ended = ended or threading.Event()
        reader = BagReader(Path(p.bag).expanduser())
        names = played_topics(reader, p.play)
        self._outlets = ReplayOutlets(self, names)
        self._health = Health(self, 'playback')
        self._playback = Playback(
            reader,
            names,
            latched=[name for name, topic in names.items() if is_latched(topic)],
            rate=p.rate,
            is_looped=p.loop,
            by_stamp=p.lockstep,
        )
        self._gate = ReplayGate(self, reader)
        steps = [name for name, topic in names.items() if topic == topics.CHUNK_DONE]
        self._controls = ReplayControls(self, self._playback, self._outlets, steps)
        self._is_leading = p.begin == 'plan'
        self._moved_ns = time.monotonic_ns()
        self._begin_by_ns = time.monotonic_ns() + round(p.wait_s * 1e9)
        self._playback.seek(p.start_s, time.monotonic_ns())
        self._is_waiting, self._is_begun = True, False
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(TICK_S, self._tick, clock=steady)
        self.create_timer(1.0, self._report, clock=steady)

    def _tick(self) -> None:
        now_ns = time.monotonic_ns()
        if self._is_waiting:
            p = self._settings
            is_heard = self._outlets.is_heard(p.subscribers, p.listeners)
            if not is_heard and now_ns < self._begin_by_ns:
                return
            self._is_waiting = False
        if self._is_leading:
            self._outlets.publish(self._playback.take_while(self._gate.is_before_chunks))
            if not self._gate.has_plan:
                return
            self._is_leading = False
        if not self._is_begun:
            self._is_begun = True
            self._moved_ns = now_ns
            if not self._settings.paused:
                self._playback.resume(now_ns)
        self._play_on(now_ns)
        if not self._playback.is_paused:
            self._outlets.tell_time(self._playback.now_ns(now_ns))
        if self._playback.is_over and not self._ended.is_set():
            self.get_logger().info(f'the bag is over: {self._outlets.played} messages played')
            self._ended.set()

    def _play_on(self, now_ns: int) -> None:
        if not self._settings.lockstep:
            self._outlets.publish(self._playback.due(now_ns))
        elif not self._playback.is_paused:
            count = self._outlets.publish(self._playback.take_while(self._gate.may_pass))
            if count:
                self._moved_ns = now_ns
            elif now_ns - self._moved_ns > self._settings.wait_s * 1e9:
                self.get_logger().warning('no answer to the last chunk; the bag goes on')
                self._gate.open_next()
                self._moved_ns = now_ns

    def _report(self) -> None:
        text = 'waiting for subscribers' if self._is_waiting else self._controls.summary()
        values = {'bag': self._settings.bag, 'loops': self._playback.loops}
        now_ns = self._playback.now_ns(time.monotonic_ns())
        self._health.tell(HealthLevel.OK, text, values, stamp_ns=now_ns)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the node until the end of the bag, SIGINT or SIGTERM."""
    return run_node('replayer_node', ReplayerNode, lambda _, executor: drain(executor), arguments)


if __name__ == '__main__':
    sys.exit(main())
