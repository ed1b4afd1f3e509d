"""replayer_node: a bag plays the body's topics, and what else of the recording is asked for.

The messages go out as they were recorded, byte for byte, on the contract's topics under this
node's namespace, whatever namespace they came from. `/clock` is the recorded one; where none was
recorded (an arm), it is the time of receipt.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterable
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rcl_interfaces.msg import SetParametersResult
from rclpy.clock import Clock
from rclpy.clock import ClockType
from rclpy.node import Node
from rclpy.parameter import Parameter
from std_srvs.srv import SetBool
from std_srvs.srv import Trigger

from structrl_ros.errors import BagError
from structrl_ros.nodes.parameters import declare
from structrl_ros.nodes.replay_gate import ReplayGate
from structrl_ros.nodes.spinning import run_node
from structrl_ros.params.replayer import ReplayerParameters
from structrl_ros.recording.bag_inspection import wrong_hashes
from structrl_ros.recording.bag_reader import BagReader
from structrl_ros.recording.bag_reader import RawMessage
from structrl_ros.recording.playback import Playback
from structrl_ros.wire import topics
from structrl_ros.wire.qos import TOPICS
from structrl_ros.wire.qos import is_latched
from structrl_ros.wire.qos import message_type
from structrl_ros.wire.qos import publisher_qos
from structrl_ros.wire.qos import type_name
from structrl_ros.wire.stamps import clock_to_message
from structrl_ros.wire.task_codecs import HealthLevel
from structrl_ros.wire.task_codecs import health_to_message

#: Seconds between two looks at what is due.
TICK_S = 0.002
_REWARDS = (topics.SUBTASK, topics.REWARD, topics.PROGRESS)
#: What was computed from the body's topics, and is computed again by whoever listens.
COMPUTED = (*_REWARDS, topics.ACTION_CHUNK, topics.HEARTBEAT)
#: What a tracker must not miss a message of.
NEEDED = (topics.EPISODE, topics.PLAN, topics.VERDICT, topics.PREDICATES, topics.CHUNK_DONE)
#: Topics that are not played by each choice of the parameter `play`.
_LEFT_OUT = {
    'body': {topics.PLAN, topics.VERDICT, *COMPUTED},
    'body+plan': {topics.VERDICT, *COMPUTED},
    'body+plan+verdict': set(COMPUTED),
    'all': set(),
}


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
        self._names = played_topics(reader, p.play)
        self._outlets = {
            topic: self.create_publisher(message_type(topic), topic, publisher_qos(topic))
            for topic in dict.fromkeys([*self._names.values(), topics.CLOCK, topics.DIAGNOSTICS])
        }
        latched = [name for name, topic in self._names.items() if is_latched(topic)]
        self._playback = Playback(
            reader,
            self._names,
            latched=latched,
            rate=p.rate,
            is_looped=p.loop,
            by_stamp=p.lockstep,
        )
        self._gate = ReplayGate(self, reader)
        self._is_leading = p.begin == 'plan'
        self._moved_ns = time.monotonic_ns()
        self._steps = [n for n, topic in self._names.items() if topic == topics.CHUNK_DONE]
        self._has_clock = topics.CLOCK in self._names.values()
        self._played = 0
        self._begin_by_ns = time.monotonic_ns() + round(p.wait_s * 1e9)
        self._playback.seek(p.start_s, time.monotonic_ns())
        self._is_waiting, self._is_begun = True, False
        self.add_on_set_parameters_callback(self._steer)
        self.create_service(SetBool, '~/pause', self._pause)
        self.create_service(Trigger, '~/step', self._step)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(TICK_S, self._tick, clock=steady)
        self.create_timer(1.0, self._report, clock=steady)

    def _tick(self) -> None:
        now_ns = time.monotonic_ns()
        if self._is_waiting:
            if not self._is_heard() and now_ns < self._begin_by_ns:
                return
            self._is_waiting = False
        if self._is_leading:
            self._publish(self._playback.take_while(self._gate.is_before_chunks))
            if not self._gate.has_plan:
                return
            self._is_leading = False
        if not self._is_begun:
            self._is_begun = True
            self._moved_ns = now_ns
            if not self._settings.paused:
                self._playback.resume(now_ns)
        self._play_on(now_ns)
        if not self._has_clock and not self._playback.is_paused:
            message = clock_to_message(self._playback.now_ns(now_ns))
            self._outlets[topics.CLOCK].publish(message)
        if self._playback.is_over and not self._ended.is_set():
            self.get_logger().info(f'the bag is over: {self._played} messages played')
            self._ended.set()

    def _play_on(self, now_ns: int) -> None:
        if not self._settings.lockstep:
            self._publish(self._playback.due(now_ns))
        elif not self._playback.is_paused:
            count = self._publish(self._playback.take_while(self._gate.may_pass))
            if count:
                self._moved_ns = now_ns
            elif now_ns - self._moved_ns > self._settings.wait_s * 1e9:
                self.get_logger().warning('no answer to the last chunk; the bag goes on')
                self._gate.open_next()
                self._moved_ns = now_ns

    def _is_heard(self) -> bool:
        """Return whether enough listen to what a brain cannot do without."""
        needed = [topic for topic in NEEDED if topic in self._outlets]
        counts = [self._outlets[topic].get_subscription_count() for topic in needed]
        enough = min(counts, default=0) >= self._settings.subscribers
        return enough and all(self._hears_pictures(name) for name in self._settings.listeners)

    def _hears_pictures(self, name: str) -> bool:
        """Return whether a node subscribes to a picture that is played, if any is."""
        played = [topic for topic in self._outlets if topic in topics.IMAGES]
        infos = [i for topic in played for i in self.get_subscriptions_info_by_topic(topic)]
        return not played or any(info.node_name == name for info in infos)

    def _publish(self, messages: Iterable[RawMessage]) -> int:
        count = 0
        for message in messages:
            self._outlets[self._names[message.topic]].publish(message.data)
            count += 1
        self._played += count
        return count

    def _steer(self, changes: list[Parameter]) -> SetParametersResult:
        now_ns = time.monotonic_ns()
        for change in changes:
            if change.name == 'rate':
                self._playback.change_rate(float(change.value), now_ns)
            elif change.name == 'position_s':
                place_s = float(change.value)
                if not 0.0 <= place_s < float('inf'):
                    reason = f'position_s is {place_s}; allowed: 0 and more'
                    return SetParametersResult(successful=False, reason=reason)
                self._playback.seek(place_s, now_ns)
        return SetParametersResult(successful=True)

    def _pause(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        change = self._playback.pause if request.data else self._playback.resume
        change(time.monotonic_ns())
        response.success, response.message = True, self._summary()
        return response

    def _step(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        del request
        count = self._publish(self._playback.step(self._steps, time.monotonic_ns()))
        response.success, response.message = count > 0, f'{count} messages; {self._summary()}'
        return response

    def _summary(self) -> str:
        at_s = (self._playback.now_ns(time.monotonic_ns()) - self._playback.start_ns) / 1e9
        state = 'paused' if self._playback.is_paused else f'rate {self._playback.rate:g}'
        return f'{state}, {at_s:.2f} s, {self._played} messages'

    def _report(self) -> None:
        text = 'waiting for subscribers' if self._is_waiting else self._summary()
        values = {'bag': self._settings.bag, 'loops': self._playback.loops}
        now_ns = self._playback.now_ns(time.monotonic_ns())
        message = health_to_message(
            now_ns, f'{self.get_name()}: playback', HealthLevel.OK, text, values
        )
        self._outlets[topics.DIAGNOSTICS].publish(message)


def played_topics(reader: BagReader, play: str) -> dict[str, str]:
    """Return name in the bag -> topic of the contract, of what is to be played.

    Raises:
        BagError: If a topic was recorded with another type than the contract's, or another
            version of it.
    """
    found = {}
    hashes = wrong_hashes(reader)
    for name, summary in reader.topics.items():
        topic = contract_topic(name)
        if topic is None or topic in _LEFT_OUT[play] or topic == topics.DIAGNOSTICS:
            continue
        if summary.msgtype != type_name(topic):
            raise BagError(
                f'{name} in {reader.path} is {summary.msgtype}; allowed: {type_name(topic)}'
            )
        if summary.msgtype in hashes:
            raise BagError(
                f'{name} in {reader.path} is another version of {summary.msgtype}: '
                f'hash {hashes[summary.msgtype][0]}; allowed: {hashes[summary.msgtype][1]}'
            )
        found[name] = topic
    return found


def contract_topic(name: str) -> str | None:
    """Return the topic of the contract that a recorded name stands for, None if for none."""
    if name in TOPICS:
        return name
    for topic in sorted(TOPICS, key=len, reverse=True):
        if name.endswith(f'/{topic}'):
            return topic
    return None


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the node until the end of the bag, SIGINT or SIGTERM."""
    return run_node('replayer_node', ReplayerNode, _drain, arguments)


def _drain(node: ReplayerNode, executor: Any) -> None:
    """Give what was published last the time to be fetched."""
    deadline = time.monotonic() + 0.5
    while time.monotonic() < deadline:
        executor.spin_once(timeout_sec=0.05)


if __name__ == '__main__':
    sys.exit(main())
