"""Claims of the GRM's training: splits, provenance, resuming, cards, mistakes."""

import json
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

pytest.importorskip('torch')
pytest.importorskip('mujoco')

import torch
from grm_sets import NEGATIVE
from grm_sets import SIZE
from grm_sets import write_set
from safetensors.torch import load_file
from typer.testing import CliRunner

from structrl_ros.cli.main import app
from structrl_ros.errors import CheckpointError
from structrl_ros.errors import ParameterError
from structrl_ros.models.grm.small import load_small_grm
from structrl_ros.progress.context import Provenance
from structrl_ros.progress.pairs import Branch
from structrl_ros.progress.pairs import Family
from structrl_ros.training.grm_data import load_data
from structrl_ros.training.grm_episodes import load_episodes
from structrl_ros.training.grm_pairs import OOD_FAMILIES
from structrl_ros.training.grm_pairs import make_pairs
from structrl_ros.training.grm_pairs import quotas
from structrl_ros.training.grm_settings import GrmSettings
from structrl_ros.training.grm_trainer import GrmTrainer
from structrl_ros.training.metrics_log import SECONDS
from structrl_ros.training.metrics_log import read_metrics

pytestmark = [pytest.mark.torch, pytest.mark.sim]

SMALL = {
    'view_px': SIZE,
    'cell_px': 16,
    'grid': 2,
    'width': 16,
    'heads': 2,
    'layers': 1,
    'channels': 8,
    'pairs': 400,
    'stage_samples': 96,
    'batch': 16,
    'checkpoint_every': 4,
    'held_out_pairs': 60,
    'shift_px': 1,
}
SPLITS = ['train', 'test', 'train', 'train', 'test', 'train', 'train']


@pytest.fixture(scope='module', autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    return write_set(tmp_path_factory.mktemp('sets') / 'bars', SPLITS)


def settings(**changes):
    return GrmSettings(**{**SMALL, **changes})


def command(*words):
    given = {word.partition(':=')[0] for word in map(str, words)}
    small = [f'{key}:={value}' for key, value in SMALL.items() if key not in given]
    resumes = '--resume' in words
    words = [*map(str, words), *([] if resumes else small)]
    return CliRunner().invoke(app, ['train', 'grm', *words])


def numbers(run):
    told = read_metrics(run / 'metrics.jsonl')
    return [{k: v for k, v in row.items() if not k.startswith(SECONDS)} for row in told]


def test_no_test_episode_nor_edit_of_it_reaches_a_training_pair(folder, tmp_path):
    data = load_data([folder], settings())
    names = {use: {e.name for e in found} for use, found in data.episodes.items()}
    assert [len(found) for found in names.values()] == [4, 1, 2]
    assert not names['training'] & names['validation']
    assert not (names['training'] | names['validation']) & names['test']
    for use, table in data.tables.items():
        assert {pair.episode for pair in table.pairs} == names[use]
    test = load_episodes([folder], 'test', settings().grm_config().layout, SIZE)
    assert {episode.name for episode in test} == names['test']
    with pytest.raises(ParameterError, match="is of split 'test'; allowed: 'train'"):
        make_pairs(test, 9, 0, 'train', quotas(True))
    without = shutil.copytree(folder, tmp_path / 'without')
    for name in names['test']:
        shutil.rmtree(without / name)
    kept = load_episodes([without], 'train', settings().grm_config().layout, SIZE)
    assert {e.name for e in kept} == names['training'] | names['validation']


def test_edited_endpoints_get_the_panels_of_their_source(folder):
    data = load_data([folder], settings(pairs=150))
    table = data.tables['training']
    owners = {episode.name: episode for episode in data.episodes['training']}
    queries, instructions = table.batch(range(len(table)))
    seen = set()
    for pair, query, instruction in zip(table.pairs, queries, instructions, strict=True):
        owner = owners[pair.episode]
        is_edited = bool(pair.before.edit or pair.after.edit)
        assert query.provenance is (Provenance.REFERENCE if is_edited else Provenance.EXPERT)
        assert instruction == owner.instruction
        assert query.start is owner.source.frames[0].views
        if is_edited:
            of_source = owner.source.expert_query(pair.before.index, pair.after.index)
            assert np.array_equal(query.pre.images, of_source.pre.images)
            assert np.array_equal(query.between.images, of_source.between.images)
            edit = owner.edits[pair.before.edit or pair.after.edit]
            state, views = (
                (pair.before, query.before) if pair.before.edit else (pair.after, query.after)
            )
            shown = edit.pictures['head'][state.index - edit.frames.start]
            assert np.array_equal(views.images[0], shown)
        seen.add(pair.family)
    assert seen == set(Family)


def test_without_supervision_of_failures_no_edited_endpoint_is_trained_on(folder):
    data = load_data([folder], settings(ood=False))
    for use in ('training', 'validation'):
        families = {pair.family for pair in data.tables[use].pairs}
        assert families == set(Family) - OOD_FAMILIES
    assert {pair.family for pair in data.tables['test'].pairs} == set(Family)


def test_a_failure_that_nobody_sees_is_no_label(folder):
    table = load_data([folder], settings()).tables['training']
    ends = [end for pair in table.pairs for end in (pair.before, pair.after)]
    failed = {end.index for end in ends if end.branch is Branch.NEGATIVE}
    assert failed == set(range(5, 10))
    assert table.dropped > 0


def test_a_run_that_was_stopped_ends_with_the_same_numbers(folder, tmp_path):
    whole = tmp_path / 'whole'
    assert command(folder, '--out', whole).exit_code == 0
    rows = numbers(whole)
    assert [row['update'] for row in rows] == [4, 8, 12]
    cut = tmp_path / 'cut'
    shutil.copytree(whole, cut)
    stop_after_first_line(folder, cut)
    assert [row['update'] for row in numbers(cut)] == [4]
    result = command('--resume', '--out', cut)
    assert result.exit_code == 0, result.output
    assert numbers(cut) == rows
    for name in ('checkpoint/grm/grm.safetensors', 'best/grm.safetensors'):
        one, two = load_file(whole / name), load_file(cut / name)
        assert all(torch.equal(one[key], two[key]) for key in one)
    again = command('--resume', '--out', cut)  # one that is done stays as it is
    assert again.exit_code == 0
    assert numbers(cut) == rows


@pytest.mark.slow
def test_a_run_that_was_killed_ends_with_the_same_numbers(folder, tmp_path):
    whole, killed = tmp_path / 'whole', tmp_path / 'killed'
    assert command(folder, '--out', whole).exit_code == 0
    small = [f'{key}:={value}' for key, value in SMALL.items()]
    typed = [sys.executable, '-c', 'from structrl_ros.cli.main import main; main()']
    words = ['train', 'grm', str(folder), '--out', str(killed), *small]
    process = subprocess.Popen([*typed, *words], stdout=subprocess.DEVNULL)
    log = killed / 'metrics.jsonl'
    deadline = time.monotonic() + 120
    while not (log.is_file() and log.stat().st_size) and time.monotonic() < deadline:
        assert process.poll() is None
        time.sleep(0.002)
    process.kill()
    assert process.wait(60) in (-signal.SIGKILL, 0)
    result = command('--resume', '--out', killed)
    assert result.exit_code == 0, result.output
    assert numbers(killed) == numbers(whole)
    one, two = (load_file(run / 'best' / 'grm.safetensors') for run in (whole, killed))
    assert all(torch.equal(one[key], two[key]) for key in one)


def stop_after_first_line(folder, run):
    """Run again in the directory of a run, up to the first checkpoint, as if killed there."""
    from structrl_ros.training.grm_run import GrmRun
    from structrl_ros.training.run_directory import open_run

    shutil.rmtree(run / 'checkpoint')
    (run / 'metrics.jsonl').unlink()
    directory = open_run(run)
    data = load_data([folder], settings())

    def stop(done, metrics):
        raise KeyboardInterrupt

    trainer = GrmTrainer(
        settings(), data.tables, GrmRun(directory, settings(), data.episodes), stop
    )
    with pytest.raises(KeyboardInterrupt):
        trainer.run()
    directory.close()


def test_the_checkpoint_answers_and_its_card_tells_data_and_numbers(folder, tmp_path):
    run = tmp_path / 'run'
    result = command(folder, '--out', run, '--seed', 3, '--layout', 'static')
    assert result.exit_code == 0, result.output
    model = load_small_grm(run / 'best', 'push the bar')
    assert (model.layout.pre_panels, model.layout.between_panels) == (0, 0)
    table = load_data([folder], settings(layout='static')).tables['test']
    hops = model.hops(table.batch(range(5))[0])
    assert np.isfinite(hops).all()
    card = (run / 'best' / 'README.md').read_text()
    for line in ('seed: 3', 'test_episodes: 2', '| push_0 | 2 | 1 | 1 |', '- layout: "static"'):
        assert line in card
    last = numbers(run)[-1]
    assert f'| all | {len(table)} | {last["test/all/mse"]:.1f} |' in card
    assert str(tmp_path) not in card
    assert list((run / 'tensorboard').iterdir())


def test_it_learns_what_the_pictures_tell(folder):
    data = load_data([folder], settings())
    chosen = settings(stage_samples=1200, batch=40, learning_rate=4e-3, checkpoint_every=60)
    trainer = GrmTrainer(chosen, data.tables)
    trainer.run()
    variance = float(data.tables['test'].labels.var())
    assert trainer.scores['all'].mse < 0.5 * variance
    assert trainer.scores['all'].rank > 0.7


def test_low_precision_trains_as_well(folder):
    chosen = settings(precision='bfloat16', stage_samples=32)
    trainer = GrmTrainer(chosen, load_data([folder], chosen).tables)
    trainer.run()
    assert all(p.dtype == torch.float32 for p in trainer.network.parameters())
    assert np.isfinite(trainer.metrics[-1]['grm/loss'])
    full = GrmTrainer(settings(stage_samples=32), load_data([folder], chosen).tables)
    full.run()
    assert trainer.metrics[0]['grm/loss'] != full.metrics[0]['grm/loss']


@pytest.mark.parametrize(
    ('words', 'error', 'line'),
    [
        ([], ParameterError, 'no set to train on; structrl data counterfactual makes one'),
        (['{tmp}/nothing'], CheckpointError, 'no manifest of counterfactuals'),
        (['{tmp}/empty'], ParameterError, 'no train episodes among 0 of'),
        (['{tmp}/train'], ParameterError, 'no test episodes among 1 of'),
        (['{set}', '{tmp}/train'], ParameterError, 'allowed: each episode once'),
        (['{set}', 'view_px:=32'], ParameterError, 'pictures of 16 px; allowed: 32 and more'),
        (['{set}', '--control', 'E7'], ParameterError, "control: input should be 'E0'"),
        (['{set}', 'device:=abacus'], ParameterError, "device 'abacus': "),
        (['{set}', 'depth:=3'], ParameterError, "unknown setting 'depth'; allowed: seed"),
        (['--resume'], ParameterError, '--resume needs --out'),
        (['{set}', '--resume', '--out', '{tmp}'], ParameterError, 'a run goes on as it began'),
        (['--resume', '--out', '{tmp}'], CheckpointError, 'is no run directory'),
        (['--resume', '--out', '{tmp}/sft'], CheckpointError, "run of trainer 'sft'; allowed"),
    ],
)
def test_mistakes_are_one_line(words, error, line, folder, tmp_path):
    write_set(tmp_path / 'train', ['train'])
    write_set(tmp_path / 'empty', [])
    (tmp_path / 'sft').mkdir()
    (tmp_path / 'sft' / 'config.json').write_text('{"trainer": "sft"}')
    filled = [word.format(set=folder, tmp=tmp_path) for word in words]
    out = [] if '--resume' in words else ['--out', tmp_path / 'run']
    result = command(*filled, *out)
    assert isinstance(result.exception, error), result.output
    assert line in str(result.exception)
    assert '\n' not in str(result.exception)
    assert not (tmp_path / 'run').exists()


def test_a_run_goes_on_with_its_own_set_and_architecture_alone(folder, tmp_path):
    other = shutil.copytree(folder, tmp_path / 'set')
    run = tmp_path / 'run'
    assert command(other, '--out', run, '--control', 'E0').exit_code == 0
    document = json.loads((run / 'config.json').read_text())
    wider = {**document, 'settings': {**document['settings'], 'width': 32}}
    (run / 'config.json').write_text(json.dumps(wider))
    result = command('--resume', '--out', run)
    assert isinstance(result.exception, CheckpointError)
    assert 'it is of another architecture' in str(result.exception)
    (run / 'config.json').write_text(json.dumps(document))
    shutil.rmtree(other)
    write_set(other, [*SPLITS, 'train'])
    result = command('--resume', '--out', run)
    assert isinstance(result.exception, ParameterError)
    assert 'not the set that the run began with' in str(result.exception)


def test_pictures_that_are_not_what_the_manifest_says_are_refused(folder, tmp_path):
    other = shutil.copytree(folder, tmp_path / 'set')
    name = 'bars-push-0-0'
    np.savez_compressed(other / name / f'{NEGATIVE}.npz', head=np.zeros((6, 8, 8, 3), np.uint8))
    with pytest.raises(CheckpointError, match=r'head of shape \(6, 8, 8, 3\); allowed: \(6, 16'):
        load_data([other], settings())
