"""pi0 behind the port, on a tiny random one that went through save and from_pretrained."""

import os
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip('torch')
pytest.importorskip('transformers')
pytest.importorskip('peft')

import torch

from structrl_ros.errors import CheckpointError
from structrl_ros.errors import ParameterError
from structrl_ros.errors import PolicyError
from structrl_ros.models.checkpoint import load_policy
from structrl_ros.models.checkpoint import save_policy
from structrl_ros.models.policies.base import PolicyInput
from structrl_ros.models.policies.flow_sde import Exploration
from structrl_ros.models.policies.pi0 import Pi0Config
from structrl_ros.models.policies.pi0_inputs import pictures
from structrl_ros.models.policies.registry import make_policy
from structrl_ros.models.policies.tiny_pi0 import save_tiny_pi0

pytestmark = pytest.mark.torch

BATCH = 3
ROLES = ('head', 'left_wrist')


@pytest.fixture(scope='module')
def config(tmp_path_factory):
    base = tmp_path_factory.mktemp('tiny') / 'pi0'
    save_tiny_pi0(base)
    return Pi0Config(
        base=str(base),
        feature_names=('x', 'y', 'z'),
        chunk_length=4,
        roles=ROLES,
        denoising_steps=4,
        exploration=Exploration(steps=(1, -1), correlation=0.3, drift_correction=True),
    )


@pytest.fixture
def policy(config):
    return made(config)


def made(config):
    torch.manual_seed(0)
    return make_policy(config).eval()


def seen(seed=0, sentences=('open the drawer', 'press the red button', 'pick up the mug')):
    generator = torch.Generator().manual_seed(seed)
    shape = (BATCH, 40, 60, 3)
    images = {
        role: torch.randint(0, 256, shape, generator=generator, dtype=torch.uint8)
        for role in ROLES
    }
    return PolicyInput(torch.randn(BATCH, 3, generator=generator), images, sentences)


def noise_of(policy, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(BATCH, *policy.noise_shape, generator=generator)


def test_log_prob_of_the_chain_is_that_of_the_sample(policy):
    sample = policy.sample(seen(), noise_of(policy), explore=True)
    assert sample.chain.shape == (BATCH, 5, 4, 7)
    again = policy.log_prob(seen(), sample.chain)
    torch.testing.assert_close(again, sample.log_prob, atol=1e-6, rtol=0)
    assert torch.equal(sample.chain[:, 0], noise_of(policy)[:, 0])


def test_the_ode_is_what_transformers_itself_integrates(policy):
    """pi0's time runs the other way: its own sampler must end where ours does."""
    inputs = seen()
    ours = policy.sample(inputs, noise_of(policy), explore=False)
    # The same padded dimensions, by its own loop: they start at our fixed draw. Ours send them to
    # zero on a straight line; let the model say so too, by a velocity head that is blind to them.
    network = policy.network
    with torch.no_grad():
        network.embed_action_time.action_in_proj.weight[:, 7:] = 0.0
    ours_blind = policy.sample(inputs, noise_of(policy), explore=False).actions
    first = torch.cat((noise_of(policy)[:, 0], policy.padding.expand(BATCH, -1, -1)), dim=2)
    tokens, pixels, mask = prompt(policy, inputs)
    theirs = network.sample_actions(
        state=policy._state(inputs),
        input_ids=tokens,
        pixel_values=pixels,
        noise=first,
        attention_mask=mask,
        pixel_attention_mask=torch.ones(BATCH, 2, dtype=torch.bool),
        num_steps=4,
    )
    torch.testing.assert_close(ours_blind, theirs[..., :7], atol=1e-5, rtol=0)
    assert not torch.equal(ours.actions, ours_blind)


def prompt(policy, inputs):
    """Return tokens, pixels and mask as pi0's own processor lays them out."""
    tokenizer, count = policy.tokenizer, 2 * 16
    image = tokenizer.convert_tokens_to_ids('<image>')
    texts = [
        [tokenizer.bos_token_id, *tokenizer(f'{s}\n', add_special_tokens=False)['input_ids']]
        for s in inputs.instructions
    ]
    length = policy.config.text_length
    tokens = torch.tensor([[image] * count + t + [0] * (length - len(t)) for t in texts])
    mask = torch.tensor([[1] * (count + len(t)) + [0] * (length - len(t)) for t in texts])
    pixels = torch.stack([pictures(inputs.images[role], 56) for role in ROLES], dim=1)
    return tokens, pixels, mask


def test_the_cached_velocity_has_the_gradient_of_an_uncached_forward(policy):
    inputs = seen()
    point = noise_of(policy)[:, 0]
    tokens, pixels, mask = prompt(policy, inputs)
    ours = policy._velocity(inputs)(point, 1)
    spare = (0.75 * policy.padding).expand(BATCH, -1, -1)
    theirs = -policy.network(
        state=policy._state(inputs),
        noise=torch.cat((point, spare), dim=2),
        timestep=torch.full((BATCH,), 0.75),
        input_ids=tokens,
        pixel_values=pixels,
        attention_mask=mask,
        pixel_attention_mask=torch.ones(BATCH, 2, dtype=torch.bool),
    ).logits[..., :7]
    torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=0)
    name = 'model.vlm.language_model.layers.0.self_attn.k_proj.weight'
    weight = policy.network.get_parameter(name)
    gradients = [torch.autograd.grad(v.square().sum(), weight)[0] for v in (ours, theirs)]
    assert gradients[0].abs().max() > 0
    torch.testing.assert_close(*gradients, atol=1e-5, rtol=1e-3)


def test_state_cameras_and_sentence_all_matter(policy):
    noise = noise_of(policy)

    def drawn(inputs):
        return policy.sample(inputs, noise, explore=False).actions

    inputs = seen()
    before = drawn(inputs)
    changed = [
        PolicyInput(inputs.features + 1, inputs.images, inputs.instructions),
        seen(sentences=('close the lid',) * BATCH),
    ]
    for role in ROLES:
        other = {**inputs.images, role: 255 - inputs.images[role]}
        changed.append(PolicyInput(inputs.features, other, inputs.instructions))
    assert all((drawn(other) - before).abs().max() > 1e-6 for other in changed)
    assert policy.encode(inputs).shape == (BATCH, 32)


def test_other_rows_do_not_change_a_row_s_bits(policy):
    inputs, noise = seen(), noise_of(policy)
    others, other_noise = seen(seed=5, sentences=('close the lid',) * BATCH), noise_of(policy, 5)
    mixed = PolicyInput(
        torch.cat((inputs.features[:1], others.features[1:])),
        {r: torch.cat((inputs.images[r][:1], others.images[r][1:])) for r in ROLES},
        (inputs.instructions[0], *others.instructions[1:]),
    )
    mixed_noise = torch.cat((noise[:1], other_noise[1:]))
    first = policy.sample(inputs, noise, explore=True)
    second = policy.sample(mixed, mixed_noise, explore=True)
    assert torch.equal(first.chain[0], second.chain[0])


def test_sigma_zero_is_the_ode_to_the_last_bit(config):
    policy = made(replace(config, exploration=Exploration(sigma=0.0)))
    noise = noise_of(policy)
    explored = policy.sample(seen(), noise, explore=True)
    assert torch.equal(explored.chain, policy.sample(seen(), noise, explore=False).chain)


def test_adapters_learn_by_pi0_s_flow_loss_are_saved_alone_and_come_back(config, tmp_path):
    config = replace(config, lora_rank=4, trained=('action_out_proj',))
    policy = made(config)
    inputs, actions = seen(), torch.full((BATCH, 4, 7), 0.5)
    base = {n: p.clone() for n, p in policy.named_parameters() if not p.requires_grad}
    trained = [p for p in policy.parameters() if p.requires_grad]
    assert sum(p.numel() for p in trained) < 0.06 * sum(p.numel() for p in policy.parameters())
    optimiser = torch.optim.Adam(trained, 1e-2)

    def loss():
        return policy.imitation_loss(inputs, actions, torch.Generator().manual_seed(0))

    before = loss()
    assert before.shape == (BATCH,)
    for _ in range(25):
        optimiser.zero_grad()
        loss().mean().backward()
        optimiser.step()
    assert loss().mean() < 0.7 * before.mean()
    assert all(torch.equal(p, base[n]) for n, p in policy.named_parameters() if n in base)

    policy.normaliser.fit(torch.randn(20, 3))
    policy.action_normaliser.fit(torch.randn(20, 7) * 0.3)
    save_policy(tmp_path / 'adapters', policy, 'Tiny, random, imitates a constant.')
    size = (tmp_path / 'adapters' / 'policy.safetensors').stat().st_size
    assert size < 0.2 * os.path.getsize(f'{config.base}/model.safetensors')
    loaded = load_policy(tmp_path / 'adapters')
    noise = noise_of(policy)
    first = policy.eval().sample(inputs, noise, explore=True)
    assert torch.equal(first.chain, loaded.sample(inputs, noise, explore=True).chain)
    fresh = made(config).sample(inputs, noise, explore=True)
    assert not torch.allclose(first.chain, fresh.chain, atol=1e-3)
    body = policy.to_body(first.actions.numpy() * 0.1)
    np.testing.assert_allclose(loaded.from_body(body), first.actions.numpy() * 0.1, atol=1e-5)


def test_times_of_the_loss_are_pi0_s_beta_distribution(policy):
    times = policy._times(20_000, torch.Generator().manual_seed(0))
    assert float(times.min()) >= 0.001 and float(times.max()) <= 1.0
    # Beta(1.5, 1) has mean .6 and deviation .2619; noise (1) is drawn more often than data (0).
    assert float(times.mean()) == pytest.approx(0.6 * 0.999 + 0.001, abs=0.006)
    assert float(times.std()) == pytest.approx(0.2619 * 0.999, abs=0.004)


def test_frozen_parts_do_not_train_and_are_not_saved(config):
    policy = made(replace(config, frozen=('model.vlm',)))
    assert not any('.vlm.' in name for name in policy.checkpoint_tensors())
    assert any('.dit.' in name for name in policy.checkpoint_tensors())
    policy.imitation_loss(seen(), torch.zeros(BATCH, 4, 7), torch.Generator()).sum().backward()
    assert all(p.grad is None for n, p in policy.named_parameters() if '.vlm.' in n)


def test_bfloat16_weights_draw_float32_chunks(config):
    policy = made(replace(config, dtype='bfloat16'))
    sample = policy.sample(seen(), noise_of(policy), explore=True)
    assert policy.network.dtype == torch.bfloat16
    assert sample.actions.dtype == sample.log_prob.dtype == torch.float32


def test_a_picture_keeps_its_aspect_between_black_bars():
    image = torch.full((1, 20, 40, 3), 255, dtype=torch.uint8)
    told = pictures(image, 56)
    assert told.shape == (1, 3, 56, 56)
    assert (told[:, :, 14:42] == 1).all()
    assert (told[:, :, :14] == -1).all() and (told[:, :, 42:] == -1).all()
    square = torch.arange(56 * 56 * 3).remainder(256).to(torch.uint8).view(1, 56, 56, 3)
    expected = square.permute(0, 3, 1, 2).float() / 127.5 - 1
    assert torch.equal(pictures(square, 56), expected)


def test_what_pi0_cannot_take_is_told(policy):
    inputs, noise = seen(), noise_of(policy)
    with pytest.raises(PolicyError, match='0 instructions for 3 rows; allowed: one a row'):
        policy.sample(PolicyInput(inputs.features, inputs.images), noise, explore=True)
    with pytest.raises(PolicyError, match=r"instruction 'open .* tokens; allowed: 48"):
        policy.sample(seen(sentences=('open the drawer ' * 30,) * BATCH), noise, explore=True)


@pytest.mark.parametrize(
    ('change', 'error', 'words'),
    [
        ({'base': '/nowhere/pi0'}, CheckpointError, "cannot load pi0 from '/nowhere/pi0': "),
        ({'roles': ()}, ParameterError, 'a pi0 policy needs roles'),
        ({'dtype': 'int8'}, ParameterError, "dtype is 'int8'; allowed: float32, bfloat16"),
        ({'text_length': 1}, ParameterError, 'text_length 1'),
        ({'lora_rank': 2, 'lora_targets': ('q_porj',)}, ParameterError, 'q_porj'),
        ({'frozen': ('vml',)}, ParameterError, "frozen 'vml' starts no name"),
        ({'feature_names': tuple('abcdefghijklmnopqrstuvwxyz0123456789')}, ParameterError, '36 f'),
    ],
)
def test_a_config_that_suits_no_pi0_is_refused_in_one_line(config, change, error, words):
    with pytest.raises(error, match=words) as told:
        make_policy(replace(config, **change))
    assert '\n' not in str(told.value)


def test_a_base_that_lacks_its_files_is_refused(config, tmp_path):
    (tmp_path / 'config.json').write_text('{}')
    with pytest.raises(CheckpointError, match='cannot load pi0 from') as told:
        make_policy(replace(config, base=str(tmp_path)))
    assert '\n' not in str(told.value)
