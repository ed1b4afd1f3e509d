"""What grm_node is given: models that are cut, missing or others, goals that cannot be read."""

import numpy as np
import pytest

pytest.importorskip('torch')

import torch
from PIL import Image

from structrl_ros.errors import CheckpointError
from structrl_ros.errors import ParameterError
from structrl_ros.models.grm.checkpoint import save_grm
from structrl_ros.models.grm.config import GrmConfig
from structrl_ros.models.grm.network import GrmNetwork
from structrl_ros.nodes.grm_models import open_again
from structrl_ros.nodes.grm_models import open_model
from structrl_ros.params.grm import GrmParameters

pytestmark = pytest.mark.torch

CONFIG = GrmConfig(view_px=32, cell_px=16, grid=2, width=32, heads=2, layers=1)


@pytest.fixture
def folder(tmp_path):
    torch.manual_seed(0)
    save_grm(tmp_path / 'grm', GrmNetwork(CONFIG), '# random weights')
    return tmp_path / 'grm'


@pytest.fixture
def goal(tmp_path):
    path = tmp_path / 'goal.png'
    Image.fromarray(np.full((20, 30, 3), 7, np.uint8)).save(path)
    return path


def opened(folder, **parameters):
    return open_model(GrmParameters(model=str(folder), **parameters))


def test_model_and_goal_are_opened_and_a_recording_opens_the_same(folder, goal):
    found = opened(folder, goal=str(goal), roles=('head', 'left_wrist'))
    assert found.online.view_px == 32
    assert found.online.layout == CONFIG.layout
    assert list(found.online.goal) == ['head']
    assert found.online.goal['head'].shape == (20, 30, 3)
    again = open_again(found.ran_with)
    assert (again.view_px, again.gamma) == (32, 0.99)
    assert opened(folder).online.goal is None


def test_a_model_that_is_cut_missing_or_another_is_one_line(folder):
    weights = folder / 'grm.safetensors'
    whole = weights.read_bytes()
    weights.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(CheckpointError, match='is cut or no safetensors file'):
        opened(folder)
    weights.write_bytes(whole)
    config = folder / 'config.json'
    text = config.read_text()
    config.write_text(text.replace('"width": 32', '"width": 64'))
    with pytest.raises(CheckpointError, match='weights of another architecture'):
        opened(folder)
    config.write_text('{"format_version": 1}')
    with pytest.raises(CheckpointError, match='no config of a GRM'):
        opened(folder)
    for name in (str(folder.parent / 'none'), '', 'grm_of_nobody'):
        with pytest.raises(CheckpointError, match='allowed: the folder of one'):
            opened(name)


def test_a_goal_that_is_missing_or_unreadable_is_one_line(folder, goal, tmp_path):
    with pytest.raises(ParameterError, match=r'goal: .*none\.png: no such file'):
        opened(folder, goal=str(tmp_path / 'none.png'))
    goal.write_bytes(goal.read_bytes()[:40])
    with pytest.raises(ParameterError, match=r'goal: .* is no picture'):
        opened(folder, goal=str(goal))


def test_another_model_or_goal_than_the_recorded_one_is_told(folder, goal):
    told = opened(folder, goal=str(goal)).ran_with
    Image.fromarray(np.zeros((20, 30, 3), np.uint8)).save(goal)
    with pytest.raises(ParameterError, match=r'goal .* is another than the one that was used'):
        open_again(told)
    torch.manual_seed(1)
    save_grm(folder, GrmNetwork(CONFIG), '')
    with pytest.raises(ParameterError, match='is another than the one that ran'):
        open_again(told)


def test_parameters_that_are_not_allowed_are_one_line():
    for values, line in (
        ({'roles': ()}, "parameter 'roles' is empty"),
        ({'gamma': 0.0}, r"parameter 'gamma' is 0; allowed: in \(0, 1\]"),
        ({'rate_hz': -1.0}, "parameter 'rate_hz' is -1.0; allowed: 0 to 100"),
    ):
        with pytest.raises(ParameterError, match=line):
            GrmParameters(**values)
