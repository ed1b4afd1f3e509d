"""planner_node on real topics, with a body made of publishers."""

import contextlib
import dataclasses
import itertools
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

rclpy = pytest.importorskip('rclpy')
pytestmark = pytest.mark.ros

from action_msgs.msg import GoalStatus  # noqa: E402
from lifecycle_msgs.msg import Transition  # noqa: E402
from lifecycle_msgs.srv import ChangeState  # noqa: E402
from rclpy.action import ActionClient  # noqa: E402
from rclpy.context import Context  # noqa: E402
from rclpy.executors import ExternalShutdownException  # noqa: E402
from rclpy.executors import MultiThreadedExecutor  # noqa: E402
from rclpy.executors import SingleThreadedExecutor  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from structrl_msgs.action import ExecuteTask  # noqa: E402

from structrl_ros.errors import ParameterError  # noqa: E402
from structrl_ros.nodes.planner_backends import Backends  # noqa: E402
from structrl_ros.nodes.planner_node import PlannerNode  # noqa: E402
from structrl_ros.plan.rules import RulePlanner  # noqa: E402
from structrl_ros.types import ChunkDone  # noqa: E402
from structrl_ros.types import Episode  # noqa: E402
from structrl_ros.types import Judgement  # noqa: E402
from structrl_ros.types import Predicates  # noqa: E402
from structrl_ros.types import Reward  # noqa: E402
from structrl_ros.types import SubtaskStatus  # noqa: E402
from structrl_ros.wire import topics  # noqa: E402
from structrl_ros.wire.body_codecs import episode_to_message  # noqa: E402
from structrl_ros.wire.chunk_codecs import chunk_done_to_message  # noqa: E402
from structrl_ros.wire.plan_codecs import plan_from_message  # noqa: E402
from structrl_ros.wire.plan_codecs import subtask_status_to_message  # noqa: E402
from structrl_ros.wire.plan_codecs import verdict_from_message  # noqa: E402
from structrl_ros.wire.qos import message_type  # noqa: E402
from structrl_ros.wire.qos import publisher_qos  # noqa: E402
from structrl_ros.wire.qos import subscriber_qos  # noqa: E402
from structrl_ros.wire.reward_codecs import predicates_to_message  # noqa: E402
from structrl_ros.wire.reward_codecs import reward_to_message  # noqa: E402
from structrl_ros.wire.stamps import clock_to_message  # noqa: E402
from structrl_ros.wire.stamps import header_to_message  # noqa: E402
from structrl_ros.wire.task_codecs import health_from_message  # noqa: E402
from structrl_ros.wire.task_codecs import task_to_goal  # noqa: E402

SENTENCE = 'put the soup in the basket'
OBJECTS = ('alphabet soup', 'basket')
NAMES = ('in(alphabet_soup_1, basket_1_contain_region)', 'grasp(alphabet_soup_1)')
STEP_NS = 50_000_000
OUT = (topics.CLOCK, topics.EPISODE, topics.PREDICATES, topics.CHUNK_DONE, topics.JOINT_STATES)


_NUMBERS = itertools.count(1)


class World:
    """A body and a client on one node; `run` lets the body's time pass by the wall."""

    def __init__(self):
        self.context = Context()
        rclpy.init(context=self.context)
        self.namespace = f'/planner_test_{next(_NUMBERS)}'
        self.node = rclpy.create_node('world', namespace=self.namespace, context=self.context)
        self.out = {
            t: self.node.create_publisher(message_type(t), t, publisher_qos(t))
            for t in (*OUT, topics.REWARD)
        }
        self.plans, self.verdicts, self.health, self.feedback = [], [], [], []
        self.hear(topics.PLAN, lambda m: self.plans.append(plan_from_message(m)))
        self.hear(topics.VERDICT, lambda m: self.verdicts.append(verdict_from_message(m)))
        self.hear(topics.DIAGNOSTICS, lambda m: self.health.extend(health_from_message(m)))
        self.client = ActionClient(self.node, ExecuteTask, topics.EXECUTE_TASK)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self.now, self.chunk, self.true = 1_000_000_000, 0, set()
        self.threads = []
        self.spin(self.executor, self.context)

    def mine(self, part):
        """Return the reports of this world's planner; /diagnostics is one for all."""
        return [h for h in self.health if h[0] == f'planner_node: {part}']

    def spin(self, executor, context):
        def work():
            with contextlib.suppress(ExternalShutdownException):
                while context.ok():
                    executor.spin_once(timeout_sec=0.05)

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        self.threads.append(thread)

    def hear(self, topic, take):
        self.node.create_subscription(message_type(topic), topic, take, subscriber_qos(topic))

    def send(self, topic, message):
        self.out[topic].publish(message)

    def episode(self, *, number=1, ended=False, success=False, reason='', instruction=SENTENCE):
        episode = Episode(
            self.now, number, ended, 'fake', 't', instruction, 0, 0, success, reason, OBJECTS
        )
        self.send(topics.EPISODE, episode_to_message(episode))

    def predicates(self, success=False):
        values = tuple(n.split('(')[0] in self.true for n in NAMES)
        told = Predicates(self.now, 1, self.chunk, self.chunk * 8, NAMES, values, success)
        self.send(topics.PREDICATES, predicates_to_message(told))

    def chunk_done(self, **ended):
        ends = {'terminated': False, 'truncated': False, 'success': False, **ended}
        done = ChunkDone(self.now, 1, self.chunk, 8, **ends, executed=np.zeros((8, 7), np.float32))
        self.send(topics.CHUNK_DONE, chunk_done_to_message(done))

    def step(self):
        """One control period: clock, then the arm's state; every eighth ends a chunk."""
        self.now += STEP_NS
        self.send(topics.CLOCK, clock_to_message(self.now))
        if (self.now // STEP_NS) % 8 == 0:
            self.chunk += 1
            self.predicates(success='in' in self.true)
        self.send(topics.JOINT_STATES, JointState(header=header_to_message(self.now)))

    def run(self, seconds, *, until=lambda: False, pace=0.02):
        for _ in range(round(seconds / 0.05)):
            if until():
                return
            self.step()
            time.sleep(pace)

    def goal(self, sentence=SENTENCE, limit=0.0):
        assert self.client.wait_for_server(10.0)
        sent = self.client.send_goal_async(
            task_to_goal(sentence, limit),
            feedback_callback=lambda f: self.feedback.append(f.feedback),
        )
        self.wait(sent.done, 'answer to the goal')
        return sent.result()

    def wait(self, true, what, limit=15.0):
        end = time.monotonic() + limit
        while not (value := true()):
            assert time.monotonic() < end, f'no {what} within {limit} s'
            time.sleep(0.005)
        return value

    def result(self, handle):
        future = handle.get_result_async()
        self.wait(future.done, 'result')
        return future.result().status, future.result().result

    def close(self):
        self.context.try_shutdown()
        for thread in self.threads:
            thread.join(5)
        self.node.destroy_node()


class Slow:
    """A monitor of 280 ms by the wall, where 20 ms of wall or more are 50 ms of the body."""

    name = 'slow'

    def verify(self, subtask, start, now):
        time.sleep(0.28)
        return Judgement(False, 0.5)


@pytest.fixture
def graph():
    """Return a function that starts planner_node beside a body; everything ends with the test."""
    world, nodes = World(), []

    def start(maker=None, **parameters):
        values = {'use_sim_time': True, 'first_observation_s': 2.0, **parameters}
        overrides = [Parameter(k, value=v) for k, v in values.items()]
        options = {'context': Context(), 'parameter_overrides': overrides}
        options['namespace'] = world.namespace
        rclpy.init(context=options['context'])
        if maker is not None:
            options['maker'] = maker
        node = PlannerNode(**options)
        executor = MultiThreadedExecutor(num_threads=4, context=options['context'])
        executor.add_node(node)
        world.spin(executor, options['context'])
        nodes.append((node, options['context']))
        world.wait(lambda: world.out[topics.JOINT_STATES].get_subscription_count(), 'planner')
        world.wait(lambda: world.node.count_publishers(topics.VERDICT), 'verdicts')
        time.sleep(0.2)
        return node

    yield world, start
    for node, context in nodes:
        node.close()
        context.try_shutdown()
    world.close()
    for node, _ in nodes:
        node.destroy_node()


def test_goal_gives_plan_verdicts_feedback_and_success(graph):
    world, start = graph
    start()
    world.episode()
    handle = world.goal()
    assert handle.accepted
    world.wait(lambda: world.plans, 'plan')
    world.run(1.0)
    world.true = {'grasp'}
    world.run(0.8)
    world.true = {'in'}
    status = handle.get_result_async()
    world.run(3.0, until=status.done)
    world.wait(status.done, 'result')
    result = status.result().result
    assert status.result().status == GoalStatus.STATUS_SUCCEEDED
    assert (result.success, result.reason, result.replans) == (True, 'all 2 steps verified', 0)
    assert [s.phrase for s in world.plans[0].subtasks] == [
        'grasp alphabet soup',
        'place alphabet soup in basket',
    ]
    assert plan_from_message(result.plan) == world.plans[0]
    done = [v.subtask_id for v in world.verdicts if v.done]
    assert done == ['grasp(alphabet soup)', 'place(alphabet soup, basket)']
    assert {v.monitor for v in world.verdicts} == {'predicates'}
    assert world.feedback[-1].total == 2
    world.wait(lambda: [h for h in world.mine('monitor') if h[3]['state'] == 'done'], 'health')
    _, level, _, numbers = world.mine('monitor')[-1]
    assert level == 0
    assert float(numbers['rate_hz']) == pytest.approx(5.0, rel=0.1)
    assert float(numbers['calls']) >= 8


def test_goal_before_the_body_waits_for_it_and_says_if_none_comes(graph):
    world, start = graph
    start()
    status, result = world.result(world.goal())
    assert status == GoalStatus.STATUS_ABORTED
    assert result.reason == 'no body publishes `episode` within 2 s'
    assert world.plans == []


def test_cancel_holds_the_arm_and_says_where(graph):
    world, start = graph
    start()
    world.episode()
    handle = world.goal()
    world.wait(lambda: world.plans, 'plan')
    world.run(0.5)
    handle.cancel_goal_async()
    status, result = world.result(handle)
    assert status == GoalStatus.STATUS_CANCELED
    assert result.reason == 'cancelled, at step 1 of 2 (grasp alphabet soup)'
    world.wait(lambda: world.plans[-1].subtasks == (), 'plan that says hold')


def test_second_goal_is_refused_while_one_runs(graph):
    world, start = graph
    start()
    world.episode()
    first = world.goal()
    world.wait(lambda: world.plans, 'plan')
    assert not world.goal().accepted
    first.cancel_goal_async()
    world.result(first)
    third = world.goal()
    assert third.accepted
    third.cancel_goal_async()
    world.result(third)


def test_instruction_that_names_nothing_lists_the_scene(graph):
    world, start = graph
    start()
    world.episode()
    status, result = world.result(world.goal('put the dragon in the basket'))
    assert status == GoalStatus.STATUS_ABORTED
    assert "'dragon' names nothing in the scene" in result.reason
    assert 'alphabet soup, basket' in result.reason


def test_end_of_the_episode_ends_the_task_with_its_reason(graph):
    world, start = graph
    start()
    world.episode()
    handle = world.goal()
    world.wait(lambda: world.plans, 'plan')
    world.run(0.5)
    world.episode(ended=True, reason='horizon of 700 steps')
    _, result = world.result(handle)
    assert 'the episode ended: horizon of 700 steps' in result.reason
    _, result = world.result(world.goal())
    assert 'reset the body' in result.reason


def test_reset_in_the_middle_ends_the_task(graph):
    world, start = graph
    start()
    world.episode()
    handle = world.goal()
    world.wait(lambda: world.plans, 'plan')
    world.episode(number=2)
    _, result = world.result(handle)
    assert 'the body was reset, episode 2 began' in result.reason


def test_two_planners_take_no_goal_until_one_is_gone(graph):
    """Both would plan, and the tracker follow them in turns."""
    world, start = graph
    node = start()
    world.episode()
    kind, qos = message_type(topics.PLAN), publisher_qos(topics.PLAN)
    other = world.node.create_publisher(kind, topics.PLAN, qos)
    world.wait(lambda: node.count_publishers(topics.PLAN) == 2, 'second planner')
    assert not world.goal().accepted
    assert world.plans == []
    world.node.destroy_publisher(other)
    world.wait(lambda: node.count_publishers(topics.PLAN) == 1, 'single planner')
    handle = world.goal()
    assert handle.accepted
    handle.cancel_goal_async()
    world.result(handle)


def test_planner_that_began_anew_holds_an_arm_that_pursues_the_plan_of_the_killed_one(graph):
    world, start = graph
    kind, qos = message_type(topics.SUBTASK), publisher_qos(topics.SUBTASK)
    tracker = world.node.create_publisher(kind, topics.SUBTASK, qos)
    pursued = SubtaskStatus(world.now, 1, 5, 3, 'grasp(soup)', (), ('grasp(soup)',), ())
    tracker.publish(subtask_status_to_message(pursued))
    start()
    world.wait(lambda: world.plans, 'plan that says hold')
    (held,) = world.plans
    assert held.subtasks == ()
    assert held.revision == 4
    assert held.stamp_ns >= pursued.stamp_ns
    world.episode()
    handle = world.goal()
    world.wait(lambda: len(world.plans) == 2, 'plan of the next task')
    assert world.plans[1].revision == 1
    own = dataclasses.replace(pursued, revision=1)
    tracker.publish(subtask_status_to_message(own))
    world.run(0.5)
    assert len(world.plans) == 2, 'its own plan goes on'
    handle.cancel_goal_async()
    world.result(handle)


def test_missing_camera_ends_the_task_with_its_role(graph):
    world, start = graph
    start(
        planner='openai',
        openai_base_url='http://127.0.0.1:9/v1',
        openai_model='tiny',
        openai_retries=0,
        roles=['head'],
    )
    world.episode()
    status, result = world.result(world.goal())
    assert status == GoalStatus.STATUS_ABORTED
    assert result.reason == 'no image of head came from the body within 2 s'


def test_planner_endpoint_that_is_down_ends_the_task_and_no_other_steps_in(graph):
    from structrl_ros.models.vlm.chat_client import ChatSettings
    from structrl_ros.models.vlm.openai_client import OpenAIPlanner
    from structrl_ros.subtasks.predicate_monitor import PredicateMonitor

    chat = ChatSettings(base_url='http://127.0.0.1:9/v1', model='tiny', retries=1, backoff_s=0.01)
    world, start = graph
    start(maker=lambda p: Backends(OpenAIPlanner(chat, roles=()), PredicateMonitor()))
    world.episode()
    _, result = world.result(world.goal())
    assert result.reason.startswith('planner openai:tiny gave no plan: model tiny at http://127')
    assert world.plans == []


def test_slow_monitor_lowers_the_rate_and_health_says_so(graph):
    world, start = graph
    start(maker=lambda p: Backends(RulePlanner(), Slow()))
    world.episode()
    handle = world.goal()
    world.wait(lambda: world.plans, 'plan')
    world.run(8.0)
    handle.cancel_goal_async()
    world.result(handle)
    warnings = [h for h in world.mine('monitor') if h[1] == 1]
    assert warnings
    assert 'wanted 5 Hz' in warnings[-1][2]
    assert float(warnings[-1][3]['dropped']) > 5
    assert float(warnings[-1][3]['rate_hz']) < 3.5


def test_silent_body_ends_the_task(graph):
    world, start = graph
    start(stall_limit_s=1.0)
    world.episode()
    _, result = world.result(world.goal())
    assert result.reason == 'the body stands still: no news and no clock for 1 s'


def test_lockstep_publishes_a_verdict_at_the_end_of_every_chunk(graph):
    world, start = graph
    start(lockstep=True)
    world.send(topics.CLOCK, clock_to_message(world.now))
    world.episode()
    handle = world.goal()
    world.wait(lambda: world.plans, 'plan')
    for number, true in ((1, ()), (2, ('grasp',)), (3, ('in',))):
        world.now += 8 * STEP_NS
        world.chunk, world.true = number, set(true)
        world.chunk_done(success=number == 3, terminated=number == 3)
        world.predicates(success=number == 3)
        world.wait(lambda: world.verdicts and world.verdicts[-1].stamp_ns == world.now, 'verdict')
    _, result = world.result(handle)
    assert result.success
    stamps = [(v.stamp_ns - 1_000_000_000) // 1_000_000 for v in world.verdicts]
    assert stamps == [200, 400, 600, 800, 1200]


def test_result_holds_the_return_with_the_last_reward(graph):
    world, start = graph
    start()
    world.episode()
    handle = world.goal()
    world.wait(lambda: world.plans, 'plan')
    world.true = {'grasp', 'in'}
    status = handle.get_result_async()
    world.run(2.0, until=lambda: [v for v in world.verdicts if v.index == 1 and v.done])
    world.wait(lambda: [v for v in world.verdicts if v.index == 1 and v.done], 'last verdict')
    reward = Reward(world.now, 1, world.chunk, 2.3, (('success', 2.3),), 2.3, True, False)
    world.send(topics.REWARD, reward_to_message(reward))
    world.wait(status.done, 'result')
    assert status.result().result.episode_return == pytest.approx(2.3)


def test_deactivation_ends_the_task_and_activation_takes_goals_again(graph):
    world, start = graph
    start()
    world.episode()
    handle = world.goal()
    world.wait(lambda: world.plans, 'plan')
    change = world.node.create_client(ChangeState, 'planner_node/change_state')
    assert change.wait_for_service(5.0)

    def call(number):
        done = change.call_async(ChangeState.Request(transition=Transition(id=number)))
        world.wait(done.done, 'change of state')
        return done.result().success

    result = handle.get_result_async()
    assert call(Transition.TRANSITION_DEACTIVATE)
    world.wait(result.done, 'result')
    assert result.result().result.reason == 'planner_node stops'
    assert world.plans[-1].subtasks == ()
    assert call(Transition.TRANSITION_ACTIVATE)
    again = world.goal()
    assert again.accepted
    again.cancel_goal_async()
    world.result(again)


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_signal_ends_the_task_and_the_process_cleanly(graph, number):
    world, _ = graph
    words = ['-r', f'__ns:={world.namespace}', '-p', 'use_sim_time:=true']
    command = [sys.executable, '-m', 'structrl_ros.nodes.planner_node', '--ros-args', *words]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        world.wait(lambda: world.node.count_publishers(topics.VERDICT), 'planner')
        world.episode()
        result = world.goal().get_result_async()
        world.wait(lambda: world.plans, 'plan')
        begun = time.monotonic()
        process.send_signal(number)
        world.wait(lambda: world.plans[-1].subtasks == (), 'plan that says hold')
        world.wait(result.done, 'result')
        assert result.result().result.reason == 'planner_node stops'
        assert process.wait(5.0) == 0
        assert time.monotonic() - begun < 5.0
    finally:
        process.kill()
        log = process.communicate()[1]
    assert 'Traceback' not in log


def test_wrong_parameter_is_one_line_and_status_1(graph):
    command = [sys.executable, '-m', 'structrl_ros.nodes.planner_node', '--ros-args']
    done = subprocess.run(
        [*command, '-p', 'planner:=magic'], capture_output=True, text=True, timeout=30, check=False
    )
    assert done.returncode == 1
    assert done.stderr.startswith("planner_node: parameter 'planner' is 'magic'")
    assert 'Traceback' not in done.stderr


def test_openai_without_an_address_refuses_to_start(graph):
    _, start = graph
    with pytest.raises(ParameterError, match='openai_base_url'):
        start(planner='openai')


def test_fast_body_keeps_its_own_time_for_the_limits(graph):
    world, start = graph
    start(subtask_timeout_s=1.0, attempts=1, replans=1)
    world.episode()
    status = world.goal().get_result_async()
    world.wait(lambda: world.plans, 'plan')
    world.run(6.0, until=status.done)
    world.wait(status.done, 'result')
    result = status.result().result
    assert (result.success, result.replans) == (False, 1)
    assert 'not done within 1 s, attempt 1 of 1, after 1 replans' in result.reason
    assert [p.revision for p in world.plans] == [1, 2, 3]
