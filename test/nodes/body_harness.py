"""A client of a body in its own context: publishes chunks, keeps what it hears."""

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
from rclpy.executors import ExternalShutdownException
from rclpy.executors import SingleThreadedExecutor
from ros_domains import claimed_domain
from std_srvs.srv import SetBool
from structrl_msgs.srv import ResetEpisode

from structrl_ros.errors import MessageError
from structrl_ros.types import ActionChunk
from structrl_ros.types import ChunkDone
from structrl_ros.types import Episode
from structrl_ros.types import Plan
from structrl_ros.types import Predicates
from structrl_ros.types import Safety
from structrl_ros.types import SafetyState
from structrl_ros.types import SimulatorState
from structrl_ros.types import Subtask
from structrl_ros.types import SubtaskStatus
from structrl_ros.wire import topics
from structrl_ros.wire.body_codecs import episode_from_message
from structrl_ros.wire.body_codecs import reset_to_request
from structrl_ros.wire.body_codecs import safety_from_message
from structrl_ros.wire.body_codecs import simulator_state_from_message
from structrl_ros.wire.chunk_codecs import action_chunk_from_message
from structrl_ros.wire.chunk_codecs import action_chunk_to_message
from structrl_ros.wire.chunk_codecs import chunk_done_from_message
from structrl_ros.wire.plan_codecs import plan_to_message
from structrl_ros.wire.plan_codecs import subtask_status_to_message
from structrl_ros.wire.qos import message_type
from structrl_ros.wire.qos import publisher_qos
from structrl_ros.wire.qos import recorder_qos
from structrl_ros.wire.reward_codecs import predicates_from_message
from structrl_ros.wire.stamps import clock_from_message

PERIOD_NS = 50_000_000
HEARD = {
    topics.EPISODE: episode_from_message,
    topics.PREDICATES: predicates_from_message,
    topics.CHUNK_DONE: chunk_done_from_message,
    topics.SAFETY: safety_from_message,
    topics.PRIVILEGED_STATE: simulator_state_from_message,
    topics.CLOCK: clock_from_message,
    topics.ACTION_CHUNK: action_chunk_from_message,
}
PUBLISHED = (topics.ACTION_CHUNK, topics.PLAN, topics.SUBTASK, topics.INTERVENTION)
PLACE = Subtask('place(soup, basket)', '', 'place', ('alphabet soup', 'basket'), 0)
RIGHT = np.tile(np.array([0, -0.4, 0, 0, 0, 0, -1], np.float32), (8, 1))


def domain(number):
    """Return a ROS domain of this test process; each graph of it takes another number."""
    return claimed_domain(number)


def start_node(name, domain_id, *, namespace='', **parameters):
    """Start a node in a process of its own."""
    words = [w for k, v in parameters.items() for w in ('-p', f'{k}:={v}')]
    words += ['-r', f'__ns:={namespace}'] if namespace else []
    command = [sys.executable, '-m', f'structrl_ros.nodes.{name}', '--ros-args', *words]
    environment = {**os.environ, 'ROS_DOMAIN_ID': str(domain_id)}
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)


def end_node(process):
    """End a node by SIGINT and return its exit status and what it logged."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    try:
        _, log = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        _, log = process.communicate()
        raise AssertionError(f'node did not end within 60 s:\n{log}') from None
    return process.returncode, log


class Client:
    """Spins in a thread; `heard` holds everything in the order of arrival.

    `also` maps more topics to their decoders.
    """

    def __init__(self, domain_id, name='client', also=None, publishes=PUBLISHED):
        self.domain_id = domain_id
        self.context = Context()
        rclpy.init(context=self.context, domain_id=domain_id)
        self.node = rclpy.create_node(name, context=self.context)
        self.heard = []
        self.subscriptions = {
            topic: self.node.create_subscription(
                message_type(topic),
                topic,
                lambda m, decode=decode: self._take(decode, m),
                recorder_qos(topic),
            )
            for topic, decode in {**HEARD, **(also or {})}.items()
        }
        self.publishers = {
            topic: self.node.create_publisher(message_type(topic), topic, publisher_qos(topic))
            for topic in publishes
        }
        self.resetter = self.node.create_client(ResetEpisode, topics.RESET_EPISODE)
        self.stopper = self.node.create_client(SetBool, topics.EMERGENCY_STOP)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self.thread = threading.Thread(target=self._spin, daemon=True)
        self.thread.start()

    def _take(self, decode, message):
        with contextlib.suppress(MessageError):  # chunks that a test spoiled on purpose
            self.heard.append(decode(message))

    def _spin(self):
        while self.context.ok():
            with contextlib.suppress(ExternalShutdownException):
                self.executor.spin_once(timeout_sec=0.05)

    def close(self):
        self.context.try_shutdown()
        self.thread.join(5)
        self.executor.shutdown()

    def all(self, kind):
        return [h for h in list(self.heard) if isinstance(h, kind)]

    def last(self, kind):
        return self.all(kind)[-1]

    def wait(self, true, what, limit=60.0):
        """Wait until `true()` holds and return it."""
        end = time.monotonic() + limit
        while not (value := true()):
            if time.monotonic() > end:
                raise AssertionError(f'{what} within {limit} s; heard {self.heard[-8:]}')
            time.sleep(0.005)
        return value

    def ready(self):
        """Wait until the body is up and takes chunks."""
        chunks = self.publishers[topics.ACTION_CHUNK]
        for kind in (Episode, Safety, Predicates, SimulatorState):
            self.wait(lambda kind=kind: self.all(kind), kind.__name__)
        self.wait(chunks.get_subscription_count, 'a body that takes chunks')
        return self.episode

    @property
    def episode(self):
        return [e for e in self.all(Episode) if not e.ended][-1]

    @property
    def now_ns(self):
        return self.last(SimulatorState).stamp_ns

    def send(self, number, actions=RIGHT, **changes):
        """Publish a chunk of the newest observation, with fields changed."""
        fields = {
            'stamp_ns': self.now_ns,
            'episode': self.episode.episode,
            'chunk': number,
            'source': 'policy',
            'action_space': 'ee_delta_pose',
            'step_period': 0.05,
            'actions': np.asarray(actions, np.float32),
            **changes,
        }
        message = action_chunk_to_message(ActionChunk(**fields))
        self.publishers[topics.ACTION_CHUNK].publish(message)
        return message

    def run(self, number, actions=RIGHT, **changes):
        """Publish a chunk in lock-step and wait until the body has run it."""
        before = len(self.all(ChunkDone))
        self.send(number, actions, **changes)
        self.wait(lambda: len(self.all(ChunkDone)) > before, f'chunk_done after chunk {number}')
        done = self.last(ChunkDone)
        self.wait(lambda: self.now_ns >= done.stamp_ns, 'state after the chunk')
        return done

    def reset(self, task='', seed=0, initial_state=0):
        """Call reset_episode and wait for what it begins."""
        assert self.resetter.wait_for_service(10)
        response = self.call(self.resetter, reset_to_request(task, seed, initial_state))
        if response.accepted:
            number = response.episode
            for kind in (Episode, Predicates, SimulatorState):
                self.wait(
                    lambda kind=kind: any(h.episode == number for h in self.all(kind)),
                    f'{kind.__name__} of episode {number}',
                )
        return response

    def stop(self, on):
        """Call emergency_stop."""
        assert self.stopper.wait_for_service(10)
        return self.call(self.stopper, SetBool.Request(data=on))

    def call(self, client, request):
        future = client.call_async(request)
        self.wait(future.done, 'an answer of the service', 30.0)
        return future.result()

    def pursue(self, subtask, *, revision=1, chunk=0, stamp_ns=None):
        """Publish a plan of one subtask and the status that pursues it, as planner and tracker."""
        stamp_ns = self.now_ns if stamp_ns is None else stamp_ns
        subtasks = () if subtask is None else (subtask,)
        plan = Plan(stamp_ns, revision, 'put the soup in the basket', subtasks)
        current = '' if subtask is None else subtask.id
        episode = self.episode.episode
        status = SubtaskStatus(stamp_ns, episode, chunk, revision, current, (), (current,), ())
        self.publishers[topics.PLAN].publish(plan_to_message(plan))
        self.publishers[topics.SUBTASK].publish(subtask_status_to_message(status))

    def is_holding(self):
        return bool(self.all(Safety)) and self.last(Safety).state is SafetyState.HOLD
