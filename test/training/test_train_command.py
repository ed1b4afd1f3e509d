"""`structrl train` and `structrl evaluate policy`, from the command line, on real worlds."""

import functools
import json
import multiprocessing
import re
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip('torch')

import torch
from killable_training import SMALL
from rollout_equality import assert_equal
from safetensors.torch import load_file
from typer.testing import CliRunner

from structrl_ros.cli.main import app
from structrl_ros.errors import CheckpointError
from structrl_ros.errors import ParameterError
from structrl_ros.errors import SimulationError
from structrl_ros.errors import TrainingError
from structrl_ros.models.checkpoint import load_policy
from structrl_ros.models.checkpoint import save_policy
from structrl_ros.models.policies.flow import FlowConfig
from structrl_ros.models.policies.registry import make_policy
from structrl_ros.sim.registry import make_body
from structrl_ros.sim.twin.world import TwinWorld
from structrl_ros.training.collector import Collector
from structrl_ros.training.metrics_log import SECONDS
from structrl_ros.training.metrics_log import read_metrics
from structrl_ros.training.pool_world import PoolWorld
from structrl_ros.training.run_directory import RunDirectory
from structrl_ros.training.run_directory import open_run
from structrl_ros.training.run_request import make_request
from structrl_ros.training.settings_document import CONFIGS
from structrl_ros.training.starts import practice_starts

pytestmark = pytest.mark.torch

QUICK = {'evaluation_episodes': '4', 'environments': '8', 'evaluate_every': '0'}


def words(trainer, **changes):
    """Return the assignments of a small run; sft knows no evaluate_every."""
    values = {**SMALL[trainer], **QUICK, **changes}
    if trainer == 'sft':
        del values['evaluate_every']
    return [f'{key}:={value}' for key, value in values.items()]


def command(*arguments):
    """Return what a command printed; errors of the tree go through, as in `main`."""
    done = CliRunner().invoke(app, [str(a) for a in arguments])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.output


def numbers(directory):
    told = read_metrics(directory / 'metrics.jsonl')
    return [{k: v for k, v in row.items() if not k.startswith(SECONDS)} for row in told]


@pytest.fixture(scope='module')
def start(tmp_path_factory) -> Path:
    """Return a run of sft on the twin."""
    directory = tmp_path_factory.mktemp('start') / 'sft'
    command('train', 'sft', '--body', 'twin', '--run-dir', directory, *words('sft'))
    return directory


@pytest.fixture(scope='module')
def able(tmp_path_factory) -> Path:
    """Return a run of sft that learned to grasp an apple, now and then."""
    directory = tmp_path_factory.mktemp('able') / 'sft'
    command(
        *('train', 'sft', '--body', 'twin', '--task', 'apple_in_bowl', '--run-dir', directory),
        *('updates:=300', 'demonstrations:=40', 'checkpoint_every:=300', 'policy.hidden:=48'),
        *('batch:=128', 'evaluation_episodes:=0'),
    )
    return directory


def test_sft_leaves_a_policy_that_can_be_deployed_and_says_how_it_was_made(start):
    policy = load_policy(start / 'checkpoint' / 'policy', action_space='ee_delta_pose')
    assert policy.config.feature_names == TwinWorld(1).spec.feature_names
    card = (start / 'checkpoint' / 'policy' / 'README.md').read_text()
    assert card.startswith('---\ntrained_by: "sft on twin: pack_lunch"\nmeasured:\n')
    assert '  episodes: 4\n' in card
    assert numbers(start)[-1]['evaluation/ode_success'] is not None
    assert json.loads((start / 'config.json').read_text())['settings']['tasks'] == ['pack_lunch']


@pytest.mark.parametrize('trainer', ['ppo', 'grpo'])
def test_practice_goes_on_longer_as_if_it_had_been_asked_for_at_once(trainer, start, tmp_path):
    train = ['train', trainer]
    given = [*train, '--body', 'twin', '--start', start, '--run-dir']
    command(*given, tmp_path / 'whole', *words(trainer))
    command(*given, tmp_path / 'long', *words(trainer, iterations=4))
    assert len(numbers(tmp_path / 'long')) == 4
    told = command(*train, '--resume', '--run-dir', tmp_path / 'long', 'iterations:=6')
    assert f'policy: {tmp_path / "long" / "checkpoint" / "policy"}' in told
    assert numbers(tmp_path / 'long') == numbers(tmp_path / 'whole')
    policies = [load_policy(tmp_path / n / 'checkpoint' / 'policy') for n in ('long', 'whole')]
    one, two = (policy.state_dict() for policy in policies)
    assert all(torch.equal(one[key], two[key]) for key in one)


def test_the_log_holds_every_number_that_is_promised(able, tmp_path):
    more = words('ppo', iterations=2, evaluate_every=1, **{'body.horizon_steps': 60})
    told = command(
        *('train', 'ppo', '--body', 'twin', '--task', 'apple_in_bowl', '--start', able),
        *('--profile', '--run-dir', tmp_path / 'run', *more),
    )
    first, *_, last = read_metrics(tmp_path / 'run' / 'metrics.jsonl')
    assert first['iteration'] == 0
    assert set(first) >= {'evaluation/ode_success', 'seconds/evaluation'}
    assert set(last) >= {
        *('episodes', 'rollout/success', 'rollout/return', 'rollout/steps', 'rollout/chunks'),
        *('rollout/idle_after_reward', 'terms/success', 'terms/grasp(apple_1)'),
        *('actor/kl', 'actor/clip_fraction', 'actor/rolled_back', 'actor/skipped'),
        *('critic/explained_variance', 'evaluation/ode_success'),
        *(f'seconds/{part}' for part in ('physics', 'network', 'rollout_other', 'update')),
    }
    assert last['episodes'] == 16.0
    assert re.search(r'physics\W+\d+\.\d+\W+\d+\.\d%', told)


def test_several_tasks_are_trained_jointly_and_told_apart(start, tmp_path):
    more = words('ppo', iterations=1)
    command(
        *('train', 'ppo', '--body', 'twin', '--start', start, '--run-dir', tmp_path / 'run'),
        *('--task', 'pack_lunch', '--task', 'apple_in_bowl', '--seed', '3', *more),
    )
    (row,) = numbers(tmp_path / 'run')
    assert {name for name in row if name.endswith('/success')} == {
        *('rollout/success', 'task/pack_lunch/success', 'task/apple_in_bowl/success'),
        *('terms/pack_lunch/success', 'terms/apple_in_bowl/success'),
    }
    config = json.loads((tmp_path / 'run' / 'config.json').read_text())
    assert config['settings']['seed'] == 3


@pytest.mark.parametrize(
    ('reward', 'task'),
    [('terminal', 'apple_in_bowl'), ('robometer', 'apple_in_bowl'), ('density_10', 'pack_lunch')],
)
def test_other_rewards_are_paid_and_their_scale_is_kept(reward, task, able, tmp_path):
    more = words('ppo', iterations=2, **{'body.horizon_steps': 60})
    command(
        *('train', 'ppo', '--body', 'twin', '--task', task, '--start', able),
        *('--reward', reward, '--run-dir', tmp_path / 'run', *more),
    )
    row, config = (
        numbers(tmp_path / 'run')[-1],
        json.loads((tmp_path / 'run/config.json').read_text()),
    )
    terms = {name for name in row if name.startswith('terms/')}
    if reward == 'terminal':
        assert terms == {'terms/success'}
    elif reward == 'robometer':
        assert terms == {'terms/progress', 'terms/success'}
        assert config['beta_r'] > 0.0
    else:
        assert len(terms) > 6
        assert config['body_options']['checkpoints']


def test_evaluate_tells_rates_with_intervals_and_writes_them(start, tmp_path):
    path = tmp_path / 'rates.json'
    told = command(
        *('evaluate', 'policy', start, '--body', 'twin', '--task', 'pack_lunch'),
        *('--episodes', '6', '--seed', '1', '--environments', '4', '--json', path),
        'body.horizon_steps:=20',
    )
    assert 'pack_lunch' in told
    document = json.loads(path.read_text())
    for name, explore in (('ode', False), ('sde', True)):
        assert document[name]['explore'] is explore
        success = document[name]['tasks']['pack_lunch']['success']
        assert success['n'] == 6
        assert success['interval'][0] <= success['value'] <= success['interval'][1]
        assert 'open(lunch_box_1)' in document[name]['tasks']['pack_lunch']['subtasks']


@pytest.mark.parametrize(
    ('arguments', 'error', 'line'),
    [
        (
            ['ppo', '--body', 'twin', 'clop:=1'],
            ParameterError,
            "unknown setting 'clop'; allowed: ",
        ),
        (['ppo', '--body', 'twin', 'clip:=2'], ParameterError, "clip: .* got '2'"),
        (['ppo', '--body', 'twin'], ParameterError, 'ppo needs a policy .* train sft'),
        (['ppo'], ParameterError, 'body: must be given'),
        (['ppo', '--body', 'ros'], ParameterError, "--task: must be given, body 'ros' has no"),
        (
            ['ppo', '--config', 'nothing'],
            ParameterError,
            "config 'nothing': no such file; shipped",
        ),
        (['ppo', '--resume'], ParameterError, '--resume needs --run-dir'),
        (['sft', '--body', 'twin', 'device:=sofa'], ParameterError, "device 'sofa': "),
        (['sft', '--body', 'twin', 'body.lag:=1'], ParameterError, "'lag'; allowed: .*slip"),
        (['sft', '--body', 'twin', 'policy.hiden:=1'], ParameterError, 'hiden'),
        (
            ['sft', '--body', 'sofa'],
            (ParameterError, SimulationError),
            "unknown body 'sofa'; known",
        ),
        (['ppo', '--body', 'twin', '--start', 'nowhere'], CheckpointError, 'no checkpoint at'),
    ],
)
def test_a_mistake_is_one_clear_line_and_leaves_nothing_behind(
    arguments, error, line, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=line) as caught:
        command('train', *arguments)
    assert '\n' not in str(caught.value)
    assert not any(tmp_path.iterdir())


def test_a_start_that_was_stopped_before_its_first_checkpoint_says_how_it_goes_on(tmp_path):
    (tmp_path / 'config.json').write_text('{"trainer": "sft"}')
    with pytest.raises(CheckpointError, match='a run without a policy yet; it goes on by'):
        command('train', 'ppo', '--body', 'twin', '--start', str(tmp_path))


def test_a_run_cannot_be_changed_while_it_goes_on(start):
    resume = ['train', 'sft', '--resume', '--run-dir', start]
    with pytest.raises(ParameterError, match='--body: a run goes on as it began'):
        command(*resume, '--body', 'twin')
    with pytest.raises(ParameterError, match='updates: a run goes on as it began'):
        command(*resume, 'updates:=99')
    with pytest.raises(ParameterError, match='is a run of sft, not of ppo'):
        command('train', 'ppo', '--resume', '--run-dir', start)


def test_a_start_of_another_body_is_refused(tmp_path):
    other = make_policy(FlowConfig(feature_names=('a', 'b'), chunk_length=2))
    save_policy(tmp_path / 'policy', other, '')
    with pytest.raises(CheckpointError, match='sees 2 features; twin has'):
        command(
            *('train', 'ppo', '--body', 'twin', '--start', tmp_path / 'policy'),
            *('--run-dir', tmp_path / 'run', *words('ppo')),
        )


def test_nan_in_the_policy_stops_in_one_line_and_keeps_the_checkpoint(start, tmp_path):
    broken = load_policy(start / 'checkpoint' / 'policy')
    with torch.no_grad():
        next(broken.parameters()).fill_(float('nan'))
    save_policy(tmp_path / 'policy', broken, '')
    run = tmp_path / 'run'
    more = words('ppo')
    with pytest.raises(TrainingError, match=r'iteration 0: .* NaN') as caught:
        command(
            *('train', 'ppo', '--body', 'twin', '--start', tmp_path / 'policy'),
            *('--run-dir', run, *more),
        )
    assert '\n' not in str(caught.value)
    assert not (run / 'checkpoint').exists()
    assert numbers(run) == []


def test_a_full_disk_stops_in_one_line_and_the_run_goes_on_to_the_same_numbers(
    start, tmp_path, monkeypatch
):
    more = words('ppo')
    given = ['train', 'ppo', '--body', 'twin', '--start', str(start), '--run-dir']
    command(*given, tmp_path / 'whole', *more)
    save, handler = RunDirectory.save, signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill_the_disk(run, policy, state, card):
        full = state.numbers['iteration'] == 4
        resource.setrlimit(resource.RLIMIT_FSIZE, (9_000 if full else before[0], before[1]))
        save(run, policy, state, card)

    monkeypatch.setattr(RunDirectory, 'save', fill_the_disk)
    try:
        with pytest.raises(
            CheckpointError, match=r'cannot save .*; what was there stays'
        ) as caught:
            command(*given, tmp_path / 'full', *more)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    monkeypatch.setattr(RunDirectory, 'save', save)
    assert '\n' not in str(caught.value)
    held = open_run(tmp_path / 'full')
    assert held.load_state().numbers['iteration'] == 3
    held.close()
    command('train', 'ppo', '--resume', '--run-dir', tmp_path / 'full')
    assert numbers(tmp_path / 'full') == numbers(tmp_path / 'whole')


class Doomed:
    """Makes pools on the twin of which the first `deaths` lose their worker at the first chunk."""

    def __init__(self, deaths):
        self.deaths = deaths
        self.made = 0

    def __call__(self):
        make = functools.partial(make_body, 'twin', horizon_steps=20)
        world = PoolWorld(make, lanes=3, workers=1)
        self.made += 1
        if self.made <= self.deaths:
            run_chunk = world.run_chunk

            def die(actions, active):
                multiprocessing.active_children()[0].kill()
                return run_chunk(actions, active)

            world.run_chunk = die
        return world


def collect(make_world):
    torch.manual_seed(0)
    names = TwinWorld(1).spec.feature_names
    policy = make_policy(FlowConfig(feature_names=names, chunk_length=5, hidden=8))
    collector = Collector(make_world, policy)
    try:
        starts = practice_starts(('pack_lunch',), 6, seed=0, iteration=0)
        return collector.collect(starts, seed=0, iteration=0, explore=True)
    finally:
        collector.close()


def test_an_iteration_whose_worlds_die_is_collected_again_to_the_same_episodes():
    doomed = Doomed(1)
    assert_equal(collect(doomed), collect(lambda: TwinWorld(4, horizon_steps=20)))
    assert doomed.made == 2


def test_worlds_that_die_twice_stop_the_run_in_one_line():
    with pytest.raises(TrainingError, match='worlds failed twice in iteration 0: ') as caught:
        collect(Doomed(2))
    assert '\n' not in str(caught.value)


@pytest.mark.ros
def test_practice_through_topics_ends_with_the_same_weights_as_here(start, tmp_path):
    words = ['-m', 'structrl_ros.nodes.sim_node', '--ros-args', '-p', 'body:=twin']
    node = subprocess.Popen([sys.executable, *words, '-p', 'lockstep:=true'])
    try:
        for body in ('ros', 'twin'):
            command(
                *('train', 'ppo', '--body', body, '--task', 'start_machine', '--start', start),
                *('--run-dir', tmp_path / body, 'iterations:=2', 'episodes:=2'),
                *('environments:=1', 'evaluate_every:=0', 'warmup_iterations:=1'),
            )
    finally:
        node.send_signal(signal.SIGINT)
        node.wait(30)
    assert numbers(tmp_path / 'ros') == numbers(tmp_path / 'twin')
    files = [tmp_path / body / 'checkpoint' / 'trainer.safetensors' for body in ('ros', 'twin')]
    one, two = (load_file(path) for path in files)
    assert [key for key in one if not torch.equal(one[key], two[key])] == []


@pytest.mark.parametrize('name', sorted(path.stem for path in CONFIGS.glob('*.yaml')))
def test_every_config_that_ships_is_accepted(name):
    trainer = next(t for t in ('sft', 'grpo', 'ppo') if t in name)
    request = make_request(trainer, config=name)
    assert request.settings.tasks
    if 'libero_long' in name:  # StructRL, Section 4.1
        settings = request.settings
        assert (settings.environments, settings.episodes) == (256, 768)
        assert settings.iterations == 100
        assert len(settings.tasks) == 10
        assert request.policy_options['chunk_length'] in (10, 16)


def test_help_is_instant_and_loads_no_torch():
    code = (
        'import sys\n'
        'from typer.testing import CliRunner\n'
        'from structrl_ros.cli.main import app\n'
        "assert CliRunner().invoke(app, ['train', 'ppo', '--help']).exit_code == 0\n"
        "print([m for m in ('torch', 'mujoco', 'ray', 'gymnasium') if m in sys.modules])"
    )
    told = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == '[]'


@pytest.mark.sim
@pytest.mark.slow
def test_libero_practises_for_an_iteration_and_its_checkpoint_is_evaluated(tmp_path):
    body = make_body('libero')
    names = body.feature_names
    body.close()
    torch.manual_seed(0)
    config = FlowConfig(feature_names=names, chunk_length=10, hidden=16, action_map='identity')
    save_policy(tmp_path / 'policy', make_policy(config), '')
    command(
        *('train', 'ppo', '--body', 'libero', '--task', 'long/0', '--workers', '2'),
        *('--start', tmp_path / 'policy', '--run-dir', tmp_path / 'run'),
        *('iterations:=1', 'episodes:=2', 'environments:=2', 'initial_states:=50'),
        *('evaluate_every:=0', 'warmup_iterations:=0', 'body.horizon_steps:=40'),
    )
    (row,) = numbers(tmp_path / 'run')
    assert row['rollout/chunks'] == 4.0
    path = tmp_path / 'rates.json'
    command(
        *('evaluate', 'policy', tmp_path / 'run', '--body', 'libero', '--task', 'long/0'),
        *('--episodes', '2', '--environments', '2', '--initial-states', '50', '--json', path),
        'body.horizon_steps:=40',
    )
    assert json.loads(path.read_text())['ode']['success']['n'] == 2


@pytest.mark.sim
@pytest.mark.slow
@pytest.mark.parametrize('name', ['ppo_10', 'ppo_16', 'grpo_10'])
def test_a_config_at_the_papers_scale_starts_where_it_is_made_small(name, tmp_path):
    trainer, rows = name.split('_')
    body = make_body('libero')
    names = body.feature_names
    body.close()
    config = FlowConfig(
        feature_names=names, chunk_length=int(rows), hidden=16, action_map='identity'
    )
    save_policy(tmp_path / 'policy', make_policy(config), '')
    small = ['iterations:=1', 'episodes:=2', 'environments:=2', 'inference_batch:=2']
    small += ['device:=cpu', 'evaluate_every:=0', 'body.horizon_steps:=32']
    small += ['group_size:=2'] if trainer == 'grpo' else ['warmup_iterations:=0']
    command(
        *('train', trainer, '--config', f'libero_long_{name}', '--task', 'long/0'),
        *('--workers', '1', '--start', tmp_path / 'policy', '--run-dir', tmp_path / 'run', *small),
    )
    (row,) = numbers(tmp_path / 'run')
    assert row['rollout/chunks'] == -(-32 // int(rows))


@pytest.mark.slow
@pytest.mark.parametrize('trainer', ['ppo', 'grpo'])
def test_pi0_practises_on_pictures_and_the_arms_own_state(trainer, tmp_path):
    pytest.importorskip('transformers')
    from structrl_ros.models.policies.pi0 import Pi0Config
    from structrl_ros.models.policies.tiny_pi0 import save_tiny_pi0

    save_tiny_pi0(tmp_path / 'base')
    config = Pi0Config(
        base=str(tmp_path / 'base'),
        roles=('head',),
        feature_names=('tcp_x', 'tcp_y', 'tcp_z', 'yaw', 'opening'),
        chunk_length=5,
        lora_rank=4,
        action_map='tabletop',
        denoising_steps=2,
    )
    save_policy(tmp_path / 'policy', make_policy(config), '')
    own = {
        'ppo': ['critic:=shared', 'warmup_iterations:=0'],
        'grpo': ['group_size:=4', 'reference_kl:=0.01'],
    }
    command(
        *('train', trainer, '--body', 'twin', '--start', tmp_path / 'policy'),
        *('--reward', 'density_52', '--run-dir', tmp_path / 'run', *own[trainer]),
        *('iterations:=2', 'episodes:=4', 'environments:=4', 'inference_batch:=4'),
        *('evaluate_every:=0', 'minibatch:=8', 'body.image_size:=32', 'body.horizon_steps:=20'),
    )
    assert numbers(tmp_path / 'run')[-1]['actor/skipped'] == 0.0
    trained = load_policy(tmp_path / 'run' / 'checkpoint' / 'policy')
    start = load_policy(tmp_path / 'policy')
    moved = [
        name
        for name, tensor in start.checkpoint_tensors().items()
        if not torch.equal(tensor, trained.checkpoint_tensors()[name])
    ]
    assert moved
    assert all('lora' in name for name in moved)
