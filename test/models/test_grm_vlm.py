"""The GRM on a vision-language model, on tiny ones of random weights through the real path."""

import dataclasses
import json

import numpy as np
import pytest

pytest.importorskip('torch')
pytest.importorskip('transformers')
pytest.importorskip('peft')

import torch
import typer
from grm_sets import write_set
from grm_vlm_bases import LAYOUT
from grm_vlm_bases import VIEW_PX
from grm_vlm_bases import rollout
from grm_vlm_bases import save_base
from typer.testing import CliRunner

from structrl_ros.cli.main import app as whole_app
from structrl_ros.cli.train_grm_vlm import train_grm_vlm
from structrl_ros.errors import CheckpointError
from structrl_ros.errors import ParameterError
from structrl_ros.models.grm.sizes import load_any_grm
from structrl_ros.models.grm.vlm import VlmGrm
from structrl_ros.models.grm.vlm import load_vlm_model
from structrl_ros.models.grm.vlm_checkpoint import load_vlm_grm
from structrl_ros.models.grm.vlm_checkpoint import save_vlm_grm
from structrl_ros.models.grm.vlm_config import VlmGrmConfig
from structrl_ros.models.grm.vlm_inputs import IGNORED
from structrl_ros.models.grm.vlm_inputs import make_vlm_input
from structrl_ros.models.grm.vlm_network import VlmGrmNetwork
from structrl_ros.models.grm.vlm_network import fingerprint_of
from structrl_ros.ports import ProgressModel
from structrl_ros.progress.prompt import make_prompt
from structrl_ros.progress.score_text import ScoreTextError
from structrl_ros.progress.score_text import parse_score
from structrl_ros.progress.score_text import write_score
from structrl_ros.progress.strip import Layout
from structrl_ros.training.grm_vlm_augmentation import leave_out
from structrl_ros.training.grm_vlm_run import KIND
from structrl_ros.training.metrics_log import read_metrics
from structrl_ros.training.shaping_run import ask_grm
from structrl_ros.training.voc_models import find_model

pytestmark = pytest.mark.torch

TASK = 'push the bar'

app = typer.Typer()  # the whole one takes long to build
app.command('grm-vlm')(train_grm_vlm)
app.callback()(lambda: None)


@pytest.fixture(scope='module')
def base(tmp_path_factory):
    return save_base(tmp_path_factory.mktemp('grm_vlm') / 'base')


def config(base, **changes):
    fields = {'view_px': VIEW_PX, 'cell_px': LAYOUT.cell_px, 'grid': LAYOUT.grid, 'lora_rank': 4}
    return VlmGrmConfig(**{'base': str(base), **fields, **changes})


def made(base, **changes):
    """Return a network whose adapters and head answer something, on the CPU."""
    torch.manual_seed(0)
    network = VlmGrmNetwork(config(base, **changes), device='cpu').eval()
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if 'lora_B' in name or name.startswith('head.'):
                parameter.normal_(0.0, 0.05)
    return network


@pytest.fixture(scope='module')
def network(base):
    return made(base)


def queries():
    long, wide = rollout(7), rollout(4, seed=3, roles=('head', 'left_wrist'))
    return [long.forward(), long.backward(), wide.incremental(), rollout(2, goal=False).forward()]


def test_it_is_a_progress_model_that_answers_in_range(network):
    model = VlmGrm(network, TASK)
    assert isinstance(model, ProgressModel)
    assert model.layout == LAYOUT
    assert model.view_px == VIEW_PX
    hops = model.hops(queries())
    assert hops.shape == (4,)
    assert hops.dtype == np.float64
    assert (np.abs(hops) <= 1.0).all()
    assert len(set(hops.tolist())) == 4
    assert model.hops([]).shape == (0,)


def test_answer_does_not_depend_on_the_batch(network):
    together = VlmGrm(network, TASK).hops(queries())
    for batch in (1, 3):
        assert np.allclose(VlmGrm(network, TASK, batch=batch).hops(queries()), together, atol=1e-5)


def test_history_and_instruction_are_seen(network):
    model = VlmGrm(network, TASK)
    long = rollout(6)
    plain = rollout(6)
    plain._views[1:-1] = []  # the same endpoints without what was between
    plain._strip = rollout(2)._strip
    assert model.hops([long.forward()]) != model.hops([plain.forward()])
    other = VlmGrm(network, 'open the drawer')
    assert model.hops([long.forward()]) != other.hops([long.forward()])


def test_the_model_gets_the_images_that_the_text_counts(network):
    for query in queries():
        prompt = make_prompt(TASK, query)
        inputs = make_vlm_input(network.config, network.processor, [query], [TASK])
        assert len(inputs.tensors['image_grid_thw']) == len(prompt.images)
        text = network.processor.tokenizer.decode(inputs.tensors['input_ids'][0])
        assert prompt.text in text
        assert text.rstrip().endswith('<|im_start|>assistant')
        assert text.index('<|image_pad|>') < text.index(prompt.text)


def test_fresh_adapters_answer_nothing_moved(base):
    fresh = VlmGrmNetwork(config(base), device='cpu').eval()
    assert (VlmGrm(fresh, TASK).hops(queries()) == 0.0).all()
    trained = fresh.trained_tensors()
    assert {name.split('.')[0] for name in trained} == {'adapted', 'head'}
    assert all('lora_' in name for name in trained if not name.startswith('head.'))
    assert not any('visual' in name for name in trained)


def test_checkpoint_answers_as_before_and_holds_no_base(base, network, tmp_path):
    save_vlm_grm(tmp_path / 'grm', network, '# A card')
    moved = tmp_path / 'moved'
    base.rename(moved)
    try:
        with pytest.raises(CheckpointError, match='base'):
            load_vlm_grm(tmp_path / 'grm', device='cpu')
        again = load_vlm_model(tmp_path / 'grm', TASK, base=str(moved), device='cpu')
        assert np.array_equal(again.hops(queries()), VlmGrm(network, TASK).hops(queries()))
    finally:
        moved.rename(base)
    files = {str(p.relative_to(tmp_path / 'grm')) for p in (tmp_path / 'grm').rglob('*.*')}
    adapter = {'adapter/adapter_config.json', 'adapter/adapter_model.safetensors'}
    assert files == {'README.md', 'config.json', 'head.safetensors'} | adapter
    size = (tmp_path / 'grm' / 'adapter' / 'adapter_model.safetensors').stat().st_size
    assert size < (base / 'model.safetensors').stat().st_size / 10


def test_benchmark_node_and_shaping_take_either_size(network, tmp_path):
    save_vlm_grm(tmp_path / 'grm', network, '')
    loaded = load_any_grm(str(tmp_path / 'grm'), device='cpu')
    assert (loaded.layout, loaded.view_px) == (LAYOUT, VIEW_PX)
    assert [path.name for path in loaded.files] == [
        'config.json',
        'adapter_model.safetensors',
        'head.safetensors',
    ]
    hops = VlmGrm(network, TASK).hops(queries())
    assert np.array_equal(loaded.about(TASK).hops(queries()), hops)
    assert find_model(f'{tmp_path / "grm"}:static').layout == LAYOUT
    assert ask_grm(str(tmp_path / 'grm'), TASK).view_px == VIEW_PX


def test_a_whole_model_is_asked_as_it_is_and_babble_is_no_prediction(base):
    loaded = load_any_grm(str(base), device='cpu')
    assert loaded.layout == Layout()
    made_for = rollout(3, layout=loaded.layout, view_px=loaded.view_px)
    assert np.isnan(loaded.about(TASK).hops([made_for.forward()])).all()
    assert [path.name for path in loaded.files] == ['config.json', 'model.safetensors']


def test_another_base_is_one_line(base, network, tmp_path):
    save_vlm_grm(tmp_path / 'grm', network, '')
    for family, seed in (('qwen3_vl', 5), ('qwen2_5_vl', 0)):
        other = save_base(tmp_path / family, family, seed=seed)
        with pytest.raises(CheckpointError, match='adapters of a base with fingerprint') as caught:
            load_vlm_grm(tmp_path / 'grm', base=str(other), device='cpu')
        assert '\n' not in str(caught.value)
        assert network.fingerprint[:12] in str(caught.value)


def test_fingerprint_is_of_the_weights_whatever_their_type(base, network):
    half = VlmGrmNetwork(config(base), device='cpu', dtype='bfloat16')
    assert half.fingerprint == network.fingerprint
    assert next(half.head.parameters()).dtype == torch.float32
    assert {t.dtype for t in half.trained_tensors().values()} == {torch.float32}
    assert fingerprint_of(torch.nn.Linear(2, 2)) != network.fingerprint


def test_wrong_checkpoints_are_one_line(base, network, tmp_path):
    folder = tmp_path / 'grm'
    save_vlm_grm(folder, network, '')
    text = (folder / 'config.json').read_text()
    for change, line in (
        (('"format_version": 1', '"format_version": 9'), 'format_version is 9; allowed: 1'),
        (('"prompt_version": 1', '"prompt_version": 7'), 'prompt version 7; allowed: 1'),
        (('"grid"', '"grids"'), "unknown field 'grids'; allowed: view_px, cell_px"),
        (('"lora_rank": 4', '"lora_rank": 2'), 'as the config says'),
        (('{', '['), 'cannot be read'),
        (('"vlm_grm"', '"grm"'), 'no config of a GRM on a vision-language model'),
    ):
        (folder / 'config.json').write_text(text.replace(*change))
        with pytest.raises(CheckpointError, match=line) as caught:
            load_vlm_grm(folder, device='cpu')
        assert '\n' not in str(caught.value)
    (folder / 'config.json').write_text(text)
    for name in ('head.safetensors', 'adapter/adapter_model.safetensors'):
        whole = (folder / name).read_bytes()
        (folder / name).write_bytes(whole[: len(whole) // 2])
        with pytest.raises(CheckpointError, match='is cut or no safetensors file'):
            load_vlm_grm(folder, device='cpu')
        (folder / name).write_bytes(whole)
    assert load_vlm_grm(folder, device='cpu').config == network.config


def test_queries_of_another_layout_are_one_line(network):
    model = VlmGrm(network, TASK)
    with pytest.raises(ParameterError, match='views of 32 px; allowed: 16'):
        model.hops([rollout(view_px=32).forward()])
    with pytest.raises(ParameterError, match=r'panels before of shape \(1, 40, 40, 3\); allowed'):
        model.hops([rollout(layout=Layout(grid=2, cell_px=20)).forward()])
    with pytest.raises(ParameterError, match='context of type str; allowed: Query'):
        model.hops(['nothing'])
    with pytest.raises(ParameterError, match='batch 0; allowed: from 1'):
        VlmGrm(network, TASK, batch=0)


def test_wrong_configs_are_one_line(base):
    for change, line in (
        ({'base': ''}, 'base is empty'),
        ({'answer': 'song'}, "answer 'song'; allowed: regression, text"),
        ({'lora_rank': 0}, 'lora_rank 0; allowed: from 1'),
        ({'between_panels': -1}, 'between_panels -1; allowed: from 0'),
        ({'lora_targets': ()}, 'lora_targets'),
    ):
        with pytest.raises(ParameterError, match=line):
            dataclasses.replace(config(base), **change)
    with pytest.raises(ParameterError, match=r"lora_targets \['nothing'\]: Target modules"):
        VlmGrmNetwork(config(base, lora_targets=('nothing',)), device='cpu')


def test_no_number_is_no_prediction(base):
    broken = made(base)
    with torch.no_grad():
        broken.head.bias.fill_(float('nan'))
    assert np.isnan(VlmGrm(broken, TASK).hops(queries())).all()


def test_text_that_holds_no_score_is_no_prediction_and_a_score_is_read(base):
    talker = made(base, answer='text')
    model = VlmGrm(talker, TASK)
    assert np.isnan(model.hops(queries())).all()  # it babbles
    said = iter(
        [['<score>-40%</score>', 'I see <score>+7 %</score>.', 'none', '<score>200</score>']]
    )
    talker.write = lambda inputs: next(said)
    hops = model.hops(queries())
    assert hops[:2].tolist() == [-0.4, 0.07]
    assert np.isnan(hops[2:]).all()


def test_labels_are_the_words_of_the_answer_alone(base):
    talker = made(base, answer='text')
    texts = [write_score(0.33), 'a longer answer <score>-5%</score>', '', '<score>+0%</score>']
    inputs = make_vlm_input(talker.config, talker.processor, queries(), [TASK] * 4, texts)
    tokenizer = talker.processor.tokenizer
    for row, text in zip(inputs.labels, texts, strict=True):
        learned = row[row != IGNORED]
        assert learned[-1] == tokenizer.eos_token_id
        assert tokenizer.decode(learned[:-1]) == text
        assert (row[-len(learned) :] != IGNORED).all()
    alone = [
        talker.text_loss(make_vlm_input(talker.config, talker.processor, [q], [TASK], [t]))
        for q, t in zip(queries(), texts, strict=True)
    ]
    counts = (inputs.labels != IGNORED).sum(1)
    mean = (torch.stack(alone) * counts).sum() / counts.sum()
    torch.testing.assert_close(talker.text_loss(inputs), mean, atol=1e-5, rtol=1e-5)
    plain = make_vlm_input(talker.config, talker.processor, queries(), [TASK] * 4)
    with pytest.raises(ParameterError, match='input without answers'):
        talker.text_loss(plain)


def test_less_memory_gives_the_same_gradient(base):
    gradients = []
    for saves in (False, True):
        net = made(base).train()
        if saves:
            net.save_memory()
        inputs = make_vlm_input(net.config, net.processor, queries()[:2], [TASK] * 2)
        net(inputs).square().mean().backward()
        gradients.append([p.grad for p in net.parameters() if p.requires_grad])
    for plain, saved in zip(*gradients, strict=True):
        torch.testing.assert_close(plain, saved)
    assert any(bool(g.abs().sum() > 0) for g in gradients[0])


def test_some_queries_of_training_have_no_wrists_and_some_no_panels():
    asked = [rollout(7, seed=s, roles=('head', 'left_wrist')).forward() for s in range(40)]
    left = leave_out(asked, np.random.default_rng(0), 0.5, 0.5)
    blind = [not query.after.available[1] for query in left]
    forgetful = [query.between.count == 0 for query in left]
    assert 10 < sum(blind) < 30
    assert 10 < sum(forgetful) < 30
    assert blind != forgetful
    for query, before in zip(left, asked, strict=True):
        assert np.array_equal(query.after.images[0], before.after.images[0])
        assert query.provenance is before.provenance
        assert (make_prompt(TASK, query).text == make_prompt(TASK, before).text) == (
            query.after.available[1] and query.between.count > 0
        )
    assert leave_out(asked, np.random.default_rng(0), 0.0, 0.0) == asked
    lonely = rollout(3, roles=('left_wrist',)).forward()
    assert lonely.without_wrists().after.available.tolist() == [False, True, False]


def test_scores_are_written_as_they_are_read():
    for hop in np.linspace(-1.0, 1.0, 41):
        assert abs(parse_score(write_score(float(hop))) - hop) <= 0.005 + 1e-12
    assert write_score(0.0) == write_score(-0.001) == '<score>+0%</score>'
    for hop in (1.01, float('nan')):
        with pytest.raises(ScoreTextError, match='hop must be in'):
            write_score(hop)


WORDS = (
    *('pairs:=24', 'stage_samples:=4', 'batch:=4', 'rows:=2', 'held_out_pairs:=9', 'lora_rank:=4'),
    *('checkpoint_every:=1', 'view_px:=16', 'cell_px:=16', 'grid:=2', 'device:=cpu'),
)


def command(*words):
    return CliRunner().invoke(app, ['grm-vlm', *map(str, words)])


def numbers(run):
    lines = read_metrics(run / 'metrics.jsonl')
    return [{k: v for k, v in line.items() if not k.startswith('seconds')} for line in lines]


def test_a_run_from_the_command_line_resumes_to_the_same_numbers(base, tmp_path, monkeypatch):
    sets = write_set(tmp_path / 'set', ['train', 'train', 'test'])
    words = (sets, '--base', base, *WORDS)
    whole = command(*words, '--out', tmp_path / 'whole')
    assert whole.exit_code == 0, whole.output
    assert 'test pairs: MSE of 100 hop' in whole.output
    assert [line['update'] for line in numbers(tmp_path / 'whole')] == [1, 2]

    from structrl_ros.training.grm_vlm_run import VlmGrmRun

    def stopped(self, state, save=VlmGrmRun.save):
        save(self, state)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(VlmGrmRun, 'save', stopped)
        assert command(*words, '--out', tmp_path / 'cut').exit_code == 130
    assert len(numbers(tmp_path / 'cut')) == 1
    result = command('--resume', '--out', tmp_path / 'cut')
    assert result.exit_code == 0, result.output
    assert numbers(tmp_path / 'cut') == numbers(tmp_path / 'whole')
    weights = [
        tmp_path / run / 'best/adapter/adapter_model.safetensors' for run in ('cut', 'whole')
    ]
    assert weights[0].read_bytes() == weights[1].read_bytes()
    assert 'test_mse: ' in (tmp_path / 'cut/best/README.md').read_text()
    model = load_vlm_model(tmp_path / 'cut/best', TASK, device='cpu')
    assert np.isfinite(model.hops([rollout().forward()])).all()


def test_mistakes_on_the_command_line_are_one_line(base, tmp_path):
    assert '<score>' in CliRunner().invoke(whole_app, ['train', 'grm-vlm', '--help']).output
    sets = write_set(tmp_path / 'set', ['train', 'test'])
    for words, line in (
        (('--base', base), 'no set to train on'),
        ((sets,), 'base is empty'),
        ((sets, '--base', base, 'answer:=song'), 'answer'),
        ((sets, '--base', tmp_path / 'nothing', *WORDS, 'validation_share:=0'), 'nothing'),
        (('--resume',), '--resume needs --out'),
    ):
        where = () if words[0] == '--resume' else ('--out', tmp_path / f'run{len(line)}')
        error = command(*words, *where).exception
        assert isinstance(error, ParameterError | CheckpointError)
        assert line in str(error)
        assert '\n' not in str(error)
    (tmp_path / 'other').mkdir()
    (tmp_path / 'other/config.json').write_text(json.dumps({'trainer': 'grm'}))
    error = command('--resume', '--out', tmp_path / 'other').exception
    assert f"run of trainer 'grm'; allowed: '{KIND}', made by structrl train grm-vlm" in str(error)
