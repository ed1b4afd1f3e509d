"""Training of a diffusion policy: it learns, goes on to the same numbers, and refuses plainly."""

import json
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip('torch')

import torch
from typer.testing import CliRunner

from structrl_ros.cli.main import app
from structrl_ros.errors import CheckpointError
from structrl_ros.errors import DatasetError
from structrl_ros.errors import ParameterError
from structrl_ros.errors import TrainingError
from structrl_ros.models.checkpoint import load_policy
from structrl_ros.models.policies.base import PolicyInput
from structrl_ros.models.policies.card import read_card
from structrl_ros.models.policies.proprioception import PROPRIOCEPTION
from structrl_ros.recording.lerobot.layout import Feature
from structrl_ros.recording.lerobot.writer import DatasetWriter
from structrl_ros.training.diffusion_chunks import PictureChunks
from structrl_ros.training.diffusion_chunks import join_chunks
from structrl_ros.training.diffusion_chunks import load_chunks
from structrl_ros.training.diffusion_chunks import save_chunks
from structrl_ros.training.diffusion_run import Sources
from structrl_ros.training.diffusion_run import begin_diffusion
from structrl_ros.training.diffusion_run import resume_diffusion
from structrl_ros.training.diffusion_settings import DiffusionSettings
from structrl_ros.training.diffusion_sources import read_sources
from structrl_ros.training.diffusion_trainer import fresh_diffusion
from structrl_ros.training.diffusion_trainer import train_diffusion
from structrl_ros.training.metrics_log import SECONDS

pytestmark = pytest.mark.torch

SMALL = {
    'updates': '6',
    'batch': '8',
    'draws': '2',
    'hidden': '16',
    'channels': '8,16',
    'image_size': '16',
    'checkpoint_every': '3',
}


def shown(count=40, seed=0):
    """Return chunks in which the picture and the sentence say what is done."""
    random = np.random.default_rng(seed)
    side = random.integers(0, 2, count)
    sentence = random.integers(0, 2, count)
    image = np.zeros((count, 16, 16, 3), dtype=np.uint8)
    image[side == 1, :, 8:] = 255
    image[side == 0, :, :8] = 255
    way = np.where(side == 1, 0.5, -0.5) * np.where(sentence == 1, 1.0, -1.0)
    actions = np.zeros((count, 4, 7), dtype=np.float32)
    actions[:, :, 0] = way[:, None]
    targets = np.zeros((count, 3), dtype=np.float32)
    targets[:, 1] = np.where(side == 1, 0.02, -0.02)
    targets[::4] = np.nan
    return PictureChunks(
        features=random.normal(size=(count, 11)).astype(np.float32),
        actions=actions,
        valid=np.ones((count, 4), dtype=bool),
        sentence=sentence,
        targets=targets,
        sentences=('grasp soup', 'place soup'),
        feature_names=PROPRIOCEPTION,
        images={'head': image},
        origin='a drawing',
    )


def settings(**changes):
    values = {k: v.split(',') if k == 'channels' else v for k, v in SMALL.items()}
    return DiffusionSettings.model_validate({**values, **changes})


@pytest.fixture
def folder(tmp_path):
    (tmp_path / 'shown').mkdir()
    save_chunks(tmp_path / 'shown' / '0.safetensors', shown(24, 0))
    save_chunks(tmp_path / 'shown' / '1.safetensors', shown(16, 1))
    return tmp_path / 'shown'


def sources(folder):
    return Sources((folder,), ('head',), 4, 2)


@pytest.mark.slow
def test_it_learns_what_pictures_and_sentences_say():
    chosen = settings(updates=250, batch=32, shift_px=0, learning_rate=5e-3, ema_decay=0.9)
    chunks = shown(64)
    policy = fresh_diffusion(chunks, chosen)
    lines = train_diffusion(policy, chunks, chosen)
    assert lines[-1]['diffusion/action_loss'] < 0.2 * lines[0]['diffusion/action_loss']
    new = shown(32, 7)
    inputs = PolicyInput(
        torch.from_numpy(new.features),
        {'head': torch.from_numpy(new.images['head'])},
        tuple(new.sentences[i] for i in new.sentence.tolist()),
    )
    noise = torch.randn(32, *policy.noise_shape, generator=torch.Generator().manual_seed(0))
    done = policy.to_body(policy.sample(inputs, noise, explore=False).actions.numpy())
    right = np.sign(done[:, :, 0].mean(axis=1)) == np.sign(new.actions[:, 0, 0])
    assert right.mean() > 0.9
    with torch.no_grad():
        placed = policy.locate(inputs).numpy()[:, 1]
    told = np.isfinite(new.targets[:, 1])
    assert (np.sign(placed[told]) == np.sign(new.targets[told, 1])).mean() > 0.9


def numbers(path):
    lines = [json.loads(line) for line in (path / 'metrics.jsonl').read_text().splitlines()]
    return [{k: v for k, v in line.items() if not k.startswith(SECONDS)} for line in lines]


def test_a_run_that_was_stopped_goes_on_to_the_same_numbers(folder, tmp_path):
    whole, parted = tmp_path / 'whole', tmp_path / 'parted'
    run = begin_diffusion(sources(folder), SMALL, lambda: whole)
    run.train()
    run.close()

    def stop(done, _):
        if done == 3:
            raise KeyboardInterrupt

    run = begin_diffusion(sources(folder), SMALL, lambda: parted)
    with pytest.raises(KeyboardInterrupt):
        run.train(stop)
    run.close()
    again = resume_diffusion(parted)
    again.train()
    again.close()
    assert numbers(parted) == numbers(whole)
    first, second = (load_policy(p / 'checkpoint' / 'policy') for p in (whole, parted))
    for name, tensor in first.checkpoint_tensors().items():
        assert torch.equal(tensor, second.checkpoint_tensors()[name]), name
    assert read_card(whole / 'checkpoint' / 'policy').trained_by.startswith('diffusion policy, 40')
    assert float(first.action_normaliser.deviation[0]) == pytest.approx(0.5, abs=0.01)


def test_a_run_begins_with_the_weights_of_another(folder, tmp_path):
    first = begin_diffusion(sources(folder), SMALL, lambda: tmp_path / 'first')
    first.train()
    first.close()
    start = tmp_path / 'first' / 'checkpoint' / 'policy'
    second = begin_diffusion(sources(folder), SMALL, lambda: tmp_path / 'second', start)
    second.close()
    for name, tensor in load_policy(start).checkpoint_tensors().items():
        assert torch.equal(tensor, second.policy.checkpoint_tensors()[name]), name
    turned = tmp_path / 'turned'
    turned.mkdir()
    save_chunks(turned / '0.safetensors', replace(shown(), images={'arm': shown().images['head']}))
    with pytest.raises(ParameterError, match='rows and cameras'):
        begin_diffusion(sources(turned), SMALL, lambda: tmp_path / 'third', start)
    assert not (tmp_path / 'third').exists()


def test_chunks_come_back_from_their_file_and_join(tmp_path):
    save_chunks(tmp_path / 'a.safetensors', shown())
    back = load_chunks(tmp_path / 'a.safetensors')
    np.testing.assert_array_equal(back.images['head'], shown().images['head'])
    assert back.sentences == shown().sentences and back.origin == 'a drawing'
    turned = replace(shown(), sentences=('place soup', 'wave'))
    both = join_chunks([back, turned])
    assert both.sentences == ('grasp soup', 'place soup', 'wave') and len(both) == 80
    named = [both.sentences[i] for i in both.sentence[40:].tolist()]
    assert named == [turned.sentences[i] for i in turned.sentence.tolist()]
    with pytest.raises(ParameterError, match='the parts differ'):
        join_chunks([back, replace(shown(), images={})])
    (tmp_path / 'a.safetensors').write_bytes(b'cut')
    with pytest.raises(CheckpointError, match='cut or no safetensors'):
        load_chunks(tmp_path / 'a.safetensors')


def test_numbers_that_are_not_finite_are_refused_and_stop_the_training():
    broken = shown().actions.copy()
    broken[3, 1, 2] = np.nan
    with pytest.raises(ParameterError, match='actions hold a number that is not finite'):
        replace(shown(), actions=broken)
    policy = fresh_diffusion(shown(), settings())
    with torch.no_grad():
        policy.second.weight.fill_(torch.nan)
    with pytest.raises(TrainingError, match='not finite'):
        train_diffusion(policy, shown(), settings())


def test_the_command_refuses_in_one_line_and_leaves_no_run(folder, tmp_path):
    def said(*words):
        result = CliRunner().invoke(app, ['train', 'diffusion', *map(str, words)])
        assert result.exit_code == 1
        return str(result.exception)

    out = tmp_path / 'run'
    assert 'nothing to imitate' in said('--out', out)
    assert 'holds nothing to imitate' in said(tmp_path / 'nowhere', '--out', out)
    assert 'channels' in said(folder, 'channels:=8,x', '--out', out)
    assert 'multiples of 8' in said(folder, 'channels:=12', '--out', out)
    assert 'klingon' in said(folder, 'language:=klingon', '--out', out)
    assert not out.exists()
    assert '--resume needs --out' in said('--resume')


def test_the_command_trains_and_goes_on(folder, tmp_path):
    out = tmp_path / 'run'
    words = [f'{key}:={text}' for key, text in SMALL.items()]
    made = CliRunner().invoke(app, ['train', 'diffusion', str(folder), *words, '--out', str(out)])
    assert made.exit_code == 0, made.output
    assert '40 chunks' in made.output
    policy = load_policy(out / 'checkpoint' / 'policy', architecture='diffusion')
    assert policy.config.channels == (8, 16) and policy.config.prompt == 'subtask'
    again = CliRunner().invoke(app, ['train', 'diffusion', '--resume', '--out', str(out)])
    assert again.exit_code == 0, again.output
    assert len(numbers(out)) == 2


def test_a_lerobot_data_set_is_cut_into_chunks_of_one_subtask(tmp_path):
    root, phrases = tmp_path / 'set', ['grasp soup'] * 5 + ['place soup'] * 4
    steps, state = len(phrases), np.zeros((len(phrases), 16), dtype=np.float32)
    state[:, 7:9] = 0.04
    state[:, 9:] = [0.5, 0.1, 0.2, 0.0, 0.0, 0.0, 1.0]
    features = {
        'observation.images.head': Feature('image', (8, 8, 3), ('height', 'width', 'channels')),
        'observation.state': Feature('float32', (16,)),
        'action': Feature('float32', (7,)),
        'subtask_index': Feature('int64', (1,)),
    }
    writer = DatasetWriter(root, features, fps=20, robot='panda', codec='av1')
    columns = {
        'observation.state': state,
        'action': np.arange(steps * 7, dtype=np.float32).reshape(steps, 7) / 100,
        'subtask_index': np.array([writer.subtasks.number(p) for p in phrases]),
    }
    pictures = [np.full((8, 8, 3), i, dtype=np.uint8) for i in range(steps)]
    writer.add_episode('soup', columns, {'observation.images.head': pictures}, {})
    writer.close({})
    chunks = read_sources([root], roles=('head',), chunk_length=4, every=2)
    assert chunks.feature_names == PROPRIOCEPTION
    np.testing.assert_allclose(
        chunks.features[0], [0.5, 0.1, 0.2, 1, 0, 0, 0, 1, 0, 0.04, 0.04], atol=1e-6
    )
    assert chunks.images['head'][:, 0, 0, 0].tolist() == [0, 2, 4, 6, 8]
    said = [chunks.sentences[i] for i in chunks.sentence.tolist()]
    assert said == ['grasp soup'] * 3 + ['place soup'] * 2
    assert chunks.valid.sum(axis=1).tolist() == [4, 3, 1, 3, 1]
    np.testing.assert_array_equal(chunks.actions[1], columns['action'][2:6])
    with pytest.raises(DatasetError, match=r'has no observation\.images\.left_wrist'):
        read_sources([root], roles=('left_wrist',), chunk_length=4, every=2)


def test_a_folder_without_a_data_set_says_what_is_allowed(tmp_path):
    with pytest.raises(DatasetError, match='structrl export lerobot'):
        read_sources([tmp_path], roles=('head',), chunk_length=4, every=2)
