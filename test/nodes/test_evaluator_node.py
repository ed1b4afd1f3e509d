"""Protocols through topics: equal to those in the process, through kills, with a person."""

import os
import signal
import subprocess
import sys
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

from structrl_ros.errors import ParameterError
from structrl_ros.errors import StaleDataError
from structrl_ros.evaluation.results import load_results
from structrl_ros.nodes.evaluation_caller import call_mark
from structrl_ros.nodes.evaluation_caller import call_ready
from structrl_ros.nodes.evaluation_caller import hear_status

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
def test_two_blinded_policies_take_turns_on_the_twin_as_in_the_process(tmp_path):
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
        'order: interleaved\nblinding: true\ntime_limit_s: 12.0\npolicies:\n'
        '  expert: {policy: expert}\n'
        '  random: {policy: checkpoint, checkpoint: random}\n',
    )
    words = [*STRUCTRL, 'policy', str(path), '--out', str(tmp_path / 'here'), '--workers', '1']
    subprocess.run(words, check=True, capture_output=True)
    run = live(tmp_path, number=2)
    try:
        assert run.wait(600) == 0, (tmp_path / 'live.log').read_text()
    finally:
        run.kill()
    assert [r.code for r in load_results(tmp_path / 'live').episodes] == ['A', 'B', 'B', 'A']
    there, here = (by_name(load_results(tmp_path / name)) for name in ('live', 'here'))
    assert there == here
    assert {e['cause'] for e in there['random']} == {'not_done'}


def by_name(results):
    """Return name of the policy to its episodes, without what blinding draws."""
    drawn = ('code', 'number')
    plain = [{k: v for k, v in e.to_json().items() if k not in drawn} for e in results.episodes]
    return {
        p.name: [x for x, e in zip(plain, results.episodes, strict=True) if e.code == p.code]
        for p in results.policies
    }


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_person_sets_up_and_judges(tmp_path, monkeypatch):
    text = KINEMATIC.replace(', kinematic/soup_in_basket', '') + 'success: person\n'
    text = text.replace('episodes: 2', 'episodes: 3')
    write(tmp_path, text)
    monkeypatch.setenv('ROS_DOMAIN_ID', str(domain(3)))
    run = live(tmp_path, 'lockstep:=false', number=3)
    hand = Hand(domain(3))

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
        wait(lambda: hand.mark(False), run, tmp_path)  # as soon as it runs: this ends it
        assert run.wait(120) == 0, (tmp_path / 'live.log').read_text()
    finally:
        run.kill()
        hand.close()
    episodes = load_results(tmp_path / 'live').episodes
    assert [(e.success, e.judged_by) for e in episodes] == [
        (True, 'person'),
        (False, 'person'),
        (False, 'person'),
    ]
    assert episodes[1].cause == 'not_judged'
    assert (episodes[2].end, episodes[2].reason) == ('gave_up', 'marked by a person')
    assert episodes[2].duration_s < episodes[1].duration_s


class Hand:
    """A person with a finger on the button: connected all the time."""

    def __init__(self, number):
        self.context = Context()
        rclpy.init(context=self.context, domain_id=number)
        self.node = rclpy.create_node('hand', context=self.context)
        self.client = self.node.create_client(SetBool, '/mark_episode')
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)

    def mark(self, success):
        assert self.client.wait_for_service(30.0)
        future = self.client.call_async(SetBool.Request(data=success))
        self.executor.spin_until_future_complete(future, 30.0)
        return future.result().success

    def close(self):
        self.executor.shutdown()
        rclpy.try_shutdown(context=self.context)
