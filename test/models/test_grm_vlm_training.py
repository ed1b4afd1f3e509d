"""Adapters of tiny vision-language models learn a handful of pairs, by head and by words."""

import numpy as np
import pytest

pytest.importorskip('torch')
pytest.importorskip('transformers')
pytest.importorskip('peft')

from grm_sets import write_set
from grm_vlm_bases import save_base

from structrl_ros.models.grm.vlm import answer_queries
from structrl_ros.training.grm_data import load_data
from structrl_ros.training.grm_vlm_measurement import score_answered
from structrl_ros.training.grm_vlm_settings import VlmGrmSettings
from structrl_ros.training.grm_vlm_trainer import VlmGrmTrainer

pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture(scope='module')
def place(tmp_path_factory):
    place = tmp_path_factory.mktemp('grm_vlm_training')
    write_set(place / 'set', ['train', 'train', 'test'])
    for family in ('qwen3_vl', 'qwen2_5_vl'):
        save_base(place / family, family)
    return place


def trained(place, family, answer, **changes):
    """Return trainer and table after an overfit to sixteen pairs, and the errors before it."""
    fields = {
        'pairs': 16,
        'control': 'E0',
        'stage_samples': 320,
        'batch': 8,
        'rows': 8,
        'checkpoint_every': 10,
        'validation_share': 0.0,
        'held_out_pairs': 9,
        'learning_rate': 3e-3,
        'head_learning_rate': 1e-2,
        'lora_rank': 8,
        **{'drop_wrists': 0.0, 'drop_panels': 0.0},
        **{'view_px': 16, 'cell_px': 16, 'grid': 2, 'device': 'cpu'},
    }
    settings = VlmGrmSettings(base=str(place / family), answer=answer, **{**fields, **changes})
    table = load_data([place / 'set'], settings).tables['training']
    trainer = VlmGrmTrainer(settings, {'training': table})
    trainer.run()
    return trainer, table


@pytest.mark.parametrize('family', ['qwen3_vl', 'qwen2_5_vl'])
def test_a_head_learns_a_handful_of_pairs(place, family):
    trainer, table = trained(place, family, 'regression')
    losses = [line['grm/loss'] for line in trainer.metrics]
    before = float(np.mean(table.labels**2))  # of a head that says 0
    scores, unread = score_answered(trainer.network, table, 8)
    assert unread == 0.0
    assert losses[-1] < 0.5 * losses[0]
    assert scores['all'].mse < 0.5 * before


def test_words_are_learned_and_can_be_read(place):
    trainer, table = trained(place, 'qwen3_vl', 'text', stage_samples=400)
    losses = [line['grm/loss'] for line in trainer.metrics]
    assert losses[-1] < losses[0] - 0.5  # the output layer is random and does not train
    queries, instructions = table.batch(range(len(table)))
    answers = answer_queries(trainer.network, queries, instructions)
    is_read = np.isfinite(answers)
    assert is_read.mean() > 0.8
    assert np.mean((answers - table.labels)[is_read] ** 2) < 0.6 * np.mean(table.labels**2)
