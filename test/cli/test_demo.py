"""The whole graph as a user starts it, on the kinematic body: real processes, real Fast DDS."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.ros

STRUCTRL = [sys.executable, '-m', 'structrl_ros.cli.main']


def structrl(*words, timeout=120):
    return subprocess.run(
        [*STRUCTRL, *words], capture_output=True, text=True, timeout=timeout, check=False
    )


def demo(directory, *words):
    done = structrl('demo', '--body', 'kinematic', '--run-dir', str(directory), *words)
    return done, done.stdout + done.stderr


@pytest.fixture(scope='module')
def finished(tmp_path_factory):
    directory = tmp_path_factory.mktemp('demo') / 'run'
    done, text = demo(directory, '--lockstep')
    return directory, done, text


def test_demo_ends_in_success_and_status_zero(finished):
    _, done, text = finished
    assert done.returncode == 0, text
    assert 'success' in text


def test_demo_shows_plan_verdicts_and_rewards_as_they_happen(finished):
    _, _, text = finished
    for word in ('plan 1', 'now', 'done', 'reward', 'episode 1'):
        assert word in text, text


def test_demo_leaves_bag_report_and_numbers(finished):
    directory, _, text = finished
    assert (directory / 'report.html').stat().st_size > 10_000
    assert list((directory / 'bag').glob('*.mcap'))
    numbers = json.loads((directory / 'run.json').read_text())
    assert numbers['ledger']['equal'] is True, text


def test_recorded_trace_scores_to_the_live_ledger(finished):
    directory, _, _ = finished
    scored = structrl('score', 'structured_reward', str(directory / 'trace.json'))
    assert scored.returncode == 0, scored.stderr
    rewards = json.loads(scored.stdout)['cases'][0]['output']['rewards']
    run = json.loads((directory / 'run.json').read_text())
    live = [row['value'] for row in run['rewards']]
    assert live == rewards
    assert sum(rewards) > 2.0


@pytest.mark.slow
def test_a_replay_shows_what_happened_as_it_goes_by(finished):
    directory, _, _ = finished
    done = structrl('replay', str(directory), 'rate:=5.0')
    assert done.returncode == 0, done.stdout + done.stderr
    for words in ('reward  chunk', 'done    grasp', 'ended: it is done'):
        assert words in done.stdout


def test_lockstep_twice_gives_the_same_rewards_to_the_last_bit(finished, tmp_path):
    directory, _, _ = finished
    done, text = demo(tmp_path / 'again', '--lockstep')
    assert done.returncode == 0, text
    first, second = (
        json.loads((d / 'run.json').read_text())['rewards']
        for d in (directory, tmp_path / 'again')
    )
    assert first == second


def test_unknown_task_is_one_line_and_status_one(tmp_path):
    done, text = demo(tmp_path / 'run', '--task', 'kinematic/fly')
    assert done.returncode == 1
    assert 'kinematic/fly' in text
    assert 'Traceback' not in text


def test_instruction_that_names_nothing_here_ends_with_the_reason(tmp_path):
    done, text = demo(tmp_path / 'run', '--instruction', 'pick up the dragon')
    assert done.returncode == 1
    assert 'dragon' in text
    assert 'alphabet soup' in text
    assert 'Traceback' not in text


def test_killed_policy_is_restarted_and_the_task_ends(tmp_path):
    run = subprocess.Popen(
        [*STRUCTRL, 'demo', '--body', 'kinematic', '--run-dir', str(tmp_path / 'run')],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        wait_for(run, r'\breward\b')  # a body that was never moved holds in silence
        os.kill(process_of('policy_node', tmp_path / 'run'), signal.SIGKILL)
        text = run.communicate(timeout=90)[0]
    finally:
        run.kill()
    assert 'policy_node ended: killed by SIGKILL' in text
    assert 'policy_node restarted' in text
    assert re.search(r'safety\s+hold', text), text
    assert run.returncode == 0, text


def test_ctrl_c_ends_every_process_within_five_seconds(tmp_path):
    up = subprocess.Popen(
        [*STRUCTRL, 'up', 'deploy', 'body:=kinematic', '--run-dir', str(tmp_path / 'run')],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        wait_for(up, '^ready')
        children = children_of(up.pid)
        assert len(children) >= 4
        began = time.monotonic()
        up.send_signal(signal.SIGINT)
        text = up.communicate(timeout=20)[0]
    finally:
        up.kill()
    assert time.monotonic() - began < 5.0
    assert up.returncode == 0, text
    assert 'killed' not in text
    assert not [pid for pid in children if alive(pid)]


def test_help_is_instant():
    began = os.times()
    done = structrl('--help')
    ended = os.times()
    spent = ended.children_user + ended.children_system
    spent -= began.children_user + began.children_system
    assert done.returncode == 0
    assert spent < 1.0


def wait_for(process, pattern):
    for line in process.stdout:
        if re.search(pattern, line):
            return
    raise AssertionError(f'{pattern!r} never appeared')


def alive(pid):
    try:
        return Path(f'/proc/{pid}/stat').read_text().rsplit(')', 1)[1].split()[0] != 'Z'
    except OSError:
        return False


def children_of(pid):
    return [int(word) for word in Path(f'/proc/{pid}/task/{pid}/children').read_text().split()]


def process_of(node, directory):
    """Find the node by its module on the command line, among the children of our own demo."""
    for entry in Path('/proc').glob('[0-9]*'):
        try:
            words = (entry / 'cmdline').read_bytes().split(b'\0')
            target = os.readlink(entry / 'fd' / '1')
        except OSError:
            continue
        if f'structrl_ros.nodes.{node}'.encode() in words and str(directory) in target:
            return int(entry.name)
    raise AssertionError(f'no process of {node} writes into {directory}')
