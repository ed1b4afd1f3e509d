"""A run that is killed goes on from its checkpoint to the same numbers, to the last bit."""

import multiprocessing
import random
import shutil
import signal
import time
from pathlib import Path

import pytest

pytest.importorskip('torch')

import killable_training
import torch
from safetensors.torch import load_file

from structrl_ros.training.metrics_log import SECONDS
from structrl_ros.training.metrics_log import read_metrics
from structrl_ros.training.run_directory import open_run

pytestmark = pytest.mark.torch

PRELOADED = ['structrl_ros.training.run_trainer', 'torch.utils.tensorboard']
#: Kills of a run; the moments are drawn.
KILLS = 3


@pytest.fixture(scope='module')
def spawn():
    """Give processes that have torch already; each is a fresh fork of a clean server."""
    context = multiprocessing.get_context('forkserver')
    context.set_forkserver_preload(PRELOADED)
    return context.Process


@pytest.fixture(scope='module')
def start(tmp_path_factory) -> str:
    """Return a policy that has seen a few demonstrations."""
    directory = tmp_path_factory.mktemp('sft') / 'run'
    killable_training.train(str(directory), 'sft')
    return str(directory)


def lines(directory: Path) -> int:
    path = directory / 'metrics.jsonl'
    return path.read_text().count('\n') if path.is_file() else 0


def numbers(directory: Path) -> list[dict]:
    told = read_metrics(directory / 'metrics.jsonl')
    return [{k: v for k, v in row.items() if not k.startswith(SECONDS)} for row in told]


def run_to_the_end(spawn, directory: Path, trainer: str, start: str) -> None:
    process = spawn(target=killable_training.train, args=(str(directory), trainer, start))
    process.start()
    process.join(120)
    assert process.exitcode == 0


def kill_once(spawn, directory: Path, trainer: str, start: str, moment: random.Random) -> int:
    """Start the run, kill it at a drawn moment, and return how many lines it had written."""
    process = spawn(target=killable_training.train, args=(str(directory), trainer, start))
    before = lines(directory)
    process.start()
    wanted = before + moment.choice((0, 1, 1, 2))
    while process.is_alive() and lines(directory) < wanted:
        time.sleep(0.002)
    time.sleep(moment.uniform(0.0, 0.15))
    process.kill()
    process.join(60)
    assert process.exitcode in (-signal.SIGKILL, 0)
    return lines(directory)


def assert_same(first: Path, second: Path) -> None:
    assert numbers(first) == numbers(second)
    for name in ('policy/policy.safetensors', 'trainer.safetensors'):
        one, two = (load_file(path / 'checkpoint' / name) for path in (first, second))
        assert one.keys() == two.keys()
        assert [key for key in one if not torch.equal(one[key], two[key])] == []
    states = [open_run(path).load_state().numbers for path in (first, second)]
    assert states[0] == states[1]


@pytest.mark.parametrize('trainer', ['sft', 'ppo', pytest.param('grpo', marks=pytest.mark.slow)])
def test_a_run_that_is_killed_again_and_again_ends_with_the_same_numbers(
    trainer, spawn, start, tmp_path
):
    given = '' if trainer == 'sft' else start
    run_to_the_end(spawn, tmp_path / 'whole', trainer, given)
    if trainer != 'sft':  # or the equality below would say little of the policy
        moved = [row for row in numbers(tmp_path / 'whole') if row.get('actor/skipped') == 0.0]
        assert len(moved) >= 4
    moment = random.Random(7)
    seen = [kill_once(spawn, tmp_path / 'killed', trainer, given, moment) for _ in range(KILLS)]
    total = lines(tmp_path / 'whole')
    assert any(0 < count < total for count in seen), seen
    run_to_the_end(spawn, tmp_path / 'killed', trainer, given)
    assert_same(tmp_path / 'whole', tmp_path / 'killed')


def test_a_run_that_is_done_stays_as_it_is(spawn, start, tmp_path):
    shutil.copytree(start, tmp_path / 'run')
    run_to_the_end(spawn, tmp_path / 'run', 'sft', '')
    assert_same(Path(start), tmp_path / 'run')


def test_another_seed_gives_other_numbers(start, tmp_path):
    # Or the equality above would say nothing.
    killable_training.SMALL['sft']['seed'] = '1'
    try:
        killable_training.train(str(tmp_path / 'run'), 'sft')
    finally:
        del killable_training.SMALL['sft']['seed']
    assert numbers(tmp_path / 'run') != numbers(Path(start))
