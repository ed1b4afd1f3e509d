"""A graph that stays up: ready, a sentence, another one, the next episode; real processes."""

import os
import signal
import subprocess
import sys
import time

import pytest
from ros_domains import claimed_domain

pytestmark = [pytest.mark.ros, pytest.mark.slow]

STRUCTRL = [sys.executable, '-m', 'structrl_ros.cli.main']


@pytest.fixture(scope='module')
def graph(tmp_path_factory):
    folder = tmp_path_factory.mktemp('up')
    environment = {**os.environ, 'ROS_DOMAIN_ID': str(claimed_domain('up run reset'))}
    log = folder / 'said.txt'
    with log.open('w') as out:
        process = subprocess.Popen(
            [*STRUCTRL, 'up', 'deploy', 'body:=kinematic', '--run-dir', str(folder / 'run')],
            stdout=out,
            stderr=out,
            env=environment,
        )
    try:
        end = time.monotonic() + 120.0
        while 'structrl run "' not in log.read_text():
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.1)
        yield environment
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30.0)


def structrl(environment, *words):
    return subprocess.run(
        [*STRUCTRL, *words],
        capture_output=True,
        text=True,
        timeout=120.0,
        check=False,
        env=environment,
    )


def test_a_ready_graph_takes_one_sentence_after_the_other_and_the_next_episode(graph):
    first = structrl(graph, 'run', 'put the tomato sauce in the basket')
    assert first.returncode == 0, first.stdout + first.stderr
    second = structrl(graph, 'run', 'put the alphabet soup in the basket')
    assert second.returncode == 0, second.stdout + second.stderr
    plan = 'grasp tomato sauce'
    assert plan in first.stdout
    assert plan not in second.stdout
    assert second.stdout.count('plan 1') == 1
    assert ' 0 chunks' not in second.stdout
    assert 'the next episode: structrl reset' in second.stdout
    third = structrl(graph, 'run', 'put the tomato sauce in the basket')
    assert third.returncode == 1
    assert 'reset the body first: structrl reset' in third.stdout
    wrong = structrl(graph, 'reset', '--task', 'nothing')
    assert wrong.returncode == 1
    assert 'known: kinematic/soup_in_basket' in wrong.stderr
    begun = structrl(graph, 'reset')
    assert begun.stdout.startswith('episode 2 on kinematic'), begun.stdout + begun.stderr
    fourth = structrl(graph, 'run', 'put the tomato sauce in the basket')
    assert fourth.returncode == 0, fourth.stdout + fourth.stderr
