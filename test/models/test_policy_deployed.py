"""A checkpoint as the policy of a robot: the port, the noise, the body's actions, the card."""

import numpy as np
import pytest

pytest.importorskip('torch')

import torch

from structrl_ros.errors import CheckpointError
from structrl_ros.errors import ParameterError
from structrl_ros.errors import PolicyError
from structrl_ros.models.checkpoint import load_policy
from structrl_ros.models.checkpoint import save_policy
from structrl_ros.models.policies.base import PolicyInput
from structrl_ros.models.policies.card import Card
from structrl_ros.models.policies.card import read_card
from structrl_ros.models.policies.deployed import DeployedPolicy
from structrl_ros.models.policies.flow import FlowConfig
from structrl_ros.models.policies.image_flow import ImageFlowConfig
from structrl_ros.models.policies.registry import make_policy
from structrl_ros.ports import Policy
from structrl_ros.types import Episode
from structrl_ros.types import MeasuredRate
from structrl_ros.types import Observation
from structrl_ros.types import Proprioception
from structrl_ros.types import Subtask

pytestmark = pytest.mark.torch

GRASP = Subtask('0', 'grasp the mug', 'grasp', ('mug',), 0)
ARM = Proprioception(1, (), np.zeros(0), np.zeros(0), np.arange(7.0), np.array([0.04, 0.04]))
IMAGE = np.arange(32 * 32 * 3, dtype=np.uint32).reshape(32, 32, 3).astype(np.uint8)
SEEN = Observation(1, 1, ARM, {'head': IMAGE})


def episode(seed, number=1):
    return Episode(1, number, False, 'tabletop', 'pack_lunch', 'pack the lunch', seed, 0)


def position(observation):
    return observation.proprioception.ee_pose[:3].astype(np.float32)


@pytest.fixture
def network(tmp_path):
    torch.manual_seed(0)
    config = FlowConfig(feature_names=('x', 'y', 'z'), chunk_length=4, hidden=16)
    save_policy(tmp_path / 'checkpoint', make_policy(config), '# Random')
    return load_policy(tmp_path / 'checkpoint')


def chunks(policy, seed, count=3, number=1):
    policy.reset(episode(seed, number))
    return [policy.act(SEEN, GRASP, 'pack the lunch') for _ in range(count)]


def test_a_checkpoint_acts_as_a_policy_of_the_body(network):
    policy = DeployedPolicy(network, name='flow', features=position, privileged=True)
    assert isinstance(policy, Policy)
    spec = policy.spec
    assert (spec.action_space, spec.action_dimension) == ('ee_delta_pose', 7)
    assert (spec.chunk_length, spec.privileged, spec.control_rate_hz) == (4, True, 10.0)
    chunk = chunks(policy, 1, count=1)[0]
    assert chunk.shape == (4, 7) and chunk.dtype == np.float32
    assert np.abs(chunk).max() <= 1 and not chunk[:, 3:5].any()
    noise = np.random.default_rng((0, 1, 0, 0)).standard_normal((1, 1, 4, 5), dtype=np.float32)
    inputs = PolicyInput(torch.tensor([[0.0, 1.0, 2.0]]))
    own = network.sample(inputs, torch.from_numpy(noise), explore=False).actions[0]
    np.testing.assert_array_equal(chunk, network.to_body(own.numpy()))


def test_noise_depends_on_seed_scene_and_chunk_and_on_nothing_else(network):
    policy = DeployedPolicy(network, name='flow', features=position)
    first, other = chunks(policy, 1), chunks(policy, 2)
    np.testing.assert_array_equal(chunks(policy, 1, number=7), first)
    again = DeployedPolicy(network, name='flow', features=position)
    np.testing.assert_array_equal(chunks(again, 2), other)
    seeded = chunks(DeployedPolicy(network, name='flow', features=position, seed=1), 1)
    different = [*first, *other, *seeded]
    assert len({chunk.tobytes() for chunk in different}) == len(different)


def test_images_are_taken_by_role_and_a_missing_one_is_told():
    config = ImageFlowConfig(
        feature_names=('x', 'y', 'z'),
        chunk_length=2,
        hidden=8,
        roles=('head',),
        image_size=(16, 16),
    )
    policy = DeployedPolicy(make_policy(config), name='image', features=position)
    assert policy.spec.roles == ('head',)
    policy.reset(episode(1))
    first = policy.act(SEEN, GRASP, '')
    policy.reset(episode(1))
    dark = Observation(1, 1, ARM, {'head': IMAGE * 0, 'left_wrist': IMAGE})
    assert not np.array_equal(policy.act(dark, GRASP, ''), first)
    with pytest.raises(PolicyError, match=r"no image of role 'head'; got: none"):
        policy.act(Observation(1, 1, ARM), GRASP, '')


def test_a_policy_of_images_alone_needs_no_reader_of_features():
    config = ImageFlowConfig(
        feature_names=(), chunk_length=2, hidden=8, roles=('head',), image_size=(16, 16)
    )
    policy = DeployedPolicy(make_policy(config), name='image')
    policy.reset(episode(1))
    assert policy.act(SEEN, GRASP, '').shape == (2, 7)


def test_what_cannot_be_deployed_is_refused(network):
    with pytest.raises(ParameterError, match='policy flow needs 3 features; got no reader'):
        DeployedPolicy(network, name='flow')
    with pytest.raises(ParameterError, match="prompt is 'poem'; allowed: instruction, subtask"):
        DeployedPolicy(network, name='flow', features=position, prompt='poem')


def test_bad_features_and_a_closed_policy_give_no_action(network):
    policy = DeployedPolicy(network, name='flow', features=lambda _: np.full(3, np.nan))
    with pytest.raises(PolicyError, match='features of the flow policy hold NaN'):
        policy.act(SEEN, GRASP, '')
    policy = DeployedPolicy(network, name='flow', features=lambda _: np.zeros(4))
    with pytest.raises(PolicyError, match=r'shape \(1, 4\); allowed: \(B, 3\)'):
        policy.act(SEEN, GRASP, '')
    policy.close()
    policy.close()
    with pytest.raises(PolicyError, match='policy flow is closed'):
        policy.act(SEEN, GRASP, '')


def test_the_head_of_a_card_goes_into_the_spec(network, tmp_path):
    card = (
        '---\ntrained_by: "PPO: 40 iterations"\nmeasured:\n- label: "after"\n  successes: 51\n'
        '  episodes: 64\n---\n\n# Flow\n'
    )
    save_policy(tmp_path / 'carded', network, card)
    told = read_card(tmp_path / 'carded')
    assert told == Card('PPO: 40 iterations', (MeasuredRate('after', 51, 64),))
    policy = DeployedPolicy(
        network,
        name='flow',
        features=position,
        trained_by=told.trained_by,
        measured=told.measured,
    )
    assert policy.spec.measured == (MeasuredRate('after', 51, 64),)
    assert read_card(tmp_path / 'checkpoint') == Card()


@pytest.mark.parametrize('head', ['measured: 3', 'measured: [{label: a}]', '- 3', 'a: ['])
def test_a_card_with_a_broken_head_is_told_in_one_line(network, tmp_path, head):
    save_policy(tmp_path / 'carded', network, f'---\n{head}\n---\n')
    with pytest.raises(CheckpointError, match='its head is no card') as told:
        read_card(tmp_path / 'carded')
    assert '\n' not in str(told.value)
