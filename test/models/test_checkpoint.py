"""Checkpoints: the same bits back, one clear line for what is wrong, and whole or not at all."""

import json
import os
import random
import resource
import signal
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip('torch')

import torch

from structrl_ros.errors import CheckpointError
from structrl_ros.models.checkpoint import load_policy
from structrl_ros.models.checkpoint import load_tensors
from structrl_ros.models.checkpoint import read_config
from structrl_ros.models.checkpoint import save_policy
from structrl_ros.models.checkpoint import save_tensors
from structrl_ros.models.policies.base import PolicyInput
from structrl_ros.models.policies.flow import FlowConfig
from structrl_ros.models.policies.flow_sde import Exploration
from structrl_ros.models.policies.gaussian import GaussianConfig
from structrl_ros.models.policies.registry import make_policy

pytestmark = pytest.mark.torch

CONFIG = FlowConfig(feature_names=('x', 'y', 'z'), chunk_length=2, hidden=8)
FILES = ['README.md', 'config.json', 'policy.safetensors']


def versioned(number):
    """Return a policy whose statistics say which version it is."""
    policy = make_policy(CONFIG)
    policy.normaliser.mean.fill_(number)
    return policy


def version_of(folder):
    """Return the version, after a check that all three files are of it."""
    number = int(load_policy(folder).normaliser.mean[0])
    place = folder if folder.is_dir() else folder.with_name(f'.{folder.name}.old')
    assert (place / 'README.md').read_text() == f'version {number}\n'
    return number


def in_child(work):
    """Run work in a forked child and return how it ended; it must not come back."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:
            os._exit(3)
        os._exit(0)
    return child


def ended(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / 'run' / 'checkpoint'
    save_policy(place, versioned(1), 'version 1')
    return place


def test_a_loaded_policy_acts_with_the_same_bits(tmp_path):
    for config in (CONFIG, GaussianConfig(feature_names=('x', 'y'), chunk_length=3)):
        policy = make_policy(config)
        features = torch.randn(50, config.feature_dimension) * 3 + 1
        policy.normaliser.fit(features)
        save_policy(tmp_path / 'checkpoint', policy, '# Trained on nothing')
        loaded = load_policy(str(tmp_path / 'checkpoint'))
        noise = torch.randn(50, *policy.noise_shape)
        before = policy.sample(PolicyInput(features), noise, explore=True)
        after = loaded.sample(PolicyInput(features), noise, explore=True)
        assert torch.equal(before.chain, after.chain)
        assert torch.equal(before.log_prob, after.log_prob)
        assert loaded.config == config
        assert not loaded.training


def test_a_checkpoint_is_three_files_and_nothing_stays_beside_it(folder):
    assert sorted(os.listdir(folder)) == FILES
    save_policy(folder, versioned(2), 'version 2')
    assert version_of(folder) == 2
    assert os.listdir(folder.parent) == ['checkpoint']
    document = json.loads((folder / 'config.json').read_text())
    assert document['action_space'] == 'ee_delta_pose'
    assert document['policy']['feature_names'] == ['x', 'y', 'z']


@pytest.mark.parametrize(
    ('allowed', 'words'),
    [
        ({'architecture': 'gaussian'}, "architecture is 'flow'; allowed: 'gaussian'"),
        ({'action_space': 'joints'}, "action space is 'ee_delta_pose'; allowed: 'joints'"),
        ({'feature_names': ('x', 'q', 'z')}, "3 entries, .* entry 1 is 'y', allowed: 'q'"),
        ({'feature_names': ('x', 'y')}, 'features differ: 3 entries, allowed: 2; their number'),
    ],
)
def test_a_checkpoint_of_something_else_says_what_was_got_and_what_is_allowed(
    folder, allowed, words
):
    with pytest.raises(CheckpointError, match=words) as told:
        load_policy(folder, **allowed)
    assert '\n' not in str(told.value)


def test_fields_that_make_no_tensors_may_change_at_loading(folder):
    quiet = load_policy(folder, changes={'exploration': Exploration(sigma=0.02)})
    assert quiet.config.exploration.sigma == 0.02
    assert torch.equal(quiet.head.out.weight, load_policy(folder).head.out.weight)
    with pytest.raises(CheckpointError, match='has shape'):
        load_policy(folder, changes={'hidden': 9})
    with pytest.raises(CheckpointError, match='hiden'):
        load_policy(folder, changes={'hiden': 9})


@pytest.mark.parametrize('name', ['config.json', 'policy.safetensors'])
def test_a_missing_file_is_named(folder, name):
    (folder / name).unlink()
    with pytest.raises(CheckpointError, match=f'{name} is missing'):
        load_policy(folder)


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(CheckpointError, match=r'no checkpoint at .*nowhere'):
        load_policy(tmp_path / 'nowhere')


@pytest.mark.parametrize('part', [0.0, 0.001, 0.3, 0.999])
def test_a_cut_file_of_weights_is_told(folder, part):
    path = folder / 'policy.safetensors'
    data = path.read_bytes()
    path.write_bytes(data[: int(part * len(data))])
    with pytest.raises(CheckpointError, match='cut or no safetensors file') as told:
        load_policy(folder)
    assert '\n' not in str(told.value)


@pytest.mark.parametrize(
    ('text', 'words'),
    [
        ('{"format_version": 1', 'cannot be read'),
        ('[]', r'format_version is \[\]; allowed: 1'),
        ('{"format_version": 2}', 'format_version is 2; allowed: 1'),
        ('{"format_version": 1}', 'policy'),
        ('{"format_version": 1, "policy": {"architecture": "rnn"}}', "architecture 'rnn'; known"),
        ('{"format_version": 1, "policy": {"architecture": "flow"}}', 'feature_names'),
    ],
)
def test_a_config_that_is_none_is_told(folder, text, words):
    (folder / 'config.json').write_text(text)
    with pytest.raises(CheckpointError, match=words) as told:
        read_config(folder)
    assert '\n' not in str(told.value)


def test_weights_that_do_not_fit_the_config_are_told(folder):
    path = folder / 'config.json'
    document = json.loads(path.read_text())
    document['policy']['hidden'] = 9
    path.write_text(json.dumps(document))
    with pytest.raises(CheckpointError, match=r'has shape \(8.*; allowed: \(9.*\(flow\)'):
        load_policy(folder)
    document['policy'] = {'architecture': 'gaussian', 'feature_names': ['x'], 'chunk_length': 2}
    path.write_text(json.dumps(document))
    with pytest.raises(CheckpointError, match='tensors do not match the gaussian architecture'):
        load_policy(folder)


def test_killed_at_any_of_its_calls_a_save_leaves_a_whole_checkpoint(folder):
    """The child kills itself at the n-th file operation that Python audits, for every n."""
    survived = set()
    for last in range(1, 200):

        def work(last=last):
            count = iter(range(last))
            acts = ('open', 'os.rename', 'os.mkdir', 'os.rmdir', 'os.remove', 'shutil.rmtree')

            def hook(event, _):
                if event in acts and next(count, None) is None:
                    os.kill(os.getpid(), signal.SIGKILL)

            policy = versioned(last + 1)
            sys.addaudithook(hook)
            save_policy(folder, policy, f'version {last + 1}')

        before = version_of(folder)
        code = ended(in_child(work))
        after = version_of(folder)
        assert after in (before, last + 1)
        survived.add(after == last + 1)
        if code == 0:
            break
        assert code == -signal.SIGKILL
    assert code == 0 and last > 8
    assert survived == {False, True}
    assert os.listdir(folder.parent) == ['checkpoint']


def test_killed_at_random_times_a_save_leaves_a_whole_checkpoint(folder):
    moments = random.Random(0)
    for _ in range(8):

        def work():
            number = version_of(folder)
            while True:
                number += 1
                save_policy(folder, versioned(number), f'version {number}')

        before = version_of(folder)
        child = in_child(work)
        time.sleep(moments.uniform(0.02, 0.12))
        os.kill(child, signal.SIGKILL)
        assert ended(child) == -signal.SIGKILL
        assert version_of(folder) >= before
    assert version_of(folder) > 1


def test_a_full_disk_leaves_the_old_checkpoint_whole(folder, tmp_path):
    told = tmp_path / 'told'

    def work():
        policy = versioned(2)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
        for save in (
            lambda: save_policy(folder, policy, 'version 2'),
            lambda: save_tensors(folder.parent / 'state.safetensors', policy.state_dict()),
        ):
            try:
                save()
            except CheckpointError as error:
                with told.open('a') as file:
                    file.write(f'{error}\n')

    save_tensors(folder.parent / 'state.safetensors', {'a': torch.ones(1)})
    assert ended(in_child(work)) == 0
    lines = told.read_text().splitlines()
    assert len(lines) == 2
    assert all('cannot save' in line and 'what was there stays' in line for line in lines)
    assert version_of(folder) == 1
    assert load_tensors(folder.parent / 'state.safetensors')[0]['a'] == 1
    assert sorted(os.listdir(folder.parent)) == ['checkpoint', 'state.safetensors']


def test_a_place_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / 'file').write_text('')
    for save in (
        lambda: save_policy(tmp_path / 'file' / 'checkpoint', versioned(1), ''),
        lambda: save_tensors(tmp_path / 'file' / 'state', {}),
    ):
        with pytest.raises(CheckpointError, match=r'cannot save .*; what was there stays'):
            save()


def test_tensors_and_details_come_back_as_they_were(tmp_path):
    path = tmp_path / 'deep' / 'state.safetensors'
    shared = torch.randn(3)
    tensors = {
        'weights': torch.randn(2, 3, dtype=torch.float64),
        'step': torch.tensor(7),
        'state': torch.get_rng_state(),
        'first': shared,
        'second': shared,
        'none': torch.zeros(0),
        'turned': torch.arange(6).view(2, 3).T,
    }
    details = {'generator': 2**120 + 1, 'loss': 0.1 + 0.2, 'names': ['é', 'b']}
    save_tensors(path, tensors, details)
    loaded, told = load_tensors(path)
    assert told == details
    assert set(loaded) == set(tensors)
    assert all(torch.equal(loaded[name], tensors[name]) for name in tensors)
    assert Path(path).parent.exists() and os.listdir(path.parent) == ['state.safetensors']
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(CheckpointError, match='cut or no safetensors file'):
        load_tensors(path)
    with pytest.raises(CheckpointError, match='is missing'):
        load_tensors(tmp_path / 'nothing')
