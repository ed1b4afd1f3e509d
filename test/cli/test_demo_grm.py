"""`structrl demo progress:=grm`: a run with a progress model, and its numbers from the bag."""

import dataclasses
import subprocess
import sys

import pytest

pytest.importorskip('structrl_msgs', reason='needs structrl_msgs: make install')
pytest.importorskip('torch')

import torch
from rich.console import Console

from structrl_ros.cli.replay import check_replay
from structrl_ros.models.grm.checkpoint import save_grm
from structrl_ros.models.grm.config import GrmConfig
from structrl_ros.models.grm.network import GrmNetwork
from structrl_ros.recording.run_events import read_events
from structrl_ros.types import ChunkDone
from structrl_ros.types import Progress
from structrl_ros.types import Verdict

pytestmark = [pytest.mark.ros, pytest.mark.torch, pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture(scope='module')
def words(tmp_path_factory):
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp('model') / 'grm'
    small = GrmConfig(view_px=32, cell_px=16, grid=2, width=32, heads=2, layers=1)
    save_grm(folder, GrmNetwork(small), '# random weights')
    return ['progress:=grm', f'progress_model:={folder}']


def structrl(*arguments):
    command = [sys.executable, '-m', 'structrl_ros.cli.main', *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=800, check=False)


def progress_of(events):
    return [repr(dataclasses.replace(p, latency=0.0)) for p in events.of(Progress)]


def test_check_and_brain_on_the_bag_give_the_progress_of_the_run(words, tmp_path):
    run = tmp_path / 'run'
    done = structrl('demo', '--run-dir', run, '--body', 'kinematic', '--lockstep', *words)
    assert done.returncode == 0, done.stdout + done.stderr
    events = read_events(run / 'bag')
    chunks, said = events.of(ChunkDone), events.of(Progress)
    assert [p.stamp_ns for p in said] == [c.stamp_ns for c in chunks]
    assert all(p.valid for p in said)
    assert said[-1].shaping == -said[-2].potential  # it ended in a terminal state
    console = Console(record=True, width=200)
    assert check_replay(run, console) == 0
    line = next(text for text in console.export_text().splitlines() if ' hops ' in text)
    assert str(len(chunks)) in line
    done = structrl('replay', run, '--brain', f'record:={tmp_path / "again"}', *words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert progress_of(read_events(tmp_path / 'again')) == progress_of(events)


@pytest.mark.sim
def test_the_shipped_model_judges_the_steps_of_the_tabletop(tmp_path):
    common = ['--body', 'tabletop', '--task', 'apple_in_bowl', '--lockstep', 'progress:=grm']
    done = structrl('demo', '--run-dir', tmp_path / 'goal', *common)
    assert done.returncode == 0, done.stdout + done.stderr
    goal = f'progress_goal:={tmp_path / "goal"}'
    run = tmp_path / 'run'
    structrl('demo', '--run-dir', run, '--initial-state', 3, *common, 'monitor:=grm', goal)
    events = read_events(run / 'bag')
    said = events.of(Progress)
    assert said
    assert all(p.valid and p.hop_backward == p.hop_backward for p in said)
    verdicts = events.of(Verdict)
    assert {v.monitor for v in verdicts} == {'grm'}
    assert any(v.done for v in verdicts)
    assert check_replay(run, Console()) == 0
