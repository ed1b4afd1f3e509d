"""Claims of the input in which each image stands once, and of what it is augmented with."""

import dataclasses

import numpy as np
import pytest

pytest.importorskip('torch')

import torch

from structrl_ros.errors import ParameterError
from structrl_ros.models.grm.config import GrmConfig
from structrl_ros.models.grm.distinct import make_distinct
from structrl_ros.models.grm.inputs import make_input
from structrl_ros.models.grm.network import GrmNetwork
from structrl_ros.progress.context import Rollout
from structrl_ros.progress.views import make_views

pytestmark = pytest.mark.torch

CONFIG = GrmConfig(view_px=32, cell_px=16, grid=2, width=32, heads=2, layers=1, channels=8)
POOLED = dataclasses.replace(CONFIG, pooled_panels=1)
STATIC = dataclasses.replace(POOLED, pre_panels=0, between_panels=0)


def queries(config, frames=5, goal=True):
    rng = np.random.default_rng(2)

    def views():
        roles = ('head', 'left_wrist')
        pictures = {role: rng.integers(0, 256, (32, 32, 3), np.uint8) for role in roles}
        return make_views(pictures, config.view_px)

    made = Rollout(config.layout, views() if goal else None)
    found = []
    for i in range(frames):
        made.observe(i, views())
        if i:
            found += [made.forward(), made.incremental()]
    return [*found, made.backward()] if goal else found


@pytest.mark.parametrize('config', [CONFIG, POOLED, STATIC], ids=['panel', 'pooled', 'static'])
@pytest.mark.parametrize('goal', [True, False], ids=['goal', 'no goal'])
def test_it_gives_the_same_answers_and_gradients(config, goal):
    torch.manual_seed(0)
    model = GrmNetwork(config)
    asked = queries(config, goal=goal)
    plain = model(make_input(config, asked, 'open the box'))
    shared = model.answer_distinct(make_distinct(config, asked, ['open the box'] * len(asked)))
    assert torch.allclose(plain, shared, atol=1e-4)
    gradients = []
    for answer in (plain, shared):
        model.zero_grad()
        answer.square().mean().backward()
        gradients.append([p.grad.clone() for p in model.parameters() if p.grad is not None])
    pairs = zip(*gradients, strict=True)
    assert all(torch.allclose(a, b, atol=1e-2, rtol=1e-3) for a, b in pairs)


def test_each_image_stands_once():
    asked = queries(CONFIG, frames=5)
    inputs = make_distinct(CONFIG, asked, ['open the box'] * len(asked))
    assert inputs.views.shape == (1 + 5 * 2 + 1, 32, 32, 3)  # 5 frames and a goal, 2 cameras
    assert len(inputs.cells) == 4  # the newest frame is an endpoint alone
    assert inputs.view_index.shape == (9, 4, 3)
    assert (inputs.view_index[:, :, 2] == -1).all()


def test_each_query_has_an_instruction_of_its_own():
    torch.manual_seed(0)
    model = GrmNetwork(CONFIG).eval()
    query = queries(CONFIG)[-1]
    with torch.inference_mode():
        both = model.answer_distinct(make_distinct(CONFIG, [query] * 2, ['open it', 'close it']))
        assert both[0] != both[1]
        alone = model(make_input(CONFIG, [query], 'close it'))
    assert torch.allclose(both[1], alone[0], atol=1e-4)
    with pytest.raises(ParameterError, match='1 queries, 0 instructions; allowed'):
        make_distinct(CONFIG, [query], [])


def test_windows_that_the_head_reads_are_full_or_empty():
    torch.manual_seed(0)
    model = GrmNetwork(POOLED).eval()
    asked = [query for query in queries(POOLED) if query.between.filled.any()]
    given = make_distinct(POOLED, asked, ['open the box'] * len(asked))
    shown = model.answer_distinct(given)
    without = dataclasses.replace(given, cell_index=torch.full_like(given.cell_index, -1))
    assert (model.answer_distinct(without) - shown).abs().min() > 1e-3
    other = dataclasses.replace(without, cells=255 - given.cells)
    assert torch.equal(model.answer_distinct(other), model.answer_distinct(without))


def test_channels_are_of_groups():
    with pytest.raises(ParameterError, match='channels 12; allowed: a multiple of 8'):
        GrmConfig(channels=12)
