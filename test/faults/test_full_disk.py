"""A disk that takes no more, under what writes into it: no byte fits from some moment on."""

import contextlib
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

STRUCTRL = [sys.executable, '-c', 'from structrl_ros.cli.main import main; main()']
PYTHON = [sys.executable, '-c']


def run(words, most_bytes, **environment):
    """Run a command none of whose files may grow beyond a size."""

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, resource.RLIM_INFINITY))

    return subprocess.run(
        words,
        env={**os.environ, 'PYTHONDONTWRITEBYTECODE': '1', **environment},
        preexec_fn=limit,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def processes_of(place):
    """Return the processes that have a place in their command line."""
    found = []
    for path in Path('/proc').glob('[0-9]*/cmdline'):
        with contextlib.suppress(OSError):
            if os.fsencode(place) in path.read_bytes():
                found.append(path)
    return found


@pytest.mark.parametrize(
    ('most_bytes', 'words'),
    [(0, 'No usable temporary directory'), (64, 'File too large')],
    ids=['from the start', 'between two nodes'],
)
def test_a_graph_on_a_full_disk_is_one_line_and_nothing_stays_up(tmp_path, most_bytes, words):
    pytest.importorskip('rclpy', reason='needs the ROS 2 wheels: make install')
    command = [*STRUCTRL, 'up', 'deploy', 'body:=kinematic', '--run-dir', str(tmp_path / 'run')]
    done = run(command, most_bytes, TMPDIR=str(tmp_path))
    assert done.returncode == 1, done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith('structrl: ')
    assert words in line
    assert processes_of(tmp_path) == []


EVALUATION = """
import resource, sys
from pathlib import Path
from structrl_ros.errors import ParameterError
from structrl_ros.training.evaluation_folder import open_evaluation
from structrl_ros.training.evaluation_run import OnePlayer, run_evaluation
from structrl_ros.training.protocol_document import protocol_of_document
protocol = protocol_of_document({
    'format': 1, 'name': 'p', 'body': 'kinematic', 'tasks': ['kinematic/two_in_basket'],
    'episodes': 3, 'policies': {'expert': {'policy': 'expert'}},
})
def full(record):
    size = (Path(sys.argv[1]) / 'episodes.jsonl').stat().st_size
    limit = size + 100 if sys.argv[2] == 'full' else resource.RLIM_INFINITY
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
folder = open_evaluation(Path(sys.argv[1]), protocol)
try:
    run_evaluation(folder, OnePlayer, on_record=full)
    print('complete')
except ParameterError as error:
    print(error)
"""


@pytest.mark.slow
def test_an_evaluation_whose_disk_fills_up_says_so_and_goes_on_to_the_same_file(tmp_path):
    def evaluate(name, how):
        done = run([*PYTHON, EVALUATION, str(tmp_path / name), how], resource.RLIM_INFINITY)
        assert done.stderr == ''
        return done.stdout.strip()

    assert evaluate('whole', 'free') == 'complete'
    line = evaluate('full', 'full')
    assert str(tmp_path / 'full') in line
    assert line.endswith(('the disk is full', 'File too large'))
    assert evaluate('full', 'free') == 'complete'
    whole, full = ((tmp_path / name / 'episodes.jsonl') for name in ('whole', 'full'))
    assert full.read_bytes() == whole.read_bytes()


LEAP = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from leap_episodes import three_scenes
from structrl_ros.errors import CheckpointError
from structrl_ros.training.leap_rows import RowSettings, make_rows
from structrl_ros.training.leap_set import write_split
from structrl_ros.training.leap_store import save_episode
folder = Path(sys.argv[1])
scenes = three_scenes()
for write in (
    lambda: save_episode(folder, scenes[0]),
    lambda: write_split(folder, 'test', list(make_rows(scenes, 'test', RowSettings(plans=20)))),
):
    try:
        write()
        print('written')
    except CheckpointError as error:
        print(error)
"""


def test_a_set_for_planners_on_a_full_disk_keeps_what_was_there(tmp_path):
    fakes = str(Path(__file__).parents[1] / 'fakes')
    done = run([*PYTHON, LEAP, str(tmp_path), fakes], 100)
    first, second = done.stdout.splitlines()
    for line in (first, second):
        assert 'cannot save' in line, done.stderr
        assert 'what was there stays' in line
    assert not [path for path in tmp_path.rglob('*') if path.is_file()]
