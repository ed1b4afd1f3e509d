"""Planner and monitor on tiny random Qwen models that went through save and from_pretrained."""

import json
import shutil
import threading

import numpy as np
import pytest

pytest.importorskip('torch')
pytest.importorskip('transformers')
pytest.importorskip('xgrammar')
peft = pytest.importorskip('peft')

pytestmark = pytest.mark.torch

import torch  # noqa: E402
from task_bench import TaskBench  # noqa: E402
from typer.testing import CliRunner  # noqa: E402

from structrl_ros.cli import bench_vlm  # noqa: E402
from structrl_ros.cli.main import app  # noqa: E402
from structrl_ros.errors import CheckpointError  # noqa: E402
from structrl_ros.errors import MessageError  # noqa: E402
from structrl_ros.errors import ParameterError  # noqa: E402
from structrl_ros.errors import StaleDataError  # noqa: E402
from structrl_ros.models.vlm.loading import VlmSettings  # noqa: E402
from structrl_ros.models.vlm.loading import check_four_bit  # noqa: E402
from structrl_ros.models.vlm.loading import load_vlm  # noqa: E402
from structrl_ros.models.vlm.local_monitor import LocalMonitor  # noqa: E402
from structrl_ros.models.vlm.local_planner import LocalPlanner  # noqa: E402
from structrl_ros.models.vlm.tiny_vlm import FAMILIES  # noqa: E402
from structrl_ros.models.vlm.tiny_vlm import save_tiny_vlm  # noqa: E402
from structrl_ros.naming import expand  # noqa: E402
from structrl_ros.nodes.planner_backends import executive_settings  # noqa: E402
from structrl_ros.nodes.planner_backends import make_backends  # noqa: E402
from structrl_ros.nodes.planner_backends import session_settings  # noqa: E402
from structrl_ros.params.planner import PlannerParameters  # noqa: E402
from structrl_ros.plan.parse import parse_plan  # noqa: E402
from structrl_ros.ports import Monitor  # noqa: E402
from structrl_ros.ports import Planner  # noqa: E402
from structrl_ros.types import FailedAttempt  # noqa: E402
from structrl_ros.types import Observation  # noqa: E402
from structrl_ros.types import Plan  # noqa: E402
from structrl_ros.types import PlanRequest  # noqa: E402
from structrl_ros.types import Subtask  # noqa: E402

SCENE = ('alphabet soup', 'basket')
SENTENCE = 'put the soup in the basket'
GRASP = Subtask('grasp(soup)', 'grasp soup', 'grasp', ('soup',), 0)
PLACE = Subtask('place(soup, basket)', 'place soup in basket', 'place', ('soup', 'basket'), 1)


def seen(number=0, size=(120, 160)):
    image = np.random.default_rng(number).integers(0, 255, (*size, 3), dtype=np.uint8)
    return Observation(number + 1, 1, images={'head': image}, image_stamps_ns={'head': number + 1})


@pytest.fixture(scope='module')
def folders(tmp_path_factory):
    torch.set_num_threads(1)
    root = tmp_path_factory.mktemp('tiny')
    for family in FAMILIES:
        save_tiny_vlm(root / family, family)
    return root


@pytest.fixture(scope='module')
def models(folders):
    return {f: load_vlm(VlmSettings(model=str(folders / f), device='cpu')) for f in FAMILIES}


@pytest.fixture(scope='module')
def vlm(models):
    return models['qwen2_5_vl']


@pytest.mark.parametrize('family', FAMILIES)
def test_random_weights_give_a_valid_plan_of_the_scene_with_its_reasoning(models, family):
    planner = LocalPlanner(models[family], reasoning_characters=30, max_steps=3)
    assert isinstance(planner, Planner)
    assert planner.name == f'local:{family}'
    text = planner.propose(PlanRequest(SENTENCE, SCENE, seen()))
    parsed = parse_plan(text, objects=expand(SCENE))
    assert parsed.format == 1
    assert 0 < len(parsed.reasoning) <= 30
    assert text == planner.propose(PlanRequest(SENTENCE, SCENE, seen()))


@pytest.mark.parametrize('family', FAMILIES)
def test_plan_in_blocks_has_the_format_that_rever_rewards(models, family):
    planner = LocalPlanner(
        models[family], prompt='plan_blocks_v1', reasoning_characters=20, max_steps=3
    )
    parsed = parse_plan(
        planner.propose(PlanRequest(SENTENCE, SCENE, seen())), objects=expand(SCENE)
    )
    assert parsed.format == 1
    assert 1 <= len(parsed.steps) <= 3
    assert parsed.reasoning is not None


def test_scene_without_names_holds_the_answer_to_the_schema_alone(vlm):
    planner = LocalPlanner(vlm, roles=(), reasoning_characters=10, max_tokens=30)
    assert planner.propose(PlanRequest(SENTENCE, None, None)).find('{"reasoning": "') >= 0


def test_answer_that_is_cut_is_no_plan(vlm):
    planner = LocalPlanner(vlm, roles=(), max_tokens=12)
    text = planner.propose(PlanRequest(SENTENCE, SCENE, None))
    with pytest.raises(Exception, match='broken JSON'):
        parse_plan(text)


def test_failed_attempt_and_rejected_answers_change_the_question(vlm):
    planner, asked = LocalPlanner(vlm, roles=(), max_tokens=2), []
    template = vlm.processor.apply_chat_template
    vlm.processor.apply_chat_template = lambda m, **more: asked.append(m) or template(m, **more)
    failed = FailedAttempt(Plan(1, 1, SENTENCE, (GRASP, PLACE)), 1, 'not done within 15 s')
    try:
        planner.propose(PlanRequest(SENTENCE, SCENE, None, failed, (('[]', 'no step found'),)))
    finally:
        del vlm.processor.apply_chat_template
    said = [part['text'] for message in asked[0] for part in message['content']]
    assert 'Step 2 failed: not done within 15 s.' in said[1]
    assert said[2] == '[]'
    assert 'no step found' in said[3]


@pytest.mark.parametrize('family', FAMILIES)
def test_reuse_gives_the_judgement_of_the_whole_question_and_computes_less(models, family):
    kept, fresh = LocalMonitor(models[family]), LocalMonitor(models[family], reuse=False)
    assert isinstance(kept, Monitor)
    reused = []
    for step, start, now in (
        (GRASP, 0, 1),
        (GRASP, 0, 2),
        (GRASP, 0, 2),
        (GRASP, 3, 4),
        (PLACE, 3, 4),
        (PLACE, 3, 5),
    ):
        ours = kept.verify(step, seen(start), seen(now))
        whole = fresh.verify(step, seen(start), seen(now))
        assert ours.done == whole.done
        assert ours.confidence == pytest.approx(whole.confidence, abs=1e-5)
        assert fresh.prefix.reused == 0
        assert kept.prefix.reused + kept.prefix.computed == fresh.prefix.computed
        reused.append(kept.prefix.reused)
    first, same_step, same_images, other_start, other_step, last = reused
    assert first == 0
    assert same_images == fresh.prefix.computed - 1 or same_images > same_step
    assert 0 < other_step < other_start < same_step
    assert last > other_start


def test_other_sizes_in_a_row_are_judged_as_if_alone(vlm):
    kept, fresh = LocalMonitor(vlm), LocalMonitor(vlm, reuse=False)
    for size in ((480, 640), (37, 91), (224, 224)):
        ours = kept.verify(GRASP, seen(0, size), seen(1, size))
        assert ours.confidence == pytest.approx(
            fresh.verify(GRASP, seen(0, size), seen(1, size)).confidence, abs=1e-5
        )


@pytest.mark.parametrize(
    'image',
    [
        np.zeros((8, 8), np.uint8),
        np.zeros((8, 8, 3), np.float32),
        np.zeros((8, 8, 4), np.uint8),
        np.zeros((0, 8, 3), np.uint8),
        np.zeros((3, 900, 3), np.uint8),
    ],
    ids=['grey', 'float', 'rgba', 'empty', 'stripe'],
)
def test_array_that_is_no_image_is_one_line_and_the_next_call_works(vlm, image):
    monitor, wrong = LocalMonitor(vlm), Observation(2, 1, images={'head': image})
    good = monitor.verify(GRASP, seen(0), seen(1))
    with pytest.raises(MessageError, match='image') as caught:
        monitor.verify(GRASP, seen(0), wrong)
    assert '\n' not in str(caught.value)
    assert monitor.verify(GRASP, seen(0), seen(1)).done == good.done


def test_missing_image_is_said_with_its_role(vlm):
    with pytest.raises(StaleDataError, match='no image of head'):
        LocalMonitor(vlm).verify(GRASP, seen(), Observation(2, 1))
    with pytest.raises(StaleDataError, match='no image of left_wrist'):
        LocalPlanner(vlm, ('left_wrist',)).propose(PlanRequest(SENTENCE, SCENE, seen()))


@pytest.mark.parametrize(
    ('change', 'match'),
    [({'roles': ()}, 'without cameras'), ({'threshold': 1.0}, 'between 0 and 1')],
)
def test_monitor_that_cannot_work_is_refused(vlm, change, match):
    with pytest.raises(ParameterError, match=match):
        LocalMonitor(vlm, **change)


def adapter(vlm, folder, base, seed=0):
    """Save a LoRA adapter with random weights, made on a copy of the model."""
    torch.manual_seed(seed)
    config = peft.LoraConfig(
        r=4, target_modules=['q_proj', 'v_proj'], init_lora_weights=False, lora_alpha=32
    )
    copy = load_vlm(VlmSettings(model=base, device='cpu'))
    made = peft.get_peft_model(copy.model, config)
    made.peft_config['default'].base_model_name_or_path = base
    made.save_pretrained(folder)
    return str(folder)


@pytest.mark.filterwarnings('ignore:.is_gradient_checkpointing:FutureWarning')  # asked by peft
def test_adapter_changes_the_answer_and_other_bases_are_refused(folders, vlm, tmp_path):
    base = str(folders / 'qwen2_5_vl')
    folder = adapter(vlm, tmp_path / 'lora', base)
    adapted = load_vlm(VlmSettings(model=base, adapter=folder, device='cpu'))
    assert adapted.name == 'qwen2_5_vl+lora'
    before, after = (LocalMonitor(v).verify(GRASP, seen(0), seen(1)) for v in (vlm, adapted))
    assert before.confidence != pytest.approx(after.confidence, abs=1e-4)
    other = str(folders / 'qwen3_vl')
    with pytest.raises(CheckpointError, match=r"was made for '.*qwen2_5_vl', the model is"):
        load_vlm(VlmSettings(model=other, adapter=folder, device='cpu'))
    config = tmp_path / 'lora' / 'adapter_config.json'
    forged = {**json.loads(config.read_text()), 'base_model_name_or_path': other}
    config.write_text(json.dumps(forged))
    with pytest.raises(CheckpointError, match='does not fit model') as caught:
        load_vlm(VlmSettings(model=other, adapter=folder, device='cpu'))
    assert '\n' not in str(caught.value)
    with pytest.raises(CheckpointError, match='it is a LoRA adapter: give it as adapter'):
        load_vlm(VlmSettings(model=folder))
    with pytest.raises(CheckpointError, match=r'adapter_config\.json is missing'):
        load_vlm(VlmSettings(model=base, adapter=str(tmp_path), device='cpu'))


def test_folder_that_is_no_model_is_one_line(folders, tmp_path):
    with pytest.raises(CheckpointError, match=r'config\.json is missing'):
        load_vlm(VlmSettings(model=str(tmp_path)))
    cut = tmp_path / 'cut'
    shutil.copytree(folders / 'qwen2_5_vl', cut)
    weights = cut / 'model.safetensors'
    weights.write_bytes(weights.read_bytes()[:1000])
    with pytest.raises(CheckpointError) as caught:
        load_vlm(VlmSettings(model=str(cut), device='cpu'))
    assert '\n' not in str(caught.value)
    (cut / 'tokenizer.json').unlink()
    with pytest.raises(CheckpointError, match='processor of'):
        load_vlm(VlmSettings(model=str(cut), device='cpu'))
    text = tmp_path / 'text'
    text.mkdir()
    (text / 'config.json').write_text('{"model_type": "llama", "hidden_size": 8}')  # no multiple
    with pytest.raises(CheckpointError) as caught:
        load_vlm(VlmSettings(model=str(text), device='cpu'))
    assert '\n' not in str(caught.value)


@pytest.mark.parametrize(
    ('change', 'match'),
    [
        ({'model': ''}, 'model is empty'),
        ({'device': 'tpu'}, 'allowed: auto, cpu'),
        ({'dtype': 'int8'}, 'allowed: auto, float32'),
        ({'image_pixels': 10}, 'image_pixels is 10'),
        ({'four_bit': True, 'device': 'cpu'}, 'four_bit needs a CUDA device, got cpu'),
    ],
)
def test_settings_that_cannot_work_are_one_line(folders, change, match):
    with pytest.raises(ParameterError, match=match):
        load_vlm(VlmSettings(**{'model': str(folders / 'qwen3_vl'), **change}))


def test_four_bit_without_its_package_says_how_to_install_it():
    with pytest.raises(ParameterError, match='pip install bitsandbytes'):
        check_four_bit('cuda')


def test_dtype_and_image_pixels_are_taken(folders):
    small = load_vlm(
        VlmSettings(
            model=str(folders / 'qwen3_vl'), device='cpu', dtype='bfloat16', image_pixels=80 * 80
        )
    )
    assert small.model.dtype == torch.bfloat16
    monitor = LocalMonitor(small)
    assert 0.5 <= monitor.verify(GRASP, seen(0), seen(1)).confidence <= 1
    few = monitor.prefix.reused + monitor.prefix.computed
    large = LocalMonitor(load_vlm(VlmSettings(model=str(folders / 'qwen3_vl'), device='cpu')))
    large.verify(GRASP, seen(0), seen(1))
    assert few < large.prefix.computed


def test_files_as_the_published_models_have_them_load_the_same(folders, vlm, tmp_path):
    """Qwen2.5-VL's config is flat and names another processor; Qwen3-VL's names a fast one."""
    old = tmp_path / 'old'
    shutil.copytree(folders / 'qwen2_5_vl', old)
    config = json.loads((old / 'config.json').read_text())
    text = config.pop('text_config')
    rope = text.pop('rope_parameters')
    text = {k: v for k, v in text.items() if k not in ('model_type', 'dtype', 'layer_types')}
    scaling = {'type': 'mrope', 'mrope_section': rope['mrope_section']}
    flat = {'rope_theta': rope['rope_theta'], 'rope_scaling': scaling}
    (old / 'config.json').write_text(json.dumps({**text, **config, **flat}))
    card = json.loads((old / 'preprocessor_config.json').read_text())
    size = card.pop('size')
    low, high = size['shortest_edge'], size['longest_edge']
    for name in ('Qwen2VLImageProcessor', 'Qwen2VLImageProcessorFast'):
        named = {**card, 'image_processor_type': name, 'min_pixels': low, 'max_pixels': high}
        (old / 'preprocessor_config.json').write_text(json.dumps(named))
        loaded = load_vlm(VlmSettings(model=str(old), device='cpu'))
        ours, theirs = (LocalMonitor(v).verify(GRASP, seen(0), seen(1)) for v in (loaded, vlm))
        assert ours.confidence == pytest.approx(theirs.confidence, abs=1e-5)


def test_planner_and_monitor_share_one_model_from_two_threads(vlm):
    planner, monitor = LocalPlanner(vlm, reasoning_characters=20, max_steps=2), LocalMonitor(vlm)
    request = PlanRequest(SENTENCE, SCENE, seen())
    alone = planner.propose(request), [monitor.verify(GRASP, seen(0), seen(k)) for k in (1, 2)]
    plans = []
    thread = threading.Thread(target=lambda: plans.append(planner.propose(request)))
    thread.start()
    together = [monitor.verify(GRASP, seen(0), seen(k)) for k in (1, 2)]
    thread.join(60)
    assert (plans[0], [j.done for j in together]) == (alone[0], [j.done for j in alone[1]])
    for ours, theirs in zip(together, alone[1], strict=True):
        assert ours.confidence == pytest.approx(theirs.confidence, abs=1e-5)


def task(**parameters):
    """Run a task on backends from parameters until it ends, a new image at each tick."""
    p = PlannerParameters(
        **{'planner': 'local', 'monitor': 'local', 'device': 'cpu', **parameters},
        reasoning_characters=20,
        max_steps=3,
    )
    backends = make_backends(p)
    made = backends.planner, backends.monitor
    bench = TaskBench(*made, executive_settings(p), session_settings(p))

    def look(tick):
        bench.image = seen(tick % 7).images['head']

    look(0)
    bench.start(SENTENCE, SCENE).run(40, look)
    backends.close()
    return bench


def test_task_whose_monitor_never_says_true_ends_with_its_limits(folders):
    bench = task(
        model=str(folders / 'qwen2_5_vl'),
        verify_threshold=0.999,
        subtask_timeout_s=0.6,
        attempts=1,
        replans=1,
    )
    ((success, reason),) = bench.ends
    assert not success
    assert 'not done within 0.6 s, attempt 1 of 1, after 1 replans' in reason
    assert {v.monitor for v in bench.verdicts} == {'local:qwen2_5_vl'}
    assert bench.plans[0].planner == 'local:qwen2_5_vl'
    assert bench.plans[0].reasoning
    assert bench.plans[-1].subtasks == ()
    assert bench.planner.vlm is bench.monitor.vlm


def test_task_whose_monitor_always_says_true_goes_through_every_step(folders):
    bench = task(model=str(folders / 'qwen3_vl'), verify_threshold=0.001)
    steps = len(bench.plans[0].subtasks)
    assert bench.ends == [(True, f'all {steps} steps verified')]
    assert sum(v.done for v in bench.verdicts) == steps


def test_benchmark_tells_times_rate_and_what_was_reused(folders, tmp_path):
    out = tmp_path / 'rows.json'
    words = [str(folders / 'qwen2_5_vl'), '--calls', '3', '--size', '56', '--device', 'cpu']
    words += ['--plan-tokens', '8']
    done = CliRunner().invoke(app, ['bench', 'vlm', *words, '--json', str(out)])
    assert done.exit_code == 0, done.output
    assert '5 Hz' in done.output
    same, whole, plan = json.loads(out.read_text())
    assert (same['calls'], whole['calls'], plan['calls']) == (3, 3, 1)
    assert same['tokens'] == whole['tokens'] > same['reused'] > whole['reused'] == 0
    assert all(row['rate_hz'] == pytest.approx(1 / row['wall_p50_s']) for row in (same, whole))
    assert bench_vlm.WANTED_HZ == 5.0
