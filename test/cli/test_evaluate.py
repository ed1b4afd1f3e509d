"""`structrl evaluate` as a user calls it: plan, play through kills, report, compare."""

import json
import random
import signal
import subprocess
import sys
import time

import pytest
from rich.console import Console
from typer.testing import CliRunner

from structrl_ros.cli import evaluate as evaluate_room
from structrl_ros.cli.evaluate import evaluate
from structrl_ros.errors import ParameterError

PROTOCOL = """
format: 1
name: two things
body: kinematic
tasks: [kinematic/two_in_basket]
episodes: {episodes}
policies:
  one: {{policy: expert}}
  two: {{policy: expert}}
"""
STRUCTRL = [sys.executable, '-m', 'structrl_ros.cli.main', 'evaluate']
RUNNER = CliRunner()


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    monkeypatch.setattr(evaluate_room, '_console', lambda: Console(width=160, soft_wrap=True))


def write(folder, episodes=4):
    path = folder / 'protocol.yaml'
    path.write_text(PROTOCOL.format(episodes=episodes))
    return path


def call(*words):
    done = RUNNER.invoke(evaluate, [str(word) for word in words])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.output


@pytest.fixture(scope='module')
def played(tmp_path_factory):
    folder = tmp_path_factory.mktemp('played')
    path = write(folder)
    for name in ('one', 'two'):
        call('policy', path, '--policy', name, '--out', folder / name, '--workers', 1)
    return folder


def test_plan_shows_schedule_n_and_what_it_can_show(tmp_path):
    text = call('plan', write(tmp_path, 40))
    assert '80 episodes, 40 of each policy, on kinematic' in text
    assert 'show a difference of 0.29' in text
    assert 'kinematic/two_in_basket' in text


def test_report_shows_rates_and_subtasks(played):
    text = call('report', played / 'one')
    assert '1.00 [0.51, 1.00]' in text
    assert 'place(tomato sauce, basket)' in text


def test_comparison_is_printed_and_written(played, tmp_path):
    text = call('compare', played / 'one', played / 'two', '--json', tmp_path / 'c.json')
    assert 'no difference is shown' in text
    numbers = json.loads((tmp_path / 'c.json').read_text())
    assert (numbers['total']['n'], numbers['total']['p_value']) == (4, 1.0)


def test_required_n_is_the_calculators(tmp_path):
    assert '93 episodes of each policy' in call('required-n', '0.5', '0.7')


@pytest.mark.parametrize(
    ('words', 'line'),
    [
        (['policy', 'p.yaml'], '--out: '),
        (['policy', 'runs/x', '--out', 'y'], 'go with a protocol'),
        (['policy', 'p.yaml', 'a:=1', '--out', 'y'], 'a protocol says everything itself'),
        (['policy', 'p.yaml', '--out', 'y'], 'no such file'),
        (['report', 'nowhere'], 'is no evaluation'),
        (['compare', 'nowhere'], 'no results at nowhere'),
        (['required-n', '0.5', '0.5'], 'equal rates cannot be told apart'),
    ],
)
def test_mistakes_are_one_line(tmp_path, monkeypatch, words, line):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ParameterError, match=line):
        call(*words)


def test_a_protocol_for_a_person_is_not_played_here(tmp_path):
    path = tmp_path / 'p.yaml'
    path.write_text(PROTOCOL.format(episodes=1) + 'success: person\n')
    with pytest.raises(ParameterError, match='a person is needed'):
        call('policy', path, '--out', tmp_path / 'o')


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize('workers', [1, 2])
def test_kills_at_random_points_lose_and_repeat_nothing(tmp_path, workers):
    path = write(tmp_path, 40)
    dice = random.Random(workers)
    place = tmp_path / 'killed' / 'episodes.jsonl'

    def count():
        return place.read_bytes().count(b'\n') if place.exists() else 0

    words = [*STRUCTRL, 'policy', str(path), '--out', str(tmp_path / 'killed')]
    kills = 0
    for _ in range(3):
        wanted = count() + dice.randint(1, 25)
        run = subprocess.Popen([*words, '--workers', str(workers)], stdout=subprocess.DEVNULL)
        end = time.monotonic() + 120
        while run.poll() is None and count() < wanted:
            assert time.monotonic() < end
            time.sleep(dice.random() * 0.01)
        kills += run.poll() is None
        run.send_signal(signal.SIGKILL)
        run.wait(60)
    assert kills >= 1
    wait_until(lambda: subprocess.run([*words, '--workers', '1'], check=False).returncode == 0)
    call('policy', path, '--out', tmp_path / 'whole', '--workers', 1)
    names = ('killed', 'whole')
    killed, whole = ((tmp_path / name / 'results.json').read_bytes() for name in names)
    assert killed == whole
    killed, whole = (
        sorted((tmp_path / name / 'episodes.jsonl').read_text().splitlines()) for name in names
    )
    assert killed == whole
    assert len(whole) == 80


def wait_until(true, limit=60.0):
    """Wait for the workers of a killed run to let go of the folder."""
    end = time.monotonic() + limit
    while not true():
        assert time.monotonic() < end
        time.sleep(0.5)
