"""Claims of training a planner, a tiny Qwen2.5-VL: it runs, it goes on, its adapter loads."""

import numpy as np
import pytest
from leap_episodes import three_scenes
from typer.testing import CliRunner

from structrl_ros.cli.main import app
from structrl_ros.training.leap_rows import RowSettings
from structrl_ros.training.leap_rows import make_rows
from structrl_ros.training.leap_set import write_split
from structrl_ros.training.metrics_log import read_metrics
from structrl_ros.types import Observation
from structrl_ros.types import PlanRequest

pytestmark = [
    pytest.mark.torch,
    # The libraries of the trainers warn of names of their own that they will drop.
    pytest.mark.filterwarnings('ignore::FutureWarning'),
    pytest.mark.filterwarnings('ignore::UserWarning'),
]

#: Both kinds of questions, few tokens, small pictures.
SHARED = [
    'prompt:=plan_brief_v1',
    'image_pixels:=3136',
    'max_tokens:=6',
    'device:=cpu',
    'held_out:=0.3',
]
GRPO = ['rows:=4', 'accumulation:=1', 'completions:=4', 'learning_rate:=0.01', 'lora_rank:=4']


@pytest.fixture(scope='module')
def made(tmp_path_factory):
    from structrl_ros.models.vlm.tiny_vlm import save_tiny_vlm

    folder = tmp_path_factory.mktemp('planner')
    write_split(folder / 'leap', 'train', list(make_rows(three_scenes(), 'train', RowSettings())))
    save_tiny_vlm(folder / 'tiny')
    return folder


def train(made, out, *words):
    typed = [str(made / 'leap'), '--base', str(made / 'tiny'), '--out', str(out), *SHARED, *words]
    result = CliRunner().invoke(app, ['train', 'planner', *typed])
    assert result.exit_code == 0, result.output + repr(result.exception)
    return result.output


def numbers(run):
    lines = read_metrics(run / 'metrics.jsonl')
    return [{k: v for k, v in line.items() if not k.startswith('seconds/')} for line in lines]


def weights(run):
    from safetensors.numpy import load_file

    return load_file(run / 'adapter' / 'adapter_model.safetensors')


def test_grpo_writes_numbers_and_an_adapter_that_the_planner_loads(made, tmp_path):
    from structrl_ros.models.vlm.loading import VlmSettings
    from structrl_ros.models.vlm.loading import load_vlm
    from structrl_ros.models.vlm.local_planner import LocalPlanner

    told = train(made, tmp_path / 'run', *GRPO, 'updates:=2')
    lines = numbers(tmp_path / 'run')
    assert [line['update'] for line in lines] == [0, 1, 2]
    assert {'planner/reward', 'planner/kl', 'held_out/reward'} <= set(lines[2])
    assert lines[2]['held_out/reward'] <= 1
    assert any((tmp_path / 'run' / 'tensorboard').iterdir())
    adapter = tmp_path / 'run' / 'adapter'
    assert f'adapter:={adapter}' in told.replace('\n', '')
    kept = [p.name for p in (tmp_path / 'run').rglob('*') if p.suffix in ('.pt', '.pth', '.bin')]
    assert kept == []
    vlm = load_vlm(
        VlmSettings(model=str(made / 'tiny'), adapter=str(adapter), device='cpu', threads=1)
    )
    planner = LocalPlanner(
        vlm, prompt='plan_brief_v1', reasoning_characters=8, max_steps=2, max_tokens=60
    )
    seen = Observation(1, 1, images={'head': np.zeros((56, 56, 3), np.uint8)})
    assert '<answer>' in planner.propose(PlanRequest('tidy up', ('apple', 'bowl'), seen))


@pytest.mark.slow
@pytest.mark.parametrize('stage', ['sft', 'grpo'])
def test_a_run_that_was_stopped_goes_on_to_the_same_numbers_and_weights(made, tmp_path, stage):
    from structrl_ros.training.planner_settings import STAGES
    from structrl_ros.training.planner_tasks import split_tasks
    from structrl_ros.training.planner_trainer import PlannerTraining
    from structrl_ros.training.settings_document import make_settings

    words = [*SHARED, *GRPO, 'updates:=4', 'checkpoint_every:=2', f'base:={made / "tiny"}']
    if stage == 'sft':
        words = [word for word in words if not word.startswith('completions')]
    settings = make_settings(STAGES[stage], {}, dict(word.split(':=') for word in words))
    rows = split_tasks(list(make_rows(three_scenes(), 'train', RowSettings())), settings)

    def stop(number, _):
        if number == 3:
            raise KeyboardInterrupt

    whole, cut = tmp_path / 'whole', tmp_path / 'cut'
    PlannerTraining(settings, rows, whole).run()
    with pytest.raises(KeyboardInterrupt):
        PlannerTraining(settings, rows, cut, stop).run()
    PlannerTraining(settings, rows, cut).run(resume=True)
    assert numbers(cut) == numbers(whole)
    one, other = weights(whole), weights(cut)
    assert one.keys() == other.keys()
    assert all(np.array_equal(one[name], other[name]) for name in one)
