"""The diffusion policy: its schedule and DDIM are diffusers', and what it is conditioned on."""

import numpy as np
import pytest

pytest.importorskip('torch')

import torch

from structrl_ros.errors import CheckpointError
from structrl_ros.errors import ParameterError
from structrl_ros.errors import PolicyError
from structrl_ros.errors import StaleDataError
from structrl_ros.models.checkpoint import load_policy
from structrl_ros.models.checkpoint import save_policy
from structrl_ros.models.policies.base import PolicyInput
from structrl_ros.models.policies.deployed import DeployedPolicy
from structrl_ros.models.policies.diffusion import DiffusionConfig
from structrl_ros.models.policies.diffusion import DiffusionPolicy
from structrl_ros.models.policies.diffusion_unet import ChunkUNet
from structrl_ros.models.policies.diffusion_unet import cosine_alphas
from structrl_ros.models.policies.diffusion_unet import ddim_step
from structrl_ros.models.policies.diffusion_unet import denoising_times
from structrl_ros.models.policies.language import NgramLanguage
from structrl_ros.models.policies.language import make_language
from structrl_ros.models.policies.proprioception import PROPRIOCEPTION
from structrl_ros.models.policies.proprioception import read_proprioception
from structrl_ros.types import Episode
from structrl_ros.types import Observation
from structrl_ros.types import Proprioception
from structrl_ros.types import Subtask

pytestmark = pytest.mark.torch

CONFIG = DiffusionConfig(
    feature_names=PROPRIOCEPTION,
    chunk_length=8,
    hidden=16,
    roles=('head', 'left_wrist'),
    image_size=(32, 32),
    image_features=8,
    channels=(8, 16),
    denoising_steps=4,
)
TURN = np.array([0.1, -0.2, 0.3, 0.5, 0.5, 0.5, 0.5])
ARM = Proprioception(1, (), np.zeros(0), np.zeros(0), TURN, np.array([0.04, 0.03]))
PICTURE = np.random.default_rng(0).integers(0, 256, (32, 32, 3)).astype(np.uint8)
SEEN = Observation(1, 1, ARM, {'head': PICTURE, 'left_wrist': PICTURE[::-1].copy()})
GRASP = Subtask('0', 'grasp soup', 'grasp', ('soup',), 0)
PLACE = Subtask('1', 'place soup in basket', 'place', ('soup', 'basket'), 1)


@pytest.fixture
def policy():
    torch.manual_seed(0)
    return DiffusionPolicy(CONFIG).eval()


@pytest.fixture
def robot(policy):
    made = DeployedPolicy(policy, name='d', features=read_proprioception, prompt=CONFIG.prompt)
    made.reset(Episode(1, 1, False, 'libero', 'long/0', 'put both away', 0, 0))
    return made


@pytest.mark.slow
def test_schedule_and_steps_are_those_of_diffusers():
    from diffusers.schedulers.scheduling_ddim import DDIMScheduler

    theirs = DDIMScheduler(
        100,
        beta_schedule='squaredcos_cap_v2',
        clip_sample=False,
        prediction_type='sample',
    )
    alphas = cosine_alphas()
    torch.testing.assert_close(alphas, theirs.alphas_cumprod, atol=1e-7, rtol=0)
    theirs.set_timesteps(10)
    times = denoising_times(10)
    assert times.tolist() == theirs.timesteps.tolist() == [90, 80, 70, 60, 50, 40, 30, 20, 10, 0]
    generator = torch.Generator().manual_seed(0)
    clean, noise = (torch.randn(2, 8, 7, generator=generator) for _ in range(2))
    along = torch.cat((alphas[times], torch.ones(1)))
    mine = other = noise
    for step, time in enumerate(times.tolist()):
        mine = ddim_step(mine, clean, along[step], along[step + 1])
        other = theirs.step(clean, time, other).prev_sample
        torch.testing.assert_close(mine, other, atol=1e-5, rtol=0)
    noised = theirs.add_noise(clean, noise, torch.tensor([5, 60]))
    alpha = alphas[[5, 60]][:, None, None]
    mine = alpha.sqrt() * clean + (1 - alpha).sqrt() * noise
    torch.testing.assert_close(mine, noised, atol=1e-6, rtol=0)


def test_a_network_that_knows_the_chunk_denoises_to_it():
    clean, along = torch.full((1, 8, 7), 0.4), cosine_alphas()[denoising_times(10)]
    point = torch.randn(1, 8, 7, generator=torch.Generator().manual_seed(1))
    along = torch.cat((along, torch.ones(1)))
    for step in range(10):
        point = ddim_step(point, clean, along[step], along[step + 1])
    torch.testing.assert_close(point, clean, atol=1e-6, rtol=0)


@pytest.mark.parametrize('rows', [1, 3, 8, 13])
def test_the_unet_takes_chunks_of_any_length(rows):
    net = ChunkUNet(7, (8, 16, 24), 16)
    point, seen = torch.zeros(2, rows, 7), torch.zeros(2, 16)
    assert net(point, seen, net.embed_times(torch.tensor([3.0]))[0]).shape == (2, rows, 7)


def test_what_is_said_changes_what_is_done(robot):
    first = robot.act(SEEN, GRASP, 'put both away')
    robot.reset(Episode(1, 1, False, 'libero', 'long/0', 'put both away', 0, 0))
    again = robot.act(SEEN, GRASP, 'another sentence, which is not read')
    robot.reset(Episode(1, 1, False, 'libero', 'long/0', 'put both away', 0, 0))
    other = robot.act(SEEN, PLACE, 'put both away')
    assert first.shape == (8, 7) and first.dtype == np.float32
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 1e-4


def test_it_needs_a_sentence_a_row(policy):
    inputs = PolicyInput(
        torch.zeros(2, 11),
        {role: torch.zeros(2, 32, 32, 3, dtype=torch.uint8) for role in CONFIG.roles},
    )
    noise = torch.zeros(2, *policy.noise_shape)
    with pytest.raises(PolicyError, match='sentence a row: got 0 sentences; allowed: 2'):
        policy.sample(inputs, noise, explore=False)


def test_pictures_of_another_size_are_brought_to_its_own(robot):
    large = {role: image.repeat(3, 0).repeat(3, 1) for role, image in SEEN.images.items()}
    first = robot.act(SEEN, GRASP, '')
    robot.reset(Episode(1, 1, False, 'libero', 'long/0', '', 0, 0))
    again = robot.act(Observation(1, 1, ARM, large), GRASP, '')
    np.testing.assert_allclose(again, first, atol=1e-6)


@pytest.mark.parametrize(
    ('change', 'error', 'words'),
    [
        ({'images': {'head': PICTURE}}, PolicyError, "no image of role 'left_wrist'"),
        (
            {'images': dict.fromkeys(CONFIG.roles, PICTURE[..., :1])},
            PolicyError,
            r'allowed: uint8 \(1, H, W, 3\)',
        ),
        (
            {'images': {role: PICTURE.astype(np.uint16) for role in CONFIG.roles}},
            PolicyError,
            r'uint16 .* allowed: uint8',
        ),
        ({'proprioception': None}, StaleDataError, 'needs the arm state'),
        (
            {
                'proprioception': Proprioception(
                    1, (), np.zeros(0), np.zeros(0), TURN * np.nan, np.zeros(2)
                )
            },
            PolicyError,
            'features .* NaN',
        ),
    ],
)
def test_what_it_cannot_see_is_one_line(robot, change, error, words):
    parts = {'proprioception': ARM, 'images': SEEN.images, **change}
    with pytest.raises(error, match=words) as caught:
        robot.act(Observation(1, 1, **parts), GRASP, '')
    assert '\n' not in str(caught.value)


def test_normalised_actions_go_to_the_body_and_back(policy):
    done = np.random.default_rng(0).uniform(-0.2, 0.3, (50, 7)).astype(np.float32)
    policy.fit_normalisers(np.zeros((50, 11), np.float32), done)
    inside = policy.from_body(done)
    assert abs(float(inside.std()) - 1.0) < 0.1
    np.testing.assert_allclose(policy.to_body(inside), done, atol=1e-6)


def test_fitting_twice_is_as_fitting_once(policy):
    seen = np.random.default_rng(1).normal(size=(50, 11)).astype(np.float32)
    done = np.random.default_rng(0).uniform(-0.2, 0.3, (50, 7)).astype(np.float32)
    policy.fit_normalisers(seen, done)
    once = policy.from_body(done)
    policy.fit_normalisers(seen, done)
    np.testing.assert_array_equal(policy.from_body(done), once)


def test_the_same_words_are_the_same_vector_and_near_those_that_share_words():
    language = NgramLanguage()
    soup, again, spelled, sauce, place = language.embed(
        ['grasp soup', 'Grasp soup.', 'grasp soups', 'grasp sauce', 'put the mug on the plate']
    )
    np.testing.assert_array_equal(soup, again)
    np.testing.assert_allclose(np.linalg.norm(soup), 8.0, rtol=1e-5)
    assert soup @ spelled > soup @ sauce > soup @ place


def test_a_checkpoint_with_another_embedding_is_refused(policy, tmp_path):
    save_policy(tmp_path / 'p', policy, '# Random')
    loaded = load_policy(tmp_path / 'p')
    assert loaded.config.language_identity == make_language('ngrams').identity
    text = (tmp_path / 'p' / 'config.json').read_text()
    (tmp_path / 'p' / 'config.json').write_text(text.replace('ngrams-3-5', 'ngrams-2-4'))
    with pytest.raises(CheckpointError, match=r'is ngrams-3-5.* here, not ngrams-2-4.*trained'):
        load_policy(tmp_path / 'p')


@pytest.mark.parametrize(
    ('change', 'words'),
    [
        ({'channels': (12,)}, 'multiples of 8'),
        ({'denoising_steps': 101}, '1 to 100'),
        ({'prompt': 'poem'}, 'instruction, subtask'),
        ({'language': 'klingon'}, 'allowed: ngrams, transformer:FOLDER'),
        ({'language': 'transformer:/nowhere'}, 'config.json is missing'),
        ({'roles': ()}, 'needs roles'),
    ],
)
def test_a_config_that_cannot_be_is_one_line(change, words):
    parts = {'feature_names': PROPRIOCEPTION, 'chunk_length': 8, 'roles': ('head',), **change}
    with pytest.raises(ParameterError, match=words):
        DiffusionConfig(**parts)


@pytest.mark.slow
def test_an_encoder_of_a_folder_embeds_and_has_an_identity(tmp_path):
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace
    from transformers import BertConfig
    from transformers import BertModel
    from transformers import PreTrainedTokenizerFast

    words = {'[PAD]': 0, '[UNK]': 1, 'grasp': 2, 'soup': 3, 'sauce': 4}
    tokenizer = Tokenizer(WordLevel(words, unk_token='[UNK]'))
    tokenizer.pre_tokenizer = Whitespace()
    folder = tmp_path / 'encoder'
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token='[PAD]', unk_token='[UNK]'
    ).save_pretrained(folder)
    torch.manual_seed(0)
    sizes = {'hidden_size': 16, 'num_hidden_layers': 1, 'num_attention_heads': 2}
    BertModel(BertConfig(vocab_size=8, intermediate_size=16, **sizes)).save_pretrained(folder)
    language = make_language(f'transformer:{folder}')
    soup, sauce, again = language.embed(['grasp soup', 'grasp sauce', 'grasp soup'])
    assert soup.shape == (16,)
    np.testing.assert_array_equal(soup, again)
    assert np.abs(soup - sauce).max() > 0.01
    config = DiffusionConfig(
        feature_names=PROPRIOCEPTION,
        chunk_length=8,
        roles=('head',),
        language=f'transformer:{folder}',
    )
    assert config.language_identity == language.identity
