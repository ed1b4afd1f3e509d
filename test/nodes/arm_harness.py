"""arm_node in this process, and a policy in another one that can be killed, frozen and spoiled."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import rclpy
from rclpy.context import Context
from rclpy.executors import MultiThreadedExecutor
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from ros_domains import claimed_domain
from sensor_msgs.msg import CameraInfo
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool
from std_msgs.msg import Header
from std_srvs.srv import SetBool
from std_srvs.srv import Trigger

from structrl_ros.errors import MessageError
from structrl_ros.nodes.arm_node import ArmNode
from structrl_ros.types import ActionChunk
from structrl_ros.types import ChunkDone
from structrl_ros.types import Episode
from structrl_ros.types import SafetyState
from structrl_ros.wire import topics
from structrl_ros.wire.body_codecs import episode_from_message
from structrl_ros.wire.body_codecs import safety_from_message
from structrl_ros.wire.chunk_codecs import action_chunk_to_message
from structrl_ros.wire.chunk_codecs import chunk_done_from_message
from structrl_ros.wire.qos import message_type
from structrl_ros.wire.qos import publisher_qos
from structrl_ros.wire.qos import recorder_qos
from structrl_ros.wire.stamps import header_to_message
from structrl_ros.wire.stamps import stamp_from_header

PERIOD_S = 0.05
BASE = {
    'arm': 'fake',
    'box_low': [0.2, -0.5, 0.05],
    'box_high': [0.8, 0.5, 0.9],
    'translation_velocity': 0.3,
    'rotation_velocity': 1.0,
    'max_state_age_s': 2.0,
    'heartbeat_timeout_s': 1.0,
}
FORWARD = np.tile(np.array([0.1, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0], np.float32), (16, 1))
HEARD = {
    topics.EPISODE: episode_from_message,
    topics.SAFETY: safety_from_message,
    topics.CHUNK_DONE: chunk_done_from_message,
}

#: A policy as its own process: sends a chunk at each observation, and beats meanwhile.
POLICY = """
import sys, time
import numpy as np
sys.path.insert(0, {folder!r})
from arm_harness import Sender
sender = Sender({domain})
number = 0
while True:
    stamp = sender.wait_for_observation()
    if stamp is not None and number % 4 == 0:
        sender.send(number // 4 + 1, stamp_ns=stamp)
    number += 1
    sender.beat()
"""


class Sender:
    """Publishes chunks and heartbeats of its own; hears observations."""

    def __init__(self, domain_id, name='policy', namespace=''):
        self.context = Context()
        rclpy.init(context=self.context, domain_id=domain_id)
        self.node = rclpy.create_node(name, context=self.context, namespace=namespace)
        self.episode = 0
        self.stamp_ns = 0
        self.chunks, self.beats = (
            self.node.create_publisher(message_type(topic), topic, publisher_qos(topic))
            for topic in (topics.ACTION_CHUNK, topics.HEARTBEAT)
        )
        self.node.create_subscription(
            message_type(topics.EPISODE),
            topics.EPISODE,
            self._on_episode,
            recorder_qos(topics.EPISODE),
        )
        self.node.create_subscription(
            JointState,
            topics.JOINT_STATES,
            self._on_joints,
            recorder_qos(topics.JOINT_STATES),
        )
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)

    def _on_episode(self, message):
        self.episode = message.episode

    def _on_joints(self, message):
        self.stamp_ns = stamp_from_header(message.header)

    def wait_for_observation(self, limit_s=0.02):
        """Spin for a while; return the stamp of the newest observation if there is a new one."""
        before = self.stamp_ns
        self.executor.spin_once(timeout_sec=limit_s)
        return self.stamp_ns if self.stamp_ns > before and self.episode else None

    def beat(self):
        now = time.time_ns()
        self.beats.publish(header_to_message(now, 'policy'))

    def send(self, number, actions=FORWARD, **changes):
        fields = {
            'stamp_ns': self.stamp_ns,
            'episode': self.episode,
            'chunk': number,
            'source': 'policy',
            'action_space': 'ee_delta_pose',
            'step_period': PERIOD_S,
            'actions': np.asarray(actions, np.float32),
            **changes,
        }
        message = action_chunk_to_message(ActionChunk(**fields))
        self.chunks.publish(message)
        return message


class ArmGraph:
    """arm_node with a fake arm, its executor, and an ear on its topics."""

    def __init__(self, number, maker=None, namespace='', **parameters):
        self.domain_id = claimed_domain(number)
        self.context = Context()
        rclpy.init(context=self.context, domain_id=self.domain_id)
        values = [Parameter(name, value=value) for name, value in {**BASE, **parameters}.items()]
        options = {'context': self.context, 'parameter_overrides': values}
        options['namespace'] = namespace
        self.node = ArmNode(**({} if maker is None else {'maker': maker}), **options)
        self.ear = rclpy.create_node('ear', context=self.context, namespace=namespace)
        self.heard = []
        for topic, decode in HEARD.items():
            self.ear.create_subscription(
                message_type(topic),
                topic,
                lambda m, decode=decode: self._take(decode, m),
                recorder_qos(topic),
            )
        self.states = []
        self.ear.create_subscription(
            JointState, topics.JOINT_STATES, self.states.append, recorder_qos(topics.JOINT_STATES)
        )
        self.health = []
        self.ear.create_subscription(
            message_type(topics.DIAGNOSTICS),
            topics.DIAGNOSTICS,
            self.health.append,
            recorder_qos(topics.DIAGNOSTICS),
        )
        self.infos = self.ear.create_publisher(
            CameraInfo,
            topics.camera_info_topic('head'),
            publisher_qos(topics.camera_info_topic('head')),
        )
        self.signal = self.ear.create_publisher(
            Bool, topics.EMERGENCY_STOP_SIGNAL, publisher_qos(topics.EMERGENCY_STOP_SIGNAL)
        )
        self.stopper = self.ear.create_client(SetBool, topics.EMERGENCY_STOP)
        self.resumer = self.ear.create_client(Trigger, topics.RESET_SAFETY)
        self.executor = MultiThreadedExecutor(2, context=self.context)
        self.executor.add_node(self.node)
        self.executor.add_node(self.ear)
        self.is_over = False
        self.thread = threading.Thread(target=self._spin, daemon=True)
        self.thread.start()
        self.sender = Sender(self.domain_id, namespace=namespace)
        self.beating = threading.Event()
        self.beating.set()
        self.sending = threading.Thread(target=self._beat, daemon=True)
        self.sending.start()
        self.number = 0

    @property
    def arm(self):
        return self.node.session.arm

    def _take(self, decode, message):
        with contextlib.suppress(MessageError):
            value = decode(message)
            self.heard.append(value)

    def _spin(self):
        while not self.is_over:
            self.executor.spin_once(timeout_sec=0.05)

    def _beat(self):
        while not self.is_over:
            self.sender.wait_for_observation(0.01)
            if self.beating.is_set():
                self.sender.beat()

    def all(self, kind):
        return [h for h in list(self.heard) if isinstance(h, kind)]

    def wait(self, true, what, limit=60.0):
        end = time.monotonic() + limit
        while not (value := true()):
            if time.monotonic() > end:
                raise AssertionError(f'no {what} within {limit} s; heard {self.heard[-6:]}')
            time.sleep(0.005)
        return value

    @property
    def safety(self):
        return self.node.session.loop.safety

    def is_in(self, state, words=''):
        return self.safety.state is state and words in self.safety.reason

    def wait_for(self, state, words='', limit=60.0):
        return self.wait(lambda: self.is_in(state, words), f'{state.name} {words!r}', limit)

    def ready(self):
        """Wait until the arm is under control, the episode open and chunks come through."""
        self.wait(lambda: self.all(Episode), 'episode')
        self.wait(lambda: self.sender.episode and self.sender.stamp_ns, 'observation')
        self.wait(lambda: self.sender.chunks.get_subscription_count(), 'body that takes chunks')
        self.wait(lambda: self.node.session.loop.objection() is None, 'arm without objections')

    def send(self, actions=FORWARD, **changes):
        self.number += 1
        return self.sender.send(self.number, actions, **changes)

    def keep_moving(self):
        """Send chunks until one is accepted; return when the arm moves."""
        end = time.monotonic() + 60.0
        while not self.is_in(SafetyState.OK):
            assert time.monotonic() < end, self.safety
            self.send()
            time.sleep(0.1)

    def call(self, client, request):
        assert client.wait_for_service(10.0)
        future = client.call_async(request)
        self.wait(future.done, 'answer of a service')
        return future.result()

    def stop(self, on=True):
        return self.call(self.stopper, SetBool.Request(data=on))

    def resume(self):
        return self.call(self.resumer, Trigger.Request())

    def is_still(self, seconds=0.3):
        before = self.arm.state().reference.copy()
        time.sleep(seconds)
        return np.abs(before - self.arm.state().reference).max() < 1e-9

    def come_to_rest(self, limit=60.0):
        """Wait, by the node's own control periods, until no row is left and the arm stands."""
        session = self.node.session
        begin = session.ticks

        def rests():
            passed = session.ticks - begin
            return passed > 3 and not session.loop.has_rows and self.arm.state().is_still

        self.wait(rests, 'rest', limit)

    def readers(self, topic):
        """Return how many subscriptions the node's publisher of a topic has found."""
        found = [p for p in self.node.publishers if p.topic_name.endswith(topic)]
        return found[0].get_subscription_count()

    def note_refusals(self):
        """Return a list that the reasons of refused chunks are put into from now on."""
        loop, reasons = self.node.session.loop, []
        offer = loop.offer

        def noting(*arguments):
            reason = offer(*arguments)
            reasons.extend([reason] if reason else [])
            return reason

        loop.offer = noting
        return reasons

    def close(self):
        self.node.close()
        self.is_over = True
        self.thread.join(5.0)
        self.sending.join(5.0)
        self.executor.shutdown()
        for node in (self.node, self.ear):
            node.destroy_node()
        self.sender.node.destroy_node()
        self.sender.context.try_shutdown()
        self.context.try_shutdown()


def start_policy(domain_id):
    """Start a policy in a process of its own."""
    code = POLICY.format(folder=os.path.dirname(__file__), domain=domain_id)
    fakes = os.path.join(os.path.dirname(__file__), '..', 'fakes')
    environment = {**os.environ, 'PYTHONPATH': fakes}
    return subprocess.Popen([sys.executable, '-c', code], env=environment)


def end_policy(process):
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGCONT)
    process.kill()
    process.wait()


__all__ = ['FORWARD', 'PERIOD_S', 'ArmGraph', 'ChunkDone', 'Header', 'end_policy', 'start_policy']
