"""What every trainable policy must keep: bits, likelihood, gradients, statistics, refusals."""

import numpy as np
import pytest

pytest.importorskip('torch')

import torch

from structrl_ros.errors import ParameterError
from structrl_ros.errors import PolicyError
from structrl_ros.models.policies.base import PolicyInput
from structrl_ros.models.policies.diffusion import DiffusionConfig
from structrl_ros.models.policies.flow import FlowConfig
from structrl_ros.models.policies.flow_sde import Exploration
from structrl_ros.models.policies.gaussian import GaussianConfig
from structrl_ros.models.policies.image_flow import ImageFlowConfig
from structrl_ros.models.policies.registry import config_from_json
from structrl_ros.models.policies.registry import config_to_json
from structrl_ros.models.policies.registry import make_policy
from structrl_ros.models.policies.registry import reconfigure

pytestmark = pytest.mark.torch

NAMES = ('x', 'y', 'z')
SIZE = {'feature_names': NAMES, 'chunk_length': 3, 'hidden': 16}
CORRELATED = Exploration(steps=(1, -1), correlation=0.5, drift_correction=True)
CONFIGS = {
    'flow': FlowConfig(**SIZE),
    'flow_correlated': FlowConfig(**SIZE, exploration=CORRELATED),
    'flow_identity': FlowConfig(**SIZE, action_map='identity', denoising_steps=2),
    'gaussian': GaussianConfig(**SIZE),
    'gaussian_learned': GaussianConfig(**SIZE, learned_sigma=True, correlation=0.4),
    'image_flow': ImageFlowConfig(
        **SIZE, roles=('head', 'left_wrist'), image_size=(24, 32), image_features=8
    ),
    'diffusion': DiffusionConfig(
        **SIZE, roles=('head', 'left_wrist'), image_size=(24, 32), channels=(8, 16)
    ),
}
BATCH = 6


def made(name):
    torch.manual_seed(0)
    return make_policy(CONFIGS[name]).eval()


def seen(config, batch=BATCH, seed=0):
    generator = torch.Generator().manual_seed(seed)
    features = torch.randn(batch, len(NAMES), generator=generator)
    shape = (batch, 30, 40, 3)
    images = {
        role: torch.randint(0, 256, shape, generator=generator, dtype=torch.uint8)
        for role in config.roles
    }
    return PolicyInput(features, images, ('grasp the apple',) * batch)


def noise_of(policy, batch=BATCH, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(batch, *policy.noise_shape, generator=generator)


@pytest.fixture(params=CONFIGS)
def policy(request):
    return made(request.param)


def test_a_sample_has_the_shapes_of_the_port(policy):
    config, noise = policy.config, noise_of(policy)
    sample = policy.sample(seen(config), noise, explore=True)
    element = (BATCH, 3, config.action_dimension)
    assert sample.actions.shape == sample.log_prob.shape == element
    assert torch.equal(sample.chain[:, -1], sample.actions)
    assert torch.equal(sample.chain[:, 0], noise[:, 0])
    assert not sample.actions.requires_grad
    assert policy.encode(seen(config)).shape == (BATCH, 16)


def test_log_prob_of_the_chain_is_that_of_the_sample(policy):
    inputs = seen(policy.config)
    sample = policy.sample(inputs, noise_of(policy), explore=True)
    again = policy.log_prob(inputs, sample.chain)
    torch.testing.assert_close(again, sample.log_prob, atol=1e-6, rtol=0)
    assert sample.log_prob.abs().min() > 0


def test_other_rows_and_the_row_s_own_place_do_not_change_its_bits(policy):
    batch = 16
    inputs, noise = seen(policy.config, batch), noise_of(policy, batch)
    others, other_noise = seen(policy.config, batch, seed=7), noise_of(policy, batch, seed=7)
    keep = torch.tensor([0, 5, 15])
    features, images = others.features.clone(), {r: i.clone() for r, i in others.images.items()}
    features[keep] = inputs.features[keep]
    for role, image in images.items():
        image[keep] = inputs.images[role][keep]
    other_noise[keep] = noise[keep]
    first = policy.sample(inputs, noise, explore=True)
    second = policy.sample(
        PolicyInput(features, images, inputs.instructions), other_noise, explore=True
    )
    assert torch.equal(first.chain[keep], second.chain[keep])
    assert torch.equal(first.log_prob[keep], second.log_prob[keep])
    assert not torch.equal(first.chain, second.chain)


def test_without_exploration_only_the_first_noise_counts(policy):
    inputs, noise = seen(policy.config), noise_of(policy)
    other = noise_of(policy, seed=3)
    other[:, 0] = noise[:, 0]
    first = policy.sample(inputs, noise, explore=False)
    assert torch.equal(first.actions, policy.sample(inputs, other, explore=False).actions)
    alone = policy.sample(inputs, noise[:, :1], explore=False)
    assert torch.equal(first.chain, alone.chain)
    assert not first.log_prob.any()
    explored = policy.sample(inputs, noise, explore=True).actions
    assert 0.01 < float((explored - first.actions).std()) < 1.0


def test_a_step_up_the_gradient_makes_a_chain_likelier(policy):
    inputs = seen(policy.config)
    chain = policy.sample(inputs, noise_of(policy), explore=True).chain
    optimiser = torch.optim.SGD([p for p in policy.parameters() if p.requires_grad], 1e-7)
    before = policy.log_prob(inputs, chain).sum()
    (-before).backward()
    optimiser.step()
    assert policy.log_prob(inputs, chain).sum() > before


def test_imitation_lowers_its_loss_and_masks_rows_by_valid(policy):
    inputs = seen(policy.config)
    shape = (BATCH, 3, policy.config.action_dimension)
    actions = torch.full(shape, 0.5)

    def loss(**valid):
        return policy.imitation_loss(inputs, actions, torch.Generator().manual_seed(0), **valid)

    before = loss()
    assert before.shape == (BATCH,)
    valid = torch.tensor([[True, False, False]]).expand(BATCH, 3)
    actions[:, 1:] = 0.9
    masked = loss(valid=valid)
    assert not torch.equal(masked, loss())
    assert not loss(valid=torch.zeros(BATCH, 3, dtype=torch.bool)).any()
    actions[:] = 0.5
    optimiser = torch.optim.Adam([p for p in policy.parameters() if p.requires_grad], 3e-3)
    for _ in range(30):
        optimiser.zero_grad()
        loss().mean().backward()
        optimiser.step()
    assert loss().mean() < 0.6 * before.mean()


def test_features_are_seen_through_the_fitted_statistics(policy):
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(500, 3, generator=generator) * 5 + 2
    features[:, 1] = 0.25
    policy.normaliser.fit(features)
    normal = policy.normaliser(features)
    torch.testing.assert_close(normal.mean(dim=0), torch.zeros(3), atol=1e-5, rtol=0)
    torch.testing.assert_close(
        normal.std(dim=0, correction=0), torch.tensor([1.0, 0.0, 1.0]), atol=1e-5, rtol=0
    )
    assert policy.normaliser(torch.tensor([[1e9, 1e9, -1e9]])).abs().max() == 10
    assert {'normaliser.mean', 'normaliser.deviation'} <= set(policy.checkpoint_tensors())


def test_an_action_goes_to_the_body_and_back(policy):
    actions = np.full((2, 3, policy.config.action_dimension), 0.3, np.float32)
    body = policy.to_body(actions)
    assert body.shape == (2, 3, 7)
    np.testing.assert_allclose(policy.from_body(body), actions, atol=1e-6)


def test_a_config_survives_json(policy):
    assert config_from_json(config_to_json(policy.config)) == policy.config


def test_nan_in_features_names_the_row(policy):
    inputs = seen(policy.config)
    inputs.features[4, 1] = torch.nan
    with pytest.raises(
        PolicyError, match=r'features .* NaN or infinity in 1 of 6 rows, first r'
    ) as e:
        policy.sample(inputs, noise_of(policy), explore=True)
    assert e.value.row == 4
    assert '\n' not in str(e.value)


def test_nan_in_weights_is_no_action_and_no_likelihood(policy):
    inputs, noise = seen(policy.config), noise_of(policy)
    chain = policy.sample(inputs, noise, explore=True).chain
    weights = next(p for p in policy.parameters() if p.ndim == 2)
    with torch.no_grad():
        weights.fill_(torch.nan)
    with pytest.raises(PolicyError, match=r'actions .* NaN or infinity in 6 of 6 rows'):
        policy.sample(inputs, noise, explore=True)
    with pytest.raises(PolicyError, match=r'log-probabilities .* NaN'):
        policy.log_prob(inputs, chain)


def test_wrong_shapes_are_told_with_the_right_ones(policy):
    inputs, noise = seen(policy.config), noise_of(policy)
    with pytest.raises(PolicyError, match=r'features have shape \(6, 2\); allowed: \(B, 3\)'):
        policy.sample(PolicyInput(inputs.features[:, :2], inputs.images), noise, explore=True)
    with pytest.raises(PolicyError, match=r'noise has shape \(6, 1, 2, .*\); allowed: \(6, '):
        policy.sample(inputs, noise[:, :1, :2], explore=False)
    with pytest.raises(PolicyError, match=r'actions .* \(6, 2, 1\); allowed: \(6, 3, '):
        policy.imitation_loss(inputs, torch.zeros(6, 2, 1), torch.Generator())
    with pytest.raises(PolicyError, match='chain'):
        policy.log_prob(inputs, torch.zeros(6, 9, 3, policy.config.action_dimension))
    with pytest.raises(PolicyError, match='chain'):
        policy.log_prob(inputs, torch.zeros(6, 3))


def test_images_that_are_missing_or_wrong_are_told():
    policy = made('image_flow')
    inputs, noise = seen(policy.config), noise_of(policy)
    with pytest.raises(PolicyError, match="no image of role 'left_wrist'; got: \\['head'\\]"):
        lone = {'head': inputs.images['head']}
        policy.sample(PolicyInput(inputs.features, lone), noise, explore=True)
    with pytest.raises(PolicyError, match=r'float32 .* allowed: uint8 \(6, H, W, 3\)'):
        floats = {role: image.float() for role, image in inputs.images.items()}
        policy.sample(PolicyInput(inputs.features, floats), noise, explore=True)


def test_an_image_policy_sees_each_of_its_cameras():
    policy = made('image_flow')
    inputs, noise = seen(policy.config), noise_of(policy)
    before = policy.sample(inputs, noise, explore=False).actions
    for role in policy.config.roles:
        images = {**inputs.images, role: 255 - inputs.images[role]}
        after = policy.sample(PolicyInput(inputs.features, images), noise, explore=False).actions
        assert (before - after).abs().max() > 1e-6


def test_rows_of_inputs_are_a_minibatch():
    inputs = seen(CONFIGS['image_flow'])
    inputs = PolicyInput(inputs.features, inputs.images, tuple('abcdef'))
    part = inputs.rows(torch.tensor([4, 1]))
    assert part.instructions == ('e', 'b')
    assert torch.equal(part.features, inputs.features[[4, 1]])
    assert torch.equal(part.images['head'], inputs.images['head'][[4, 1]])


def test_reconfigure_keeps_the_weights_and_changes_the_noise():
    policy = made('flow')
    quiet = reconfigure(policy, exploration=Exploration(sigma=0.0))
    inputs, noise = seen(policy.config), noise_of(policy)
    ode = policy.sample(inputs, noise, explore=False)
    assert torch.equal(quiet.sample(inputs, noise, explore=True).chain, ode.chain)
    assert torch.equal(quiet.sample(inputs, noise, explore=False).chain, ode.chain)
    with pytest.raises(ParameterError, match='sigmma'):
        reconfigure(policy, sigmma=1.0)
