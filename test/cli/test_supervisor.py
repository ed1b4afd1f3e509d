"""The supervisor on small Python modules: no ROS."""

import os
import signal
import time

import pytest

from structrl_ros.cli.supervisor import Supervisor
from structrl_ros.cli.supervisor import command_line
from structrl_ros.cli.up import new_run_directory
from structrl_ros.cli.up import parse_assignments
from structrl_ros.errors import ParameterError
from structrl_ros.params.graph import RESPAWN_LIMIT
from structrl_ros.params.graph import NodeSpec

SLEEPER = 'import time\nprint("up", flush=True)\ntime.sleep(60)\n'
STUBBORN = (
    'import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n'
    'signal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint("up", flush=True)\ntime.sleep(60)\n'
)
BROKEN = 'print("no camera")\nraise SystemExit(3)\n'


@pytest.fixture
def supervise(tmp_path):
    started = []

    def make(source, **changes):
        (tmp_path / 'node_under_test.py').write_text(source)
        spec = NodeSpec(
            **{
                'name': 'node_under_test',
                'executable': 'node_under_test',
                'module': 'node_under_test',
                'namespace': '',
                'parameters': {},
                'remappings': {},
                'respawn': False,
                'respawn_delay_s': 0.0,
                **changes,
            }
        )
        events = []
        supervisor = Supervisor(
            [spec],
            log_directory=tmp_path / 'log',
            environment={**os.environ, 'PYTHONPATH': str(tmp_path)},
            on_event=events.append,
        )
        supervisor.start()
        started.append(supervisor)
        return supervisor, events

    yield make
    for supervisor in started:
        supervisor.stop(patience_s=0.1)


def wait_until(happened, seconds=15.0):
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, 'it did not happen'
        time.sleep(0.02)


def test_node_that_ends_on_sigint_is_not_killed(supervise):
    supervisor, _ = supervise(SLEEPER)
    wait_until(lambda: 'up' in supervisor.tail('node_under_test'))
    assert supervisor.stop(patience_s=5.0) == []


def test_node_listens_to_sigint_where_a_shell_has_it_ignored(supervise):
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        supervisor, _ = supervise(SLEEPER)
        wait_until(lambda: 'up' in supervisor.tail('node_under_test'))
        assert supervisor.stop(patience_s=5.0) == []
    finally:
        signal.signal(signal.SIGINT, before)


def test_node_that_ignores_signals_is_killed_after_the_patience(supervise):
    supervisor, _ = supervise(STUBBORN)
    wait_until(lambda: 'up' in supervisor.tail('node_under_test'))
    began = time.monotonic()
    assert supervisor.stop(patience_s=0.3) == ['node_under_test']
    assert time.monotonic() - began < 3.0


def test_dead_node_without_respawn_is_given_up_with_its_status(supervise):
    supervisor, events = supervise(BROKEN)
    wait_until(lambda: supervisor.poll() == ['node_under_test'])
    assert events == ['node_under_test ended: exit status 3']
    assert 'no camera' in supervisor.tail('node_under_test')


def test_node_that_dies_again_and_again_is_restarted_up_to_the_limit(supervise):
    supervisor, events = supervise(BROKEN, respawn=True)
    wait_until(lambda: supervisor.poll() == ['node_under_test'], 60.0)
    assert supervisor.restarts() == {'node_under_test': RESPAWN_LIMIT}
    assert events[1] == f'node_under_test restarted (1 of {RESPAWN_LIMIT})'


def test_parameters_go_through_a_file_and_never_over_the_command_line(tmp_path):
    spec = NodeSpec('n', 'n', 'm', 'left', {'rate': 2.5}, {'a': 'b'}, False, 0.0)
    words = command_line(spec, tmp_path)
    assert words[1:] == [
        *('-m', 'm', '--ros-args', '-r', '__node:=n', '-r', '__ns:=/left', '-r', 'a:=b'),
        *('--params-file', str(tmp_path / 'n.yaml')),
    ]
    assert (tmp_path / 'n.yaml').read_text() == '/**:\n  ros__parameters:\n    rate: 2.5\n'


@pytest.mark.parametrize('words', [['task'], [':=3'], ['a:=1', 'a:=2']])
def test_malformed_assignment_is_refused(words):
    with pytest.raises(ParameterError, match=r'key:=value|twice'):
        parse_assignments(words)


def test_assignment_keeps_what_follows_the_first_separator():
    assert parse_assignments(['task:=long/0', 'x:=']) == {'task': 'long/0', 'x': ''}


def test_run_directory_with_something_in_it_is_refused(tmp_path):
    (tmp_path / 'run.json').write_text('{}')
    with pytest.raises(ParameterError, match='not empty'):
        new_run_directory(tmp_path)
