"""A graph that is not the one that is looked for, and a tracker that began anew."""

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

    number = str(claimed_domain())
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
