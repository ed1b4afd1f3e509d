"""`structrl bench grm-rl`: the factorial of shaped practice."""

import dataclasses

import pytest

pytest.importorskip('torch')

import torch
from typer.testing import CliRunner

from structrl_ros.cli.main import app
from structrl_ros.errors import ParameterError
from structrl_ros.models.grm.checkpoint import save_grm
from structrl_ros.models.grm.config import GrmConfig
from structrl_ros.models.grm.network import GrmNetwork
from structrl_ros.training.experiments.grm_shaping import FACTORIAL
from structrl_ros.training.experiments.grm_shaping import GRM_SHAPING
from structrl_ros.training.experiments.grm_shaping import SPARSE
from structrl_ros.training.experiments.plan import Cell

pytestmark = pytest.mark.torch


@pytest.fixture(scope='module')
def grms(tmp_path_factory):
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp('grms')
    config = GrmConfig(view_px=32, cell_px=16, grid=2, width=16, layers=1, heads=2)
    for name in FACTORIAL:
        save_grm(folder / name.lower(), GrmNetwork(config).eval(), 'random')
    return folder


def test_arms_differ_in_what_shapes_them_alone(grms):
    (experiment,) = GRM_SHAPING.experiments(grms)
    arms = {arm.name: arm for arm in experiment.arms}
    assert set(arms) == {'start', SPARSE, *FACTORIAL}
    plain = [
        dataclasses.replace(arms[name], name='', shaping='').document()
        for name in (SPARSE, *FACTORIAL)
    ]
    assert all(document == plain[0] for document in plain)
    assert len({arms[name].shaping for name in (SPARSE, *FACTORIAL)}) == 5
    assert len({Cell(arm, 1).key for arm in experiment.arms}) == 6


def test_an_arm_without_shaping_is_the_run_that_it_was_before_there_was_any(grms):
    arm = GRM_SHAPING.experiments(grms)[0].arms[1]
    assert 'shaping' not in arm.document()
    assert 'shaping' in dataclasses.replace(arm, shaping='x').document()


def test_a_missing_grm_is_named(grms, tmp_path):
    (tmp_path / 'c00').mkdir()
    with pytest.raises(ParameterError, match='no GRM in c01'):
        GRM_SHAPING.experiments(tmp_path)


@pytest.mark.slow
def test_a_quick_run_plays_every_arm_and_writes_a_report(grms, tmp_path):
    words = ['bench', 'grm-rl', str(grms), '--quick', '--out', str(tmp_path)]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert all(name in done.output for name in (SPARSE, *FACTORIAL))
    assert (tmp_path / 'report.html').is_file()
