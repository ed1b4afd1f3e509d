"""`structrl demo` with an arm: the same brain and graph, a driver below, a mirror around it."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip('mujoco')
pytest.importorskip('rclpy')

from structrl_ros.cli import simulated_controller
from structrl_ros.cli.demo_stage import staged
from structrl_ros.errors import ArmError
from structrl_ros.errors import SimulationError

pytestmark = [pytest.mark.ros, pytest.mark.sim]

PYTHON = Path(__file__).parents[2] / simulated_controller.ENVIRONMENT / 'bin' / 'python'
PAID = {'grasp(apple_1)', 'in(apple_1, bowl_1_contain_region)', 'success'}
needs_controller = [
    pytest.mark.hardware_sim,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not PYTHON.exists(), reason='no simulated controller: make franka-sim'),
]


def demo(directory, *words):
    return subprocess.run(
        [
            sys.executable,
            '-m',
            'structrl_ros.cli.main',
            'demo',
            '--run-dir',
            str(directory),
            *words,
        ],
        capture_output=True,
        text=True,
        timeout=550,
        check=False,
    )


def check_run(done, directory):
    """Every step was done and paid, and the pictures were recorded."""
    assert done.returncode == 0, done.stdout + done.stderr
    record = json.loads((directory / 'run.json').read_text())
    assert record['outcome']['reason'] == 'all 2 steps verified'
    assert record['ledger']['equal'] is True
    assert {name for row in record['rewards'] for name, value in row['terms'] if value} == PAID
    assert '<img' in (directory / 'report.html').read_text()


def processes_of(directory):
    """Return the processes whose environment names a file of the run."""
    found = []
    for path in Path('/proc').glob('[0-9]*/environ'):
        try:
            if str(directory).encode() in path.read_bytes():
                found.append(path.parent.name)
        except OSError:
            continue
    return found


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_an_arm_does_what_a_simulator_does_under_the_deploy_graph(tmp_path):
    done = demo(tmp_path / 'run', '--body', 'franka-fake')
    check_run(done, tmp_path / 'run')


class TestController:
    pytestmark = needs_controller

    @pytest.mark.slow
    def test_the_simulated_controller_puts_the_apple_into_the_bowl(self, tmp_path):
        done = demo(tmp_path / 'run', '--body', 'franka-sim')
        check_run(done, tmp_path / 'run')
        log = (tmp_path / 'run' / 'log' / 'controller.log').read_text()
        assert 'reflex' not in log.lower()
        assert processes_of(tmp_path / 'run') == []

    def test_controller_ends_with_a_demo_that_is_killed(self, tmp_path):
        code = (
            'import sys, time; from pathlib import Path\n'
            'from structrl_ros.cli.simulated_controller import SimulatedController\n'
            'with SimulatedController(Path(sys.argv[1]), object_width=0.03) as controller:\n'
            '    print(controller.address, flush=True); time.sleep(600)\n'
        )
        words = [sys.executable, '-c', code, str(tmp_path)]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        address = process.stdout.readline().strip()
        assert is_open(address)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
        end = time.monotonic() + 60.0
        while processes_of(tmp_path) or is_open(address):
            assert time.monotonic() < end
            time.sleep(0.1)


def is_open(address):
    with socket.socket() as link:
        return link.connect_ex((address, simulated_controller.ARM_PORT)) == 0


def test_without_the_controller_one_line_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setattr(simulated_controller, 'ENVIRONMENT', '.venv-nobody-made')
    with (
        pytest.raises(ArmError, match=r'`make franka-sim` installs it into \.venv-nobody-made'),
        staged({'body': 'franka-sim'}, tmp_path),
    ):
        pass


def test_a_task_that_needs_more_than_hands_is_refused(tmp_path):
    with (
        pytest.raises(SimulationError, match=r'allowed: two_in_basket, apple_in_bowl'),
        staged({'body': 'franka-sim', 'task': 'pack_lunch'}, tmp_path),
    ):
        pass


def test_other_bodies_need_nothing_besides_their_graph(tmp_path):
    arguments = {'body': 'twin', 'seed': '3'}
    with staged(arguments, tmp_path) as stage:
        assert (stage.arguments, stage.instruction) == (arguments, '')
        stage.check()
    assert list(tmp_path.iterdir()) == []
