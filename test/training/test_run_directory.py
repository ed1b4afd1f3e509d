"""A run directory is whole or old, whatever happens to the disk or the process."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
import torch

from structrl_ros.errors import CheckpointError
from structrl_ros.errors import ParameterError
from structrl_ros.errors import TrainingError
from structrl_ros.models.policies.flow import FlowConfig
from structrl_ros.models.policies.registry import make_policy
from structrl_ros.training.metrics_log import MetricsLog
from structrl_ros.training.metrics_log import read_metrics
from structrl_ros.training.run_directory import create_run
from structrl_ros.training.run_directory import open_run
from structrl_ros.training.trainer_state import TrainerState

pytestmark = pytest.mark.torch

NAMES = ('x', 'y')


def small_policy(hidden: int = 8):
    return make_policy(FlowConfig(feature_names=NAMES, chunk_length=2, hidden=hidden))


def a_state(iteration: int) -> TrainerState:
    return TrainerState({'t': torch.full((3,), float(iteration))}, {'iteration': iteration})


def test_a_run_comes_back_as_it_was_saved(tmp_path: Path) -> None:
    run = create_run(tmp_path / 'run', {'kind': 'ppo', 'settings': {'seed': 3}})
    assert not run.has_checkpoint
    policy = small_policy()
    run.save(policy, a_state(4), '# card')
    run.close()
    again = open_run(tmp_path / 'run')
    assert again.config == {'kind': 'ppo', 'settings': {'seed': 3}}
    assert again.has_checkpoint
    assert again.load_state().numbers == {'iteration': 4}
    loaded = again.load_policy().state_dict()
    assert all(torch.equal(loaded[key], value) for key, value in policy.state_dict().items())
    assert '# card' in (again.policy_folder / 'README.md').read_text()


def test_floats_and_generators_come_back_to_the_last_bit(tmp_path: Path) -> None:
    run = create_run(tmp_path, {})
    policy = small_policy()
    random = np.random.default_rng(5)
    random.standard_normal(3)
    state = TrainerState()
    state.numbers['rate'] = 0.1 + 0.2
    state.put_generators(random)
    run.save(policy, state, '')
    expected = random.standard_normal(4), torch.randn(4)
    other = np.random.default_rng(0)
    loaded = run.load_state()
    loaded.get_generators(other)
    assert loaded.numbers['rate'] == 0.1 + 0.2
    assert np.array_equal(other.standard_normal(4), expected[0])
    assert torch.equal(torch.randn(4), expected[1])


def test_a_directory_that_is_not_empty_is_refused_with_the_way_on(tmp_path: Path) -> None:
    (tmp_path / 'something').touch()
    with pytest.raises(ParameterError, match='is not empty; --resume goes on'):
        create_run(tmp_path, {})


def test_two_processes_cannot_hold_one_run(tmp_path: Path) -> None:
    run = create_run(tmp_path, {})
    with pytest.raises(ParameterError, match='in use by another process'):
        open_run(tmp_path)
    run.close()
    open_run(tmp_path).close()


@pytest.mark.parametrize('text', ['', '{"kind": ', '[]'])
def test_a_broken_config_is_one_clear_line(tmp_path: Path, text: str) -> None:
    (tmp_path / 'config.json').write_text(text)
    with pytest.raises(CheckpointError, match=r'config\.json') as caught:
        open_run(tmp_path)
    assert '\n' not in str(caught.value)


def test_a_folder_without_config_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match='is no run directory'):
        open_run(tmp_path)


def test_a_save_that_stops_half_way_leaves_the_old_checkpoint(tmp_path: Path) -> None:
    run = create_run(tmp_path, {})
    run.save(small_policy(), a_state(1), 'one')

    class Broken(TrainerState):
        @property
        def tensors(self):  # the policy is written by the time this is read
            raise KeyboardInterrupt

    broken = Broken.__new__(Broken)
    with pytest.raises(KeyboardInterrupt):
        run.save(small_policy(), broken, 'two')
    assert run.load_state().numbers == {'iteration': 1}
    assert 'one' in (run.policy_folder / 'README.md').read_text()


def test_a_full_disk_leaves_the_old_checkpoint_and_says_so(tmp_path: Path) -> None:
    script = f"""
        import resource, signal
        from pathlib import Path
        import torch
        from structrl_ros.errors import CheckpointError
        from structrl_ros.models.policies.flow import FlowConfig
        from structrl_ros.models.policies.registry import make_policy
        from structrl_ros.training.run_directory import create_run
        from structrl_ros.training.trainer_state import TrainerState

        run = create_run(Path({str(tmp_path / 'run')!r}), {{}})
        policy = make_policy(FlowConfig(feature_names=('x',), chunk_length=2, hidden=8))
        run.save(policy, TrainerState({{'t': torch.ones(3)}}, {{'iteration': 1}}), '')
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
        large = TrainerState({{'t': torch.ones(50_000)}}, {{'iteration': 2}})
        try:
            run.save(policy, large, '')
        except CheckpointError as error:
            print(error)
        print(run.load_state().numbers, len(run.load_policy().state_dict()) > 0)
        print(sorted(p.name for p in run.path.iterdir()))
    """
    told = subprocess.run(
        [sys.executable, '-c', textwrap.dedent(script)], capture_output=True, text=True, check=True
    )
    line, numbers, files = told.stdout.splitlines()
    assert 'cannot save' in line
    assert 'what was there stays' in line
    assert numbers == "{'iteration': 1} True"
    assert files == "['checkpoint', 'config.json']"


@pytest.mark.parametrize('name', ['trainer.safetensors', 'policy/policy.safetensors'])
def test_a_cut_file_of_a_checkpoint_is_one_clear_line(tmp_path: Path, name: str) -> None:
    run = create_run(tmp_path, {})
    run.save(small_policy(), a_state(1), '')
    path = tmp_path / 'checkpoint' / name
    path.write_bytes(path.read_bytes()[:-7])
    with pytest.raises(CheckpointError, match='is cut or no safetensors file') as caught:
        run.load_state()
        run.load_policy()
    assert '\n' not in str(caught.value)


def test_weights_of_another_width_are_refused_by_name(tmp_path: Path) -> None:
    state = TrainerState()
    state.put_module('critic', torch.nn.Linear(3, 4))
    with pytest.raises(CheckpointError, match=r"critic: 'bias' .* another architecture"):
        state.get_module('critic', torch.nn.Linear(3, 5))
    with pytest.raises(CheckpointError, match='does not fit the parameters here'):
        state.put_optimiser('optimiser', torch.optim.Adam(torch.nn.Linear(2, 2).parameters()))
        state.get_optimiser('optimiser', torch.optim.Adam([torch.nn.Parameter(torch.ones(1))]))


def test_the_log_forgets_what_came_after_the_checkpoint(tmp_path: Path) -> None:
    log = MetricsLog(tmp_path, 'iteration')
    for number in (1, 2, 3):
        log.write(number, {'loss': number / 3, 'none': None})
    log.close()
    path = tmp_path / 'metrics.jsonl'
    with path.open('a') as file:
        file.write('{"iteration": 4, "lo')  # a kill in the middle of a line
    assert [line['iteration'] for line in read_metrics(path)] == [1, 2, 3]
    log = MetricsLog(tmp_path, 'iteration', after=2)
    log.write(3, {'loss': 0.5})
    log.close()
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert lines == [
        {'iteration': 1, 'loss': 1 / 3, 'none': None},
        {'iteration': 2, 'loss': 2 / 3, 'none': None},
        {'iteration': 3, 'loss': 0.5},
    ]


def test_tensorboard_reads_the_same_numbers(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    log = MetricsLog(tmp_path, 'iteration')
    log.write(1, {'rollout/return': 0.25})
    log.write(2, {'rollout/return': 0.75})
    log.close()
    log = MetricsLog(tmp_path, 'iteration', after=1)
    log.write(2, {'rollout/return': 0.5})
    log.close()
    events = EventAccumulator(str(tmp_path / 'tensorboard'))
    events.Reload()
    scalars = [(event.step, event.value) for event in events.Scalars('rollout/return')]
    assert scalars == [(1, 0.25), (2, 0.5)]


def test_a_log_that_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    log = MetricsLog(tmp_path, 'iteration')
    (tmp_path / 'metrics.jsonl').unlink()
    (tmp_path / 'metrics.jsonl').mkdir()
    with pytest.raises(TrainingError, match=r'metrics\.jsonl: is a directory'):
        log.write(1, {'loss': 1.0})
    log.close()
