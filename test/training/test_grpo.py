"""GRPO: groups, the ones that teach nothing, and what a mask may hide."""

import copy
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip('torch')

import torch
from drawn_rollouts import draw_rollouts
from drawn_rollouts import small_flow

from structrl_ros.errors import ParameterError
from structrl_ros.training.feedback import FailureFeedback
from structrl_ros.training.feedback import full_rule
from structrl_ros.training.grpo import GrpoLearner
from structrl_ros.training.samples import chunk_samples
from structrl_ros.training.settings import GrpoSettings
from structrl_ros.training.settings_document import make_settings
from structrl_ros.training.starts import evaluation_starts
from structrl_ros.training.starts import practice_starts

pytestmark = pytest.mark.torch

SETTINGS = GrpoSettings(
    tasks=('task',), episodes=4, group_size=2, rate_warmup=0, learning_rate=1e-3
)


def weights_of(policy):
    return [parameter.detach().clone() for parameter in policy.parameters()]


def is_equal(first, second):
    return all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


def log_probs(policy, rollouts):
    samples = chunk_samples(rollouts)
    with torch.no_grad():
        change = policy.log_prob(samples.inputs, samples.chain) - samples.log_prob
    flat = np.zeros(rollouts.valid.shape)
    flat[rollouts.valid] = change.sum((1, 2)).numpy()
    return flat


def test_a_group_is_one_task_and_one_initial_state():
    tasks = ('one', 'two', 'three')
    starts = practice_starts(tasks, 24, seed=1, iteration=0, initial_states=50, group_size=8)
    groups = [starts[first : first + 8] for first in (0, 8, 16)]
    assert [len(set(group)) for group in groups] == [1, 1, 1]
    assert [group[0].task for group in groups] == ['one', 'two', 'three']
    assert len({group[0].seed for group in groups}) == 3


def test_episodes_are_spread_evenly_over_tasks_in_the_long_run():
    tasks = ('one', 'two', 'three')
    starts = [start for i in range(6) for start in practice_starts(tasks, 4, seed=0, iteration=i)]
    assert {task: sum(s.task == task for s in starts) for task in tasks} == dict.fromkeys(tasks, 8)
    assert len({start.seed for start in starts}) == 24


def test_evaluation_plays_every_initial_state_equally_often_and_other_seeds():
    starts = evaluation_starts(('one', 'two'), 6, seed=0, initial_states=3)
    assert [s.initial_state for s in starts if s.task == 'two'] == [0, 1, 2, 0, 1, 2]
    practised = {
        s.seed for i in range(50) for s in practice_starts(('one',), 64, seed=0, iteration=i)
    }
    assert not practised & {s.seed for s in starts}


def test_episodes_that_make_no_whole_groups_are_refused():
    with pytest.raises(ParameterError, match='multiple of group_size 8, got 60'):
        make_settings(GrpoSettings, {'episodes': 60})
    with pytest.raises(ParameterError, match='at least one is needed'):
        practice_starts((), 8, seed=0, iteration=0)


def test_the_better_of_a_group_becomes_likelier_and_the_worse_does_not():
    policy = small_flow()
    rollouts = draw_rollouts(policy, (4, 4) * 8, (True, False) * 8)
    rewards = np.zeros(rollouts.valid.shape)
    rewards[::2, -1] = 2.0
    settings = SETTINGS.model_copy(update={'episodes': 16, 'epochs': 20, 'kl_stop': 5.0})
    GrpoLearner(policy, settings).learn(rollouts, rewards, 0)
    change = log_probs(policy, rollouts)
    assert change[::2].mean() > change[1::2].mean() + 0.1


def test_groups_without_spread_are_left_out_and_counted():
    policy = small_flow()
    before = weights_of(policy)
    rollouts = draw_rollouts(policy, (3, 2, 4, 1), (True, True, False, False))
    rewards = np.zeros(rollouts.valid.shape)
    rewards[:2, 0] = 2.0
    metrics = GrpoLearner(policy, SETTINGS).learn(rollouts, rewards, 0)
    assert (metrics['actor/skipped'], metrics['groups/skipped']) == (1.0, 2.0)
    assert is_equal(weights_of(policy), before)
    rewards[2, 0] = 0.5
    metrics = GrpoLearner(policy, SETTINGS).learn(rollouts, rewards, 0)
    assert (metrics['actor/skipped'], metrics['groups/skipped']) == (0.0, 1.0)
    assert not is_equal(weights_of(policy), before)


def test_chunks_of_dead_groups_change_nothing():
    lengths, success = (3, 2, 4, 1), (True, False, False, False)
    first, second = small_flow(), small_flow()
    rollouts = draw_rollouts(first, lengths, success)
    rewards = np.zeros(rollouts.valid.shape)
    rewards[0, 2] = 2.0
    GrpoLearner(first, SETTINGS).learn(rollouts, rewards, 0)
    rollouts.features[2:] += 1.0  # the dead group
    GrpoLearner(second, SETTINGS).learn(rollouts, rewards, 0)
    assert is_equal(weights_of(first), weights_of(second))


def test_a_rule_decides_which_chunks_are_taught():
    policy = small_flow()
    rollouts = draw_rollouts(policy, (4, 4) * 8, (True, False) * 8)
    rewards = np.zeros(rollouts.valid.shape)
    rewards[::2, -1] = 2.0
    asked = []

    def first_chunk(given, episodes, advantages, iteration):
        asked.append(advantages)
        kept = full_rule(given, episodes, advantages, iteration)[0]
        first = replace(kept, weights=np.where(np.arange(4) == 0, kept.weights, 0.0))
        return first, [None] * 16, [''] * 16

    settings = SETTINGS.model_copy(update={'episodes': 16, 'epochs': 20, 'kl_stop': 5.0})
    GrpoLearner(policy, settings, FailureFeedback(first_chunk)).learn(rollouts, rewards, 0)
    assert asked[0][:2].sum() == pytest.approx(0.0)
    change = log_probs(policy, rollouts)
    gain = change[::2].mean(axis=0) - change[1::2].mean(axis=0)
    assert gain[0] > 3.0 * np.abs(gain[1:]).max()


def test_groups_of_one_outcome_teach_nothing_where_outcomes_must_differ():
    policy = small_flow()
    before = weights_of(policy)
    rollouts = draw_rollouts(policy, (3, 2, 4, 1), (False, False, False, False))
    rewards = np.zeros(rollouts.valid.shape)
    rewards[0, 0] = 0.5
    mixed = SETTINGS.model_copy(update={'accepted': 'mixed'})
    metrics = GrpoLearner(policy, mixed).learn(rollouts, rewards, 0)
    assert (metrics['groups/skipped'], metrics['groups/played']) == (2.0, 2.0)
    assert is_equal(weights_of(policy), before)
    assert GrpoLearner(policy, SETTINGS).learn(rollouts, rewards, 0)['groups/skipped'] == 1.0


@pytest.mark.parametrize(
    ('resampling', 'rounds', 'missing'), [(0, 0, 0), (2, 0, 1), (2, 1, 1), (2, 2, 0)]
)
def test_groups_of_one_outcome_are_played_again_up_to_a_limit(resampling, rounds, missing):
    rollouts = draw_rollouts(small_flow(), (3, 2, 4, 1), (True, False, False, False))
    settings = SETTINGS.model_copy(update={'episodes': 4, 'resampling': resampling})
    assert GrpoLearner(small_flow(), settings).missing_groups(rollouts, rounds) == missing


def test_a_reference_holds_the_policy_back():
    far, near = small_flow(), small_flow()
    rollouts = draw_rollouts(far, (4, 4) * 8, (True, False) * 8)
    rewards = np.zeros(rollouts.valid.shape)
    rewards[::2, -1] = 2.0
    settings = SETTINGS.model_copy(update={'episodes': 16, 'epochs': 20, 'kl_stop': 5.0})
    held = settings.model_copy(update={'reference_kl': 10.0})
    free = GrpoLearner(far, settings).learn(rollouts, rewards, 0)
    tied = GrpoLearner(near, held).learn(rollouts, rewards, 0)
    assert tied['actor/kl'] < 0.5 * free['actor/kl']


def test_the_same_weights_follow_from_a_restored_state():
    settings = SETTINGS.model_copy(update={'reference_kl': 0.1, 'rate_warmup': 20})
    whole = small_flow()
    rollouts = draw_rollouts(whole, (3, 2, 4, 1), (True, False, True, False))
    rewards = np.where(rollouts.valid, rollouts.elapsed[:, 1:], 0.0).astype(np.float64)
    learner = GrpoLearner(whole, settings)
    learner.learn(rollouts, rewards, 0)
    half, state = copy.deepcopy(whole), copy.deepcopy(learner.state())
    learner.learn(rollouts, rewards, 1)
    again = GrpoLearner(half, settings)
    again.restore(state)
    again.learn(rollouts, rewards, 1)
    assert is_equal(weights_of(half), weights_of(whole))
    assert again.state().numbers == learner.state().numbers
