"""`structrl train ppo --shaping`: a GRM's potential in practice, from the command line."""

import functools
import json

import numpy as np
import pytest

pytest.importorskip('torch')

import torch
from killable_training import SMALL
from typer.testing import CliRunner

from structrl_ros.cli.main import app
from structrl_ros.errors import CheckpointError
from structrl_ros.models.grm.checkpoint import save_grm
from structrl_ros.models.grm.config import GrmConfig
from structrl_ros.models.grm.network import GrmNetwork
from structrl_ros.sim.registry import make_body
from structrl_ros.training.metrics_log import SECONDS
from structrl_ros.training.metrics_log import read_metrics
from structrl_ros.training.shaping_run import demonstrated_goal

pytestmark = pytest.mark.torch

SIZE = 16
QUICK = {'evaluation_episodes': '2', 'environments': '4', 'body.image_size': str(SIZE)}


def train(trainer, *arguments, **changes):
    values = {**SMALL[trainer], **QUICK, **changes}
    given = [f'{key}:={value}' for key, value in values.items()]
    done = CliRunner().invoke(app, ['train', trainer, *map(str, arguments), *given])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output


@pytest.fixture(scope='module')
def grm(tmp_path_factory):
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp('grm') / 'grm'
    config = GrmConfig(view_px=SIZE, cell_px=16, grid=2, width=16, layers=1, heads=2)
    save_grm(folder, GrmNetwork(config).eval(), 'random')
    return folder


@pytest.fixture(scope='module')
def start(tmp_path_factory):
    directory = tmp_path_factory.mktemp('start') / 'sft'
    train('sft', '--body', 'twin', '--run-dir', directory)
    return directory


def practise(directory, start, *more, **changes):
    base = ['--body', 'twin', '--start', start, '--run-dir', directory]
    train('ppo', *base, *more, iterations=2, evaluate_every=0, **changes)
    rows = read_metrics(directory / 'metrics.jsonl')
    return [{k: v for k, v in row.items() if not k.startswith(SECONDS)} for row in rows]


def test_practice_is_paid_a_shaping_term_and_says_so(tmp_path, start, grm):
    rows = practise(tmp_path / 'a', start, '--shaping', grm)
    shaping = [row[key] for row in rows for key in row if 'shaping' in key]
    assert shaping
    assert np.isfinite(shaping).all()
    assert any(shaping)
    config = json.loads((tmp_path / 'a' / 'config.json').read_text())
    assert config['shaping'] == str(grm)
    assert practise(tmp_path / 'b', start, '--shaping', grm) == rows
    plain = practise(tmp_path / 'c', start)
    assert not any('shaping' in key for row in plain for key in row)


def test_an_unknown_grm_is_one_line(tmp_path, start):
    with pytest.raises(CheckpointError, match='no progress model'):
        practise(tmp_path / 'a', start, '--shaping', tmp_path / 'none')


def test_the_goal_is_what_a_demonstration_ends_with():
    body = make_body('twin', image_size=SIZE)
    views = functools.partial(demonstrated_goal, body, 'pack_lunch', 0)
    goal = views(SIZE)
    assert goal.available.sum() == len(body.spec.roles)
    body.reset('pack_lunch', 0, 0)
    assert not np.array_equal(goal.images[0], body.render(body.spec.roles[0]))
    body.close()
