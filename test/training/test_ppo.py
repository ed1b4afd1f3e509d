"""Chunk-level PPO: advantages, surrogate, and the three rules that keep it sound."""

import copy

import numpy as np
import pytest

pytest.importorskip('torch')

import torch
from drawn_rollouts import draw_rollouts
from drawn_rollouts import small_flow
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from structrl_ros.errors import TrainingError
from structrl_ros.training.actor import Actor
from structrl_ros.training.critic import Critic
from structrl_ros.training.critic import CriticLearner
from structrl_ros.training.ppo import PpoLearner
from structrl_ros.training.ppo import chunk_advantages
from structrl_ros.training.rollout_metrics import idle_after_reward
from structrl_ros.training.samples import chunk_samples
from structrl_ros.training.settings import PpoSettings
from structrl_ros.training.surrogate import clipped_surrogate
from structrl_ros.training.surrogate import reference_kl

pytestmark = pytest.mark.torch

SETTINGS = PpoSettings(tasks=('task',), warmup_iterations=0, rate_warmup=0, minibatch=16)
LENGTHS, SUCCESS = (3, 2, 4, 1), (True, False, True, False)


def weights_of(policy):
    return [parameter.detach().clone() for parameter in policy.parameters()]


def is_equal(first, second):
    return all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


def test_advantages_of_an_episode_are_those_worked_out_by_hand():
    rollouts = draw_rollouts(small_flow(), (2, 1), (True, False))
    rewards = np.array([[0.5, 2.0], [0.25, 0.0]])
    values = np.array([[1.0, 0.5, 9.0], [0.125, 4.0, 9.0]])
    found = chunk_advantages(
        rollouts, rewards, values, gamma=0.5, trace_decay=0.5, timeout='terminated'
    )
    last = 2.0 - 0.5  # no value after a success
    first = 0.5 + 0.5 * 0.5 - 1.0 + 0.25 * last
    assert found.advantages.tolist() == [[first, last], [0.25 - 0.125, 0.0]]
    assert found.returns.tolist() == [[first + 1.0, 2.0], [0.25, 0.0]]


def test_a_horizon_that_counts_as_a_cut_is_worth_what_was_seen_last():
    rollouts = draw_rollouts(small_flow(), (2, 1), (True, False))
    rewards = np.array([[0.5, 2.0], [0.25, 0.0]])
    values = np.array([[1.0, 0.5, 9.0], [0.125, 4.0, 9.0]])
    found = chunk_advantages(
        rollouts, rewards, values, gamma=0.5, trace_decay=0.5, timeout='truncated'
    )
    assert found.advantages[0, 1] == 2.0 - 0.5
    assert found.advantages[1].tolist() == [0.25 + 0.5 * 4.0 - 0.125, 0.0]


@given(st.integers(0, 2**20))
@hypothesis_settings(max_examples=20, deadline=None)
def test_what_lies_after_the_end_of_an_episode_reaches_no_chunk(seed):
    rollouts = draw_rollouts(small_flow(), LENGTHS, SUCCESS)
    random = np.random.default_rng(seed)
    rewards, values = random.standard_normal((4, 4)), random.standard_normal((4, 5))
    options = {'gamma': 0.9, 'trace_decay': 0.8, 'timeout': 'truncated'}
    before = chunk_advantages(rollouts, rewards, values, **options)
    rewards[~rollouts.valid] = random.standard_normal()
    seen = np.arange(5) <= np.array(LENGTHS)[:, None]  # the last observation counts
    seen[np.flatnonzero(SUCCESS), np.array(LENGTHS)[np.array(SUCCESS)]] = (
        False  # but not after a success
    )
    values[~seen] = random.standard_normal()
    after = chunk_advantages(rollouts, rewards, values, **options)
    assert np.array_equal(before.advantages, after.advantages)
    assert (after.advantages[~rollouts.valid] == 0.0).all()


def test_the_surrogate_is_the_one_worked_out_by_hand():
    # Two rows, two dimensions: log-ratios per dimension .1 + .2 and -.4 + 0.
    old = torch.zeros(1, 2, 2)
    new = torch.tensor([[[0.1, -0.4], [0.2, 0.0]]], requires_grad=True)
    weights = torch.tensor([2.0])
    by_dimension = clipped_surrogate(new, old, weights, clip=0.2, ratio='dimension')
    up, down = np.exp(0.3), np.exp(-0.4)
    assert by_dimension.loss.item() == pytest.approx(-(2.0 * 1.2 + 2.0 * down) / 2)
    assert by_dimension.clip_fraction.item() == 1.0
    assert by_dimension.kl.item() == pytest.approx((up - 1 - 0.3) + (down - 1 + 0.4))
    whole = clipped_surrogate(new, old, weights, clip=0.2, ratio='chunk')
    assert whole.loss.item() == pytest.approx(-2.0 * np.exp(-0.1))
    assert whole.clip_fraction.item() == 0.0
    by_dimension.loss.backward()
    assert new.grad is not None
    assert (new.grad[..., 0] == 0.0).all()  # clipped: no more gain that way
    assert (new.grad[..., 1] < 0.0).all()


def test_a_bad_chunk_whose_ratio_has_fallen_is_left_alone():
    new = torch.tensor([[[-0.5]]], requires_grad=True)
    clipped_surrogate(
        new, torch.zeros(1, 1, 1), torch.tensor([-1.0]), clip=0.2, ratio='chunk'
    ).loss.backward()
    assert new.grad is not None
    assert new.grad.item() == 0.0


def test_the_kl_to_a_reference_is_that_of_gaussians():
    torch.manual_seed(0)
    mean, other = 0.3, 0.1
    drawn = mean + torch.randn(200_000, 1, 1)
    log_prob, reference = -0.5 * (drawn - mean) ** 2, -0.5 * (drawn - other) ** 2
    kl = reference_kl(log_prob, reference).item()
    assert kl == pytest.approx(0.5 * (mean - other) ** 2, abs=1e-3)


def test_a_paid_chunk_becomes_likelier_and_the_others_do_not():
    policy = small_flow()
    rollouts = draw_rollouts(policy, (4,) * 16, (False,) * 16)
    samples = chunk_samples(rollouts)
    advantages = torch.where(torch.arange(len(samples)) % 4 == 0, 1.0, -1.0 / 3)
    actor = Actor(policy, SETTINGS.model_copy(update={'learning_rate': 1e-3, 'epochs': 8}))
    report = actor.improve(samples, advantages, np.random.default_rng(0))
    assert not report.is_rolled_back
    with torch.no_grad():
        change = (policy.log_prob(samples.inputs, samples.chain) - samples.log_prob).sum((1, 2))
    assert change[advantages > 0].mean() > change[advantages < 0].mean() + 0.1


def test_a_step_that_goes_too_far_is_undone_and_counted():
    policy = small_flow()
    before = weights_of(policy)
    samples = chunk_samples(draw_rollouts(policy, LENGTHS, SUCCESS))
    actor = Actor(policy, SETTINGS.model_copy(update={'learning_rate': 0.3}))
    report = actor.improve(samples, torch.ones(len(samples)), np.random.default_rng(0))
    assert report.is_rolled_back
    assert report.kl > SETTINGS.kl_stop
    assert is_equal(weights_of(policy), before)
    assert report.metrics()['actor/rolled_back'] == 1.0


@pytest.mark.parametrize('rewards_are_zero', [True, False])
def test_an_iteration_without_reward_moves_the_critic_alone(rewards_are_zero):
    policy = small_flow()
    before = weights_of(policy)
    rollouts = draw_rollouts(policy, LENGTHS, SUCCESS)
    learner = PpoLearner(policy, SETTINGS)
    rewards = np.zeros(rollouts.valid.shape)
    if not rewards_are_zero:
        rewards[0, 2] = 2.0
    metrics = learner.learn(rollouts, rewards, 0)
    assert metrics['actor/skipped'] == float(rewards_are_zero)
    assert is_equal(weights_of(policy), before) is rewards_are_zero
    assert 'critic/mean' in learner.state().tensors


def test_the_first_iteration_warms_up_the_critic_alone():
    policy = small_flow()
    before = weights_of(policy)
    rollouts = draw_rollouts(policy, LENGTHS, SUCCESS)
    rewards = np.where(rollouts.valid, 1.0, 0.0)
    settings = SETTINGS.model_copy(update={'warmup_iterations': 1, 'warmup_epochs': 200})
    learner = PpoLearner(policy, settings)
    first = learner.learn(rollouts, rewards, 0)
    assert first['actor/skipped'] == 1.0
    assert is_equal(weights_of(policy), before)
    second = learner.learn(rollouts, rewards, 1)
    assert second['actor/skipped'] == 0.0
    assert second['critic/explained_variance'] > 0.5 > first['critic/explained_variance']


@pytest.mark.parametrize('critic', ['separate', 'shared'])
def test_the_same_seed_gives_the_same_weights_after_a_restored_state(critic):
    settings = SETTINGS.model_copy(update={'critic': critic, 'rate_warmup': 20})
    whole = small_flow()
    rollouts = draw_rollouts(whole, LENGTHS, SUCCESS)
    rewards = np.where(rollouts.valid, rollouts.elapsed[:, 1:], 0.0).astype(np.float64)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        learner = PpoLearner(whole, settings)
        learner.learn(rollouts, rewards, 0)
        half = copy.deepcopy(whole)
        state = copy.deepcopy(learner.state())
        learner.learn(rollouts, rewards, 1)
    with torch.random.fork_rng(devices=[]):
        again = PpoLearner(half, settings)
        again.restore(state)
        again.learn(rollouts, rewards, 1)
    assert is_equal(weights_of(half), weights_of(whole))
    expected, found = learner.state(), again.state()
    assert expected.numbers == found.numbers
    assert is_equal(list(expected.tensors.values()), list(found.tensors.values()))


def test_the_critic_learns_what_depends_on_the_time_alone():
    torch.manual_seed(0)
    elapsed = torch.rand(512)
    observed = torch.zeros(512, 3)
    learner = CriticLearner(Critic(3, 64), learning_rate=1e-3, gradient_clip=1.0)
    wanted = 2.0 - elapsed
    random = np.random.default_rng(0)
    learner.fit(observed, elapsed, wanted, epochs=150, minibatch=128, random=random)
    assert (learner.critic.values(observed, elapsed) - wanted).abs().max() < 0.1


def test_a_number_that_is_not_finite_stops_the_step_before_it_is_made():
    policy = small_flow()
    before = weights_of(policy)
    samples = chunk_samples(draw_rollouts(policy, LENGTHS, SUCCESS))
    actor = Actor(policy, SETTINGS)
    with pytest.raises(TrainingError, match='gradient of the policy is not finite'):
        actor.improve(samples, torch.full((len(samples),), float('nan')), np.random.default_rng(0))
    assert is_equal(weights_of(policy), before)
    learner = CriticLearner(Critic(1, 4), learning_rate=1e-3, gradient_clip=1.0)
    one = torch.ones(1)
    with pytest.raises(TrainingError, match='gradient of the critic is not finite'):
        learner.fit(
            one[:, None],
            one,
            one * float('inf'),
            epochs=1,
            minibatch=1,
            random=np.random.default_rng(0),
        )


def test_chunks_after_the_last_payment_are_counted_as_idle():
    rollouts = draw_rollouts(small_flow(), (3, 2, 4, 1), (True, False, False, False))
    rewards = np.zeros(rollouts.valid.shape)
    rewards[0, [0, 2]] = 0.3, 2.0  # paid in its last chunk
    rewards[1, 0] = 0.3
    rewards[1, 3] = 0.3  # after its end: no chunk of the episode
    assert idle_after_reward(rollouts, rewards).tolist() == [0, 1, 4, 1]
