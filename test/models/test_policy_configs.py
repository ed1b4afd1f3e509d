"""What a policy's config and its statistics refuse, and the size of the networks."""

from dataclasses import replace

import pytest

pytest.importorskip('torch')

import torch

from structrl_ros.errors import ParameterError
from structrl_ros.errors import PolicyError
from structrl_ros.models.policies.base import PolicyInput
from structrl_ros.models.policies.flow import FlowConfig
from structrl_ros.models.policies.flow_sde import Exploration
from structrl_ros.models.policies.gaussian import GaussianConfig
from structrl_ros.models.policies.image_flow import ImageFlowConfig
from structrl_ros.models.policies.registry import config_from_json
from structrl_ros.models.policies.registry import config_to_json
from structrl_ros.models.policies.registry import make_policy

pytestmark = pytest.mark.torch

NAMES = ('x', 'y', 'z')
SIZE = {'feature_names': NAMES, 'chunk_length': 3, 'hidden': 16}
FLOW = FlowConfig(**SIZE)


def test_the_full_size_networks_have_the_parameters_they_should():
    names = tuple(f'feature{i}' for i in range(42))
    flow = make_policy(FlowConfig(feature_names=names, chunk_length=5))
    image = make_policy(
        ImageFlowConfig(feature_names=NAMES, chunk_length=5, roles=('head', 'left_wrist'))
    )
    sizes = [sum(p.numel() for p in policy.parameters()) for policy in (flow, image)]
    assert 2e5 < sizes[0] < 3e5
    assert 3e5 < sizes[1] < 1.1e6


@pytest.mark.parametrize(
    ('change', 'words'),
    [
        ({'chunk_length': 0}, 'chunk_length is 0; allowed: 1 and more'),
        ({'action_map': 'cubic'}, "unknown action map 'cubic'; known"),
        ({'roles': ('head', 'head')}, 'each once'),
        ({'roles': ('tail',)}, "roles are \\['tail'\\]; allowed: \\['head'"),
        ({'hidden': 0}, 'hidden is 0'),
        ({'denoising_steps': 0}, 'denoising_steps is 0'),
        ({'denoising_steps': 1, 'exploration': Exploration(steps=(1,))}, 'noisy steps'),
        ({'feature_names': ()}, 'needs feature_names or roles'),
    ],
)
def test_a_config_out_of_range_is_refused(change, words):
    with pytest.raises(ParameterError, match=words):
        replace(FLOW, **change)


@pytest.mark.parametrize('sigma', [0.0, 2.0])
def test_a_gaussian_s_sigma_has_bounds(sigma):
    with pytest.raises(ParameterError, match=r'sigma is .*; allowed: 0.001 to 1.0'):
        GaussianConfig(**SIZE, sigma=sigma)


def test_a_learned_sigma_learns_and_a_fixed_one_does_not():
    inputs = PolicyInput(torch.randn(4, 3))
    for learns in (False, True):
        policy = make_policy(GaussianConfig(**SIZE, learned_sigma=learns))
        noise = torch.randn(4, *policy.noise_shape)
        chain = policy.sample(inputs, noise, explore=True).chain
        policy.log_prob(inputs, chain).sum().backward()
        assert (policy.log_sigma.grad is not None) is learns


@pytest.mark.parametrize(
    ('features', 'words'),
    [
        (torch.zeros(4, 2), r'shape \(4, 2\); allowed: \(N, 3\)'),
        (torch.zeros(0, 3), 'N >= 1'),
        (torch.full((2, 3), torch.inf), 'NaN or infinity'),
    ],
)
def test_statistics_of_bad_features_are_refused(features, words):
    with pytest.raises(PolicyError, match=words):
        make_policy(FLOW).normaliser.fit(features)


@pytest.mark.parametrize(
    ('change', 'words'),
    [
        (
            {'architecture': 'flwo'},
            "unknown policy architecture 'flwo'; known: diffusion, flow, gaussian, image_flow, ",
        ),
        ({'hiden': 3}, "unexpected keyword argument 'hiden'"),
        ({'chunk_length': 0}, 'chunk_length is 0'),
        ({'exploration': {'sigmma': 1}}, "unexpected keyword argument 'sigmma'"),
    ],
)
def test_a_document_that_is_no_config_is_refused(change, words):
    with pytest.raises(ParameterError, match=words):
        config_from_json({**config_to_json(FLOW), **change})
