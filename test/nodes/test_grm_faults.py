"""What a real network in grm_node does with pictures that are missing or others, and with NaN."""

import dataclasses
import math

import numpy as np
import pytest

pytest.importorskip('torch')

import torch
from PIL import Image

from structrl_ros.models.grm.checkpoint import save_grm
from structrl_ros.models.grm.config import GrmConfig
from structrl_ros.models.grm.network import GrmNetwork
from structrl_ros.nodes.grm_models import open_model
from structrl_ros.params.grm import GrmParameters
from structrl_ros.progress.frames import Frame
from structrl_ros.progress.online import NO_NUMBER
from structrl_ros.progress.online import EpisodeProgress
from structrl_ros.rewards.shaping import shaping_term

pytestmark = pytest.mark.torch

CONFIG = GrmConfig(view_px=32, cell_px=16, grid=2, width=32, heads=2, layers=1)
ROLES = ('head', 'left_wrist', 'right_wrist')


def picture(t, role):
    rng = np.random.default_rng([t, ROLES.index(role)])
    return rng.integers(0, 255, (32, 32, 3), np.uint8)


def frame(t, roles=ROLES, times=1):
    images = {r: picture(t, r).repeat(times, 0).repeat(times, 1) for r in roles}
    return Frame(100 * t, images, dict.fromkeys(roles, 100 * t))


def said(tmp_path, frames, *, bias=0.0, has_goal=True):
    """Return the progress of each frame after the first, of a network of random weights."""
    torch.manual_seed(0)
    network = GrmNetwork(CONFIG)
    with torch.no_grad():
        network.head[-1].bias += bias
    save_grm(tmp_path / 'grm', network, '# random weights')
    goal = tmp_path / 'goal.png'
    Image.fromarray(picture(9, 'head')).save(goal)
    asked = GrmParameters(
        model=str(tmp_path / 'grm'), roles=ROLES, goal=str(goal) if has_goal else ''
    )
    online = open_model(asked).online
    progress = EpisodeProgress(1, online, 'tidy up', shaping_term, wall=lambda: 0.0)
    progress.see_start(frames[0])
    found = [progress.step(seen) for seen in frames[1:]]
    return found, progress.problem


@pytest.fixture
def whole(tmp_path):
    """Return what is said of four frames with all that there can be."""
    return said(tmp_path, [frame(t) for t in range(4)])[0]


def test_nan_of_the_network_costs_every_step_and_nothing_else(tmp_path):
    steps, problem = said(tmp_path, [frame(t) for t in range(3)], bias=math.nan)
    assert [(s.valid, s.potential, s.hop_forward) for s in steps] == [(False, 0.0, 0.0)] * 2
    assert problem == NO_NUMBER


def test_a_dropped_frame_costs_its_step_alone(tmp_path, whole):
    steps, _ = said(tmp_path, [frame(0), frame(1), Frame(200), frame(3)])
    assert [step.valid for step in steps] == [True, False, True]
    assert steps[0] == whole[0]
    assert steps[1].potential == steps[0].potential


def test_of_three_views_a_missing_one_changes_the_answer_and_no_more(tmp_path, whole):
    two = [frame(t, ('head', 'right_wrist') if t == 2 else ROLES) for t in range(4)]
    steps, _ = said(tmp_path, two)
    assert all(step.valid for step in steps)
    assert steps[0] == whole[0]
    assert steps[1] != whole[1]


def test_pictures_of_twice_the_size_say_the_same(tmp_path, whole):
    steps, _ = said(tmp_path, [frame(t, times=1 + t % 2) for t in range(4)])
    assert steps == whole


def test_without_a_goal_two_hops_count_and_the_third_is_no_number(tmp_path, whole):
    steps, _ = said(tmp_path, [frame(t) for t in range(4)], has_goal=False)
    assert all(step.valid and math.isnan(step.hop_backward) for step in steps)
    assert all(math.isfinite(step.potential) for step in steps)
    assert not any(math.isnan(step.hop_backward) for step in whole)
    assert dataclasses.replace(steps[0], hop_backward=0.0) != whole[0]
