"""Claims of the GRM that ships, on an episode that nobody trained on."""

import numpy as np
import pytest

pytest.importorskip('torch')
pytest.importorskip('mujoco')

import torch

from structrl_ros.models.grm.shipped import grm_folder
from structrl_ros.models.grm.shipped import shipped_grm_names
from structrl_ros.models.grm.small import load_small_grm
from structrl_ros.progress.context import Rollout
from structrl_ros.progress.rank_correlation import spearman
from structrl_ros.progress.views import make_views
from structrl_ros.sim.counterfactual.stage import CounterfactualStage
from structrl_ros.sim.registry import make_body
from structrl_ros.training.source_trajectory import record_states
from structrl_ros.world_types import EpisodeStart

pytestmark = [pytest.mark.torch, pytest.mark.sim]

NAME = 'grm_tabletop'
#: An initial state beyond those of its sets.
START = EpisodeStart('apple_in_bowl', 0, 40)


def observed():
    """Return the instruction and the pictures of an expert's episode, 40 frames."""
    body = make_body('tabletop')
    try:
        info, states = record_states(body, START, 40)
        stage = CounterfactualStage(body, 64)
        try:
            takes = [stage.look(state) for state in states]
            roles = tuple(stage.handles.cameras)
            frames = [{role: stage.render(take, role) for role in roles} for take in takes]
        finally:
            stage.close()
    finally:
        body.close()
    return info.instruction, frames


@pytest.mark.parametrize('name', shipped_grm_names())
def test_shipped_weights_are_small_and_their_card_tells_data_seed_and_numbers(name):
    folder = grm_folder(name)
    assert sum(file.stat().st_size for file in folder.iterdir()) < 20_000_000
    assert [file.name for file in folder.iterdir() if file.suffix not in ('.md', '.json')] == [
        'grm.safetensors'
    ]
    card = (folder / 'README.md').read_text()
    for word in ('trained_by: structrl train grm', 'seed: ', 'test_mse: ', '| failure |'):
        assert word in card


@pytest.mark.slow
def test_it_orders_an_episode_that_nobody_trained_on():
    instruction, frames = observed()
    model = load_small_grm(grm_folder(NAME), instruction)
    seen = [make_views(pictures, model.view_px) for pictures in frames]
    rollout = Rollout(model.layout, seen[-1])
    queries = []
    for i, views in enumerate(seen):
        rollout.observe(i, views)
        if i:
            queries += [rollout.forward(), rollout.backward()]
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        hops = model.hops(queries)
    finally:
        torch.set_num_threads(threads)
    forward, backward = hops[::2], hops[1::2]
    truth = np.arange(1, len(seen))
    assert spearman(forward, truth) > 0.8
    assert spearman(backward, truth) > 0.8
    assert forward[-1] > 0.6
    assert backward[0] < -0.6
