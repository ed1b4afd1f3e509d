"""Places that cannot be written, and a terminal that knows ASCII alone."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

STRUCTRL = [sys.executable, '-c', 'from structrl_ros.cli.main import main; main()']
#: Where nobody, not even root, makes a folder.
NOWHERE = '/proc/nowhere'


def run(words, **environment):
    """Run a command; return status and everything that it said."""
    surroundings = {k: v for k, v in os.environ.items() if k not in ('ROS_LOG_DIR', 'ROS_HOME')}
    done = subprocess.run(
        words,
        env={**surroundings, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=120,
        check=False,
    )
    return done.returncode, done.stdout.decode('utf-8', 'replace')


@pytest.mark.ros
def test_a_home_that_cannot_be_written_moves_the_logs_of_ros_and_says_where(tmp_path):
    pytest.importorskip('rclpy', reason='needs the ROS 2 wheels: make install')
    code = (
        'import rclpy\n'
        'from structrl_ros.nodes.log_directory import ensure_log_directory\n'
        'ensure_log_directory(); rclpy.init(); rclpy.create_node("a"); print("up")\n'
    )
    status, text = run([sys.executable, '-c', code], HOME=NOWHERE, TMPDIR=str(tmp_path))
    assert status == 0, text
    line, last = text.splitlines()
    assert last == 'up'
    assert line.startswith(f'~/.ros/log cannot be written: the logs of ROS are in {tmp_path}')
    (place,) = tmp_path.iterdir()
    assert place.is_dir()


def test_a_run_directory_that_cannot_be_made_is_one_line_and_starts_nothing():
    words = ['demo', '--body', 'kinematic', '--run-dir', f'{NOWHERE}/run']
    pytest.importorskip('rclpy', reason='needs the ROS 2 wheels: make install')
    status, text = run([*STRUCTRL, *words])
    assert status == 1
    assert text == f'structrl: run directory {NOWHERE}/run: No such file or directory\n'


def test_a_terminal_without_utf_8_loses_characters_and_no_command(tmp_path):
    surroundings = {
        'PYTHONIOENCODING': 'ascii',
        'PYTHONUTF8': '0',
        'PYTHONCOERCECLOCALE': '0',
        'LC_ALL': 'C',
    }
    sentence = 'put the alphabet soup in the basket'
    status, text = run([*STRUCTRL, 'plan', sentence], **surroundings)
    assert status == 0, text
    assert 'grasp alphabet soup' in text
    bad = tmp_path / 'crêpe.json'
    bad.write_text('{"kind": "crêpe"}', encoding='utf-8')
    status, text = run([*STRUCTRL, 'score', 'structured_reward', str(bad)], **surroundings)
    assert status == 1
    assert 'Traceback' not in text, text


def test_files_are_read_as_utf_8_whatever_the_locale_is():
    """A `read_text` or `open` without an encoding would follow the locale."""
    root = Path(__file__).parents[2]
    code = (
        'import sys, warnings; warnings.simplefilter("error", EncodingWarning)\n'
        'from structrl_ros.params.graph import load_graph\n'
        'from structrl_ros.plan.rules import RulePlanner\n'
        'load_graph("deploy", {"body": "kinematic"})\n'
        'print("read")\n'
    )
    status, text = run(
        [sys.executable, '-X', 'warn_default_encoding', '-c', code],
        PYTHONPATH=str(root),
        LC_ALL='C',
        PYTHONUTF8='0',
    )
    assert (status, text.splitlines()[-1:]) == (0, ['read']), text
