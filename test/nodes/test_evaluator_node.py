"""Protocols through topics: equal to those in the process, through kills, with a person."""

import os
import signal
import subprocess
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
from structrl_ros.errors import StaleDataError
from structrl_ros.evaluation.protocol import PlacementCard
from structrl_ros.evaluation.protocol import PlannedStart
from structrl_ros.evaluation.results import load_results
from structrl_ros.nodes.attendance import Attendance
from structrl_ros.nodes.evaluation_caller import call_mark
from structrl_ros.nodes.evaluation_caller import call_ready
from structrl_ros.nodes.evaluation_caller import hear_status
from structrl_ros.nodes.evaluator_node import graph_protocol
from structrl_ros.params.evaluator import EvaluatorParameters

pytestmark = pytest.mark.ros

STRUCTRL = [sys.executable, '-m', 'structrl_ros.cli.main', 'evaluate']
KINEMATIC = """
format: 1
name: p
body: kinematic
tasks: [kinematic/two_in_basket, kinematic/soup_in_basket]
episodes: 2
policies: {expert: {policy: expert}}
"""
CARD = PlacementCard(text='mug left', picture='/a.png')


def write(folder, text=KINEMATIC):
    path = folder / 'p.yaml'
    path.write_text(text)
    return path


def environment(number):
    return {**os.environ, 'ROS_DOMAIN_ID': str(domain(number))}


def live(folder, *words, number):
    command = [*STRUCTRL, 'live', str(folder / 'p.yaml'), '--out', str(folder / 'live'), *words]
    log = (folder / 'live.log').open('a')
    return subprocess.Popen(
        command, cwd=folder, env=environment(number), stdout=log, stderr=subprocess.STDOUT
    )


def wait(true, process, folder, limit=240.0):
    end = time.monotonic() + limit
    while not (value := true()):
        text = (folder / 'live.log').read_text()
        assert process.poll() is None, text
        assert time.monotonic() < end, text
        time.sleep(0.05)
    return value


def lines(path):
    place = path / 'episodes.jsonl'
    return place.read_text().splitlines() if place.exists() else []


def evaluator_of(folder):
    """Return the process of the evaluator that was started in a folder."""
    for place in Path('/proc').glob('[0-9]*'):
        try:
            words = (place / 'cmdline').read_bytes().split(b'\0')
            is_ours = (place / 'cwd').readlink() == folder
        except OSError:
            continue
        if b'structrl_ros.nodes.evaluator_node' in words and is_ours:
            return int(place.name)
    raise AssertionError('no evaluator runs')


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_lockstep_equals_the_process_also_after_a_kill(tmp_path):
    path = write(tmp_path)
    first = live(tmp_path, number=1)
    try:
        wait(lambda: lines(tmp_path / 'live'), first, tmp_path)
        os.kill(evaluator_of(tmp_path), signal.SIGKILL)
        assert first.wait(120) == 1
    finally:
        first.kill()
    assert 1 <= len(lines(tmp_path / 'live')) < 4
    second = live(tmp_path, number=1)
    try:
        assert second.wait(400) == 0, (tmp_path / 'live.log').read_text()
    finally:
        second.kill()
    words = [*STRUCTRL, 'policy', str(path), '--out', str(tmp_path / 'here'), '--workers', '1']
    subprocess.run(words, check=True, capture_output=True)
    assert lines(tmp_path / 'live') == lines(tmp_path / 'here')
    live_file, own_file = ((tmp_path / n / 'results.json').read_bytes() for n in ('live', 'here'))
    assert live_file == own_file


@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.timeout(900)
def test_two_policies_take_turns_on_the_twin_as_in_the_process(tmp_path):
    torch = pytest.importorskip('torch')
    from structrl_ros.models.checkpoint import save_policy
    from structrl_ros.models.policies.flow import FlowConfig
    from structrl_ros.models.policies.registry import make_policy
    from structrl_ros.sim.registry import make_body

    torch.manual_seed(0)
    names = make_body('twin').feature_names
    network = make_policy(FlowConfig(feature_names=names, chunk_length=8, hidden=8))
    save_policy(tmp_path / 'random', network, '# Random')
    path = write(
        tmp_path,
        'format: 1\nname: p\nbody: twin\ntasks: [pack_lunch]\nepisodes: 2\nseeds: 40\n'
        'order: interleaved\ntime_limit_s: 12.0\npolicies:\n  expert: {policy: expert}\n'
        '  random: {policy: checkpoint, checkpoint: random}\n',
    )
    words = [*STRUCTRL, 'policy', str(path), '--out', str(tmp_path / 'here'), '--workers', '1']
    subprocess.run(words, check=True, capture_output=True)
    run = live(tmp_path, number=2)
    try:
        assert run.wait(600) == 0, (tmp_path / 'live.log').read_text()
    finally:
        run.kill()
    assert lines(tmp_path / 'live') == lines(tmp_path / 'here')
    results = load_results(tmp_path / 'live')
    assert [e.code for e in results.episodes] == ['expert', 'random', 'random', 'expert']
    assert {e.cause for e in results.of('random')} == {'not_done'}


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_person_sets_up_and_judges(tmp_path, monkeypatch):
    text = KINEMATIC.replace('two_in_basket, kinematic/', '') + 'success: person\n'
    text = text.replace('episodes: 2', 'episodes: 3')
    write(tmp_path, text)
    monkeypatch.setenv('ROS_DOMAIN_ID', str(domain(3)))
    run = live(tmp_path, number=3)

    def says(word):
        def heard():
            try:
                return word in hear_status('', 5.0)
            except StaleDataError:
                return False

        return heard

    try:
        for number, success in enumerate((True, False)):
            wait(says(f'episode {number}'), run, tmp_path)
            with pytest.raises(ParameterError, match='not now: episode'):
                call_mark(True, '', 20.0)
            assert call_ready('', 20.0) == 'it begins'
            wait(says('mark success or failure'), run, tmp_path)
            assert call_mark(success, '', 20.0).startswith('marked ')
        wait(says('episode 2'), run, tmp_path)
        call_ready('', 20.0)
        wait(lambda: marks(False), run, tmp_path)  # while it runs: this ends it
        assert run.wait(120) == 0, (tmp_path / 'live.log').read_text()
    finally:
        run.kill()
    episodes = load_results(tmp_path / 'live').episodes
    assert [(e.success, e.judged_by, e.cause) for e in episodes] == [
        (True, 'person', ''),
        (False, 'person', 'not_judged'),
        (False, 'person', 'never_grasped'),
    ]
    assert (episodes[2].end, episodes[2].reason) == ('gave_up', 'marked by a person')


def marks(success):
    try:
        return call_mark(success, '', 20.0)
    except ParameterError:
        return ''


@pytest.fixture
def attended():
    context = Context()
    rclpy.init(context=context, domain_id=domain(4))
    node = rclpy.create_node('evaluator_node', context=context)
    attendance = Attendance(node)
    caller = rclpy.create_node('caller', context=context)
    clients = {
        'ready': caller.create_client(Trigger, '/evaluator_node/ready'),
        'mark': caller.create_client(SetBool, '/evaluator_node/mark'),
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
    assert not attendance.look(0.0)
    assert call('ready').success
    assert attendance.look(10.0)
    attendance.open_marks()
    assert attendance.take_mark(0.0) is None
    assert call('mark', data=False).success
    assert attendance.is_marked
    assert not call('mark', data=True).success
    assert attendance.take_mark(10.0) is False


def test_policies_of_the_graph_take_the_names_of_the_protocol(tmp_path):
    path = str(write(tmp_path))
    out = str(tmp_path / 'o')
    named = graph_protocol(EvaluatorParameters(protocol=path, out=out))
    assert [p.name for p in named.policies] == ['expert']
    own = graph_protocol(EvaluatorParameters(protocol=path, out=out, name='mine'))
    assert [p.name for p in own.policies] == ['mine']


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
