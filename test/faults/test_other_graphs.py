"""A graph that is not the one that is looked for, and a tracker that began anew."""

import time

import numpy as np
import pytest

from structrl_ros.errors import StaleDataError
from structrl_ros.rewards.structured import StructuredReward
from structrl_ros.subtasks.paid_task import TrackerSettings
from structrl_ros.subtasks.tracker import Tracker
from structrl_ros.types import ChunkDone
from structrl_ros.types import Episode
from structrl_ros.types import Plan
from structrl_ros.types import Predicates
from structrl_ros.types import Subtask
from structrl_ros.types import SubtaskStatus
from structrl_ros.types import Verdict

SECOND = 1_000_000_000
GRASP = Subtask('grasp(soup)', '', 'grasp', ('soup',), 0)
PLACE = Subtask('place(soup, basket)', '', 'place', ('soup', 'basket'), 1)


@pytest.mark.ros
@pytest.mark.parametrize('reach', ['OFF', 'LOCALHOST'])
def test_a_graph_that_is_not_discovered_is_one_line_that_says_where_was_looked(monkeypatch, reach):
    pytest.importorskip('rclpy', reason='needs the ROS 2 wheels: make install')
    pytest.importorskip('structrl_msgs', reason='needs structrl_msgs: make install')
    from ros_domains import claimed_domain

    from structrl_ros.nodes.task_client import TaskClient

    number = str(claimed_domain('nobody'))
    monkeypatch.setenv('ROS_DOMAIN_ID', number)
    monkeypatch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', reach)
    with TaskClient(lambda event: None) as client, pytest.raises(StaleDataError) as told:
        client.wait_for_planner(0.3)
    line = str(told.value)
    assert line.startswith('no planner serves `execute_task` ')
    assert f'ROS_DOMAIN_ID {number}, discovery {reach}' in line
    assert '\n' not in line


def test_a_tracker_that_began_anew_goes_where_the_planner_is_and_says_what_it_missed():
    tracker = Tracker(TrackerSettings(), StructuredReward)
    start = Episode(SECOND, 1, False, 'b', 't', 'go', 0, 0)
    plan = Plan(SECOND, 1, 'go', (GRASP, PLACE))
    late = Verdict(20 * SECOND, 1, 1, PLACE.id, False, 0.1, 0.1, 'eye')
    told = [out for message in (plan, start, late) for out in tracker.consume(message)]
    assert [s.current for s in told if isinstance(s, SubtaskStatus)][-1] == PLACE.id
    names, rows = ('grasp(soup_1)',), np.zeros((8, 7), np.float32)
    for message in (
        Predicates(21 * SECOND, 1, 9, 72, names, (True,), False),
        ChunkDone(21 * SECOND, 1, 9, 8, False, False, False, rows),
    ):
        tracker.consume(message)
    assert any(
        'chunks 1 to 8: chunk_done and predicates lost' in r for r in tracker.take_reports()
    )


@pytest.mark.ros
def test_a_task_whose_planner_was_killed_and_began_anew_ends_with_a_reason(monkeypatch):
    pytest.importorskip('rclpy', reason='needs the ROS 2 wheels: make install')
    pytest.importorskip('structrl_msgs', reason='needs structrl_msgs: make install')
    import contextlib
    import threading

    import rclpy
    from rclpy.action import ActionServer
    from rclpy.executors import ExternalShutdownException
    from rclpy.executors import MultiThreadedExecutor
    from rclpy.executors import ShutdownException
    from ros_domains import claimed_domain
    from structrl_msgs.action import ExecuteTask

    from structrl_ros.nodes import task_client
    from structrl_ros.nodes.abandoned_plan import REASON
    from structrl_ros.wire import topics
    from structrl_ros.wire.plan_codecs import plan_to_message
    from structrl_ros.wire.qos import message_type
    from structrl_ros.wire.qos import publisher_qos

    number = claimed_domain()
    monkeypatch.setenv('ROS_DOMAIN_ID', str(number))
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=number)
    node = rclpy.create_node('planner_node', context=context)
    kind, qos = message_type(topics.PLAN), publisher_qos(topics.PLAN)
    plans = node.create_publisher(kind, topics.PLAN, qos)
    over, begun, gone = threading.Event(), threading.Event(), threading.Event()

    def carry_out(handle):
        plans.publish(plan_to_message(Plan(SECOND, 1, 'go', (GRASP,))))
        begun.set()
        over.wait(60.0)
        handle.abort()
        gone.set()
        return ExecuteTask.Result()

    ActionServer(node, ExecuteTask, topics.EXECUTE_TASK, carry_out)
    executor = MultiThreadedExecutor(3, context=context)
    executor.add_node(node)

    def spin():
        with contextlib.suppress(ExternalShutdownException, ShutdownException):
            while context.ok():
                executor.spin_once(timeout_sec=0.05)

    def listen(event):
        if isinstance(event, Plan) and event.subtasks:
            plans.publish(plan_to_message(Plan(2 * SECOND, 2, '', (), REASON)))

    thread = threading.Thread(target=spin, daemon=True)
    try:
        thread.start()
        with task_client.TaskClient(listen) as client:
            client.wait_for_planner(60.0)
            outcome = client.execute('go')
        assert begun.is_set()
        assert not outcome.success
        assert outcome.reason.startswith('the planner was killed; the one that began anew ')
    finally:
        over.set()
        gone.wait(60.0 if begun.is_set() else 0.0)
        executor.shutdown(60.0)
        context.try_shutdown()
        thread.join(60.0)


@pytest.mark.ros
def test_a_task_whose_planner_is_gone_for_good_is_lost_after_a_while(monkeypatch):
    pytest.importorskip('rclpy', reason='needs the ROS 2 wheels: make install')
    pytest.importorskip('structrl_msgs', reason='needs structrl_msgs: make install')
    from ros_domains import claimed_domain

    from structrl_ros.nodes import task_client

    monkeypatch.setenv('ROS_DOMAIN_ID', str(claimed_domain('nobody')))
    with task_client.TaskClient(lambda event: None) as client:
        client._ready_s = time.monotonic()
        assert not client._is_lost()
        client._ready_s -= task_client.PLANNER_GONE_S
        assert client._is_lost()
        assert client._lost == 'the planner is gone'
