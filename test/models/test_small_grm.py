"""Claims of the small GRM: layouts, masks, batches, checkpoints, mistakes."""

import dataclasses

import numpy as np
import pytest

pytest.importorskip('torch')

import torch

from structrl_ros.errors import CheckpointError
from structrl_ros.errors import ParameterError
from structrl_ros.models.grm.checkpoint import load_grm
from structrl_ros.models.grm.checkpoint import save_grm
from structrl_ros.models.grm.config import GrmConfig
from structrl_ros.models.grm.inputs import hash_words
from structrl_ros.models.grm.inputs import make_input
from structrl_ros.models.grm.network import GrmNetwork
from structrl_ros.models.grm.small import SmallGrm
from structrl_ros.models.grm.small import load_small_grm
from structrl_ros.ports import ProgressModel
from structrl_ros.progress.context import Rollout
from structrl_ros.progress.views import make_views

pytestmark = pytest.mark.torch

CONFIG = GrmConfig(view_px=32, cell_px=16, grid=2, width=32, heads=2, layers=1)
ROLES = ('head', 'left_wrist')


def network(config=CONFIG, seed=0):
    torch.manual_seed(seed)
    return GrmNetwork(config).eval()


def rollout(count=6, config=CONFIG, goal=True, seed=0, roles=ROLES):
    rng = np.random.default_rng(seed)

    def views():
        pictures = {role: rng.integers(0, 256, (40, 40, 3), np.uint8) for role in roles}
        return make_views(pictures, config.view_px)

    made = Rollout(config.layout, views() if goal else None)
    for i in range(count):
        made.observe(i, views())
    return made


def ask(model, queries, instruction='open the box'):
    return SmallGrm(model, instruction).hops(queries)


def test_it_is_a_progress_model_that_answers_in_range():
    made = rollout()
    model = SmallGrm(network(), 'open the box')
    assert isinstance(model, ProgressModel)
    hops = model.hops([made.forward(), made.backward(), made.incremental()])
    assert hops.shape == (3,)
    assert hops.dtype == np.float64
    assert (np.abs(hops) <= 1.0).all()
    assert len(set(hops.tolist())) == 3


def test_default_size_is_small():
    count = sum(p.numel() for p in network(GrmConfig()).parameters())
    assert 1e6 < count < 5e6


def test_answer_does_not_depend_on_the_batch():
    made = rollout()
    queries = [made.forward(), made.backward(), made.incremental()]
    together = ask(network(), queries)
    alone = np.concatenate([ask(network(), [query]) for query in queries])
    assert np.allclose(together, alone, atol=1e-5)


def test_history_matters_with_panels_and_cannot_without():
    static = GrmConfig(**{**CONFIG.to_json(), 'pre_panels': 0, 'between_panels': 0})
    for config, is_same in ((CONFIG, False), (static, True)):
        model = network(config)
        short, long = rollout(4, config, seed=3), rollout(4, config, seed=3)
        other = np.random.default_rng(9).integers(0, 256, (40, 40, 3), np.uint8)
        extra = make_views({'head': other}, config.view_px)
        start, last = short._views[0], short._views[-1]
        long = Rollout(config.layout, short.goal)
        for i, views in enumerate([start, extra, last]):
            long.observe(i, views)
        plain = Rollout(config.layout, short.goal)
        for i, views in enumerate([start, last]):
            plain.observe(i, views)
        with_history, without = ask(model, [long.forward()]), ask(model, [plain.forward()])
        assert np.allclose(with_history, without, atol=1e-7) == is_same


def test_what_is_not_there_cannot_be_seen():
    config, model = CONFIG, network()
    inputs = make_input(config, [rollout(3, goal=False).forward()], 'open the box')
    assert not inputs.view_mask[0, 1].any()
    assert inputs.view_mask[0, 0].tolist() == [True, False, False]
    assert inputs.view_mask[0, 3].tolist() == [True, True, False]
    spoiled = dataclasses.replace(
        inputs,
        views=torch.where(inputs.view_mask[..., None, None, None], inputs.views, 7),
        cells=torch.where(inputs.cell_mask[..., None, None, None], inputs.cells, 200),
    )
    with torch.inference_mode():
        assert torch.equal(model(inputs), model(spoiled))


def test_instruction_matters_and_its_words_are_the_same_in_every_process():
    made = [rollout().forward()]
    assert ask(network(), made, 'open the box') != ask(network(), made, 'close the box')
    assert hash_words(CONFIG, 'Open the box!')[:4] == [279, 438, 266, 0]
    assert len(hash_words(CONFIG, 'word ' * 100)) == CONFIG.words


def test_checkpoint_answers_as_before(tmp_path):
    made = [rollout().forward(), rollout(seed=5).incremental()]
    save_grm(tmp_path / 'grm', network(), '# A card')
    loaded = load_small_grm(tmp_path / 'grm', 'open the box')
    assert np.array_equal(loaded.hops(made), ask(network(), made))
    assert loaded.view_px == CONFIG.view_px
    assert loaded.layout == CONFIG.layout
    assert (tmp_path / 'grm' / 'README.md').read_text() == '# A card\n'


def test_wrong_checkpoints_are_one_line(tmp_path):
    folder = tmp_path / 'grm'
    save_grm(folder, network(), '')
    weights = folder / 'grm.safetensors'
    whole = weights.read_bytes()
    weights.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(CheckpointError, match='is cut or no safetensors file'):
        load_grm(folder)
    weights.write_bytes(whole)
    text = (folder / 'config.json').read_text()
    (folder / 'config.json').write_text(text.replace('"width": 32', '"width": 64'))
    with pytest.raises(CheckpointError, match='weights of another architecture: ') as caught:
        load_grm(folder)
    assert '\n' not in str(caught.value)
    (folder / 'config.json').write_text(text.replace('"width"', '"depth"'))
    with pytest.raises(CheckpointError, match="unknown field 'depth'; allowed: view_px"):
        load_grm(folder)
    (folder / 'config.json').write_text('{"format_version": 9}')
    with pytest.raises(CheckpointError, match='format_version is 9; allowed: 1'):
        load_grm(folder)
    with pytest.raises(CheckpointError):
        load_grm(tmp_path / 'nothing')


def test_no_number_is_no_prediction():
    model = network()
    with torch.no_grad():
        model.head[-1].bias.fill_(float('nan'))
    assert np.isnan(ask(model, [rollout().forward()])).all()


def test_queries_of_another_layout_are_one_line():
    other = GrmConfig(**{**CONFIG.to_json(), 'cell_px': 20})
    with pytest.raises(ParameterError, match=r'panels before of shape \(1, 40, 40, 3\); allowed'):
        ask(network(), [rollout(config=other).forward()])
    other = GrmConfig(**{**CONFIG.to_json(), 'view_px': 48})
    with pytest.raises(ParameterError, match='views of 48 px; allowed: 32'):
        ask(network(), [rollout(config=other).forward()])
    with pytest.raises(ParameterError, match='context of type str; allowed: Query'):
        ask(network(), ['nothing'])
    with pytest.raises(ParameterError, match='view_px 40, cell_px 42; allowed'):
        GrmConfig(view_px=40)
    with pytest.raises(ParameterError, match='width 30; allowed: a multiple of 4'):
        GrmConfig(width=30)


def test_it_can_learn_how_far_a_thing_has_moved():
    torch.manual_seed(1)
    model = GrmNetwork(GrmConfig(view_px=16, cell_px=16, grid=1, width=32, heads=2, layers=1))
    strips = []
    for i in range(6):
        picture = np.full((16, 16, 3), 60, np.uint8)
        picture[:, 2 * i : 2 * i + 2] = 220
        strips.append(make_views({'head': picture}, 16))

    def query(first, second):
        made = Rollout(model.config.layout, strips[-1])
        made.observe(0, strips[first])
        made.observe(1, strips[second])
        return made.forward()

    pairs = [(i, j) for i in range(6) for j in range(6)]
    inputs = make_input(model.config, [query(i, j) for i, j in pairs], 'push the bar')
    truth = torch.tensor([100.0 * (j - i) / 5 for i, j in pairs])
    optimiser = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for _ in range(40):
        optimiser.zero_grad()
        loss = torch.nn.functional.mse_loss(model(inputs), truth)
        loss.backward()
        optimiser.step()
    assert loss.item() < 0.2 * truth.var().item()
