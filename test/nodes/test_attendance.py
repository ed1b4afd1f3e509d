"""The person beside an evaluation, and what evaluator_node makes of its parameters."""

import sys
import threading
import time
from pathlib import Path

import pytest

pytest.importorskip('rclpy')
pytest.importorskip('structrl_msgs')
sys.path.insert(0, str(Path(__file__).parent))

import rclpy
from body_harness import domain
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from std_srvs.srv import SetBool
from std_srvs.srv import Trigger

from structrl_ros.errors import ParameterError
from structrl_ros.evaluation.protocol import PlacementCard
from structrl_ros.evaluation.protocol import PlannedStart
from structrl_ros.nodes.attendance import Attendance
from structrl_ros.nodes.graph_protocol import graph_protocol
from structrl_ros.nodes.graph_protocol import policy_nodes
from structrl_ros.params.evaluator import EvaluatorParameters

pytestmark = pytest.mark.ros

KINEMATIC = """
format: 1
name: p
body: kinematic
tasks: [kinematic/two_in_basket]
episodes: 2
policies: {expert: {policy: expert}}
"""
CARD = PlacementCard(text='mug left', picture='/a.png')


def write(folder, text=KINEMATIC):
    path = folder / 'p.yaml'
    path.write_text(text)
    return path


@pytest.fixture
def attended():
    context = Context()
    rclpy.init(context=context, domain_id=domain(4))
    node = rclpy.create_node('evaluator_node', context=context)
    attendance = Attendance(node)
    caller = rclpy.create_node('caller', context=context)
    clients = {
        'ready': caller.create_client(Trigger, '/evaluator_node/ready'),
        'mark': caller.create_client(SetBool, '/mark_episode'),
    }
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    executor.add_node(caller)
    stop = threading.Event()

    def spin():
        while not stop.is_set():
            executor.spin_once(timeout_sec=0.05)

    thread = threading.Thread(target=spin)
    thread.start()

    def call(name, **fields):
        client = clients[name]
        assert client.wait_for_service(30.0)
        request = client.srv_type.Request(**fields)
        future = client.call_async(request)
        end = time.monotonic() + 30.0
        while not future.done():
            assert time.monotonic() < end
            time.sleep(0.01)
        return future.result()

    yield attendance, call
    stop.set()
    thread.join(10)
    executor.shutdown()
    rclpy.try_shutdown(context=context)


def test_answers_are_taken_when_they_are_asked_for_and_only_then(attended):
    attendance, call = attended
    assert not call('ready').success
    start = PlannedStart(task='t', seed=0, initial_state=2, repetition=0, card=CARD)
    attendance.ask_placement(7, start)
    assert 'mug left (picture /a.png)' in attendance.waiting[1]
    assert not call('mark', data=True).success
    assert not attendance.look()
    assert call('ready').success
    assert attendance.look()
    attendance.open_marks()
    assert attendance.take_mark() is None
    assert call('mark', data=False).success
    assert attendance.is_marked
    assert not call('mark', data=True).success
    assert attendance.take_mark() is False


def test_policies_of_the_graph_take_the_names_of_the_protocol(tmp_path):
    path = str(write(tmp_path))
    out = str(tmp_path / 'o')
    named = graph_protocol(EvaluatorParameters(protocol=path, out=out))
    assert [p.name for p in named.policies] == ['expert']
    own = graph_protocol(EvaluatorParameters(protocol=path, out=out, name='mine'))
    assert [p.name for p in own.policies] == ['mine']


def test_codes_are_played_by_the_nodes_of_their_policies_and_one_alone_by_none(tmp_path):
    given = {'protocol': str(write(tmp_path)), 'out': str(tmp_path / 'o'), 'name': 'mine'}
    alone = graph_protocol(EvaluatorParameters(**given)).policies
    assert policy_nodes(alone, {'A': alone[0]}) == {}
    more = {'other_policy': 'expert', 'other_name': 'yours'}
    mine, yours = graph_protocol(EvaluatorParameters(**given, **more)).policies
    nodes = policy_nodes((mine, yours), {'A': yours, 'B': mine})
    assert nodes == {'A': 'other_policy_node', 'B': 'policy_node'}


@pytest.mark.parametrize(
    ('values', 'line'),
    [
        ({'protocol': ''}, 'protocol must be given'),
        ({'out': ''}, 'out must be given'),
        ({'other_policy': 'expert'}, "both policies are called 'expert'"),
        ({'policy': 'none'}, 'policy'),
    ],
)
def test_what_the_node_cannot_play_is_one_line(tmp_path, values, line):
    given = {'protocol': str(write(tmp_path)), 'out': str(tmp_path / 'o'), **values}
    with pytest.raises(ParameterError, match=line):
        graph_protocol(EvaluatorParameters(**given))


def test_body_options_are_refused_for_a_running_body(tmp_path):
    path = write(tmp_path, KINEMATIC + 'body_options: {horizon_steps: 9}\n')
    with pytest.raises(ParameterError, match='a running body takes none'):
        graph_protocol(EvaluatorParameters(protocol=str(path), out=str(tmp_path / 'o')))
