"""Named rewards on episodes of the twin's expert, with the decompositions that are shipped."""

import json

import numpy as np
import pytest

from structrl_ros.cli.score import score_document
from structrl_ros.errors import ParameterError
from structrl_ros.sim.decompositions import shipped_decomposition
from structrl_ros.sim.twin.world import TwinWorld
from structrl_ros.subtasks.density import LEVELS
from structrl_ros.training.reward_configurations import REWARDS
from structrl_ros.world_types import EpisodeStart

pytestmark = pytest.mark.torch

TASK, LENGTH, EPISODES = 'pack_lunch', 5, 6


def played(names):
    """Return rollouts of the expert in chunks of five steps, all of `names` published."""
    from structrl_ros.training.rollouts import Rollouts

    world = TwinWorld(EPISODES, checkpoints=names)
    starts = tuple(EpisodeStart(TASK, 1000 + e, 0) for e in range(EPISODES))
    world.reset(dict(enumerate(starts)))
    running = np.ones(EPISODES, dtype=bool)
    success = np.zeros(EPISODES, dtype=bool)
    rows = []
    while running.any():
        begun = running.copy()
        truth, sent = [], np.zeros((EPISODES, LENGTH, 7), np.float32)
        for k in range(LENGTH):
            done = world.run_chunk(world.expert_actions()[:, None], running)
            truth.append(done.truth)
            sent[:, k] = done.executed[:, 0]
            success |= done.success
            running &= ~(done.terminated | done.truncated)
        rows.append((begun, np.any(truth, axis=0), sent))
    valid, truth, executed = (np.stack(column, axis=1) for column in zip(*rows, strict=True))
    chunks = valid.shape[1]
    return Rollouts(
        features=np.zeros((EPISODES, chunks + 1, 1), np.float32),
        elapsed=np.zeros((EPISODES, chunks + 1), np.float32),
        chain=np.zeros((EPISODES, chunks, 1, LENGTH, 7), np.float32),
        log_prob=np.zeros((EPISODES, chunks, LENGTH, 7), np.float32),
        valid=valid,
        truth=truth,
        steps=np.where(valid, LENGTH, 0),
        executed=executed,
        success=success,
        terminated=success,
        truncated=~success,
        tasks=world.tasks,
        starts=starts,
    )


@pytest.fixture(scope='module')
def rollouts():
    names = {n: None for v in ('density_52', 'earlier_5') for n in decomposition(v).names}
    return played(tuple(names))


def decomposition(variant):
    return shipped_decomposition('twin', TASK, variant)


def paid_by(name, rollouts, **options):
    from structrl_ros.training.shipped_rewards import make_reward

    source = make_reward(name, 'twin', [TASK], **options)
    return source, source(rollouts)


def when(paid):
    """Return in which chunk each name was paid, names by episodes."""
    return (paid.payments > 0.0).argmax(axis=1)


def test_expert_succeeds_and_is_paid_each_subtask_once_at_every_density(rollouts):
    assert rollouts.success.all()
    for level in LEVELS:
        _, paid = paid_by(f'density_{level}', rollouts)
        variant = f'density_{level}'
        expected = () if level == '0' else decomposition(variant).names
        assert paid.names == (tuple(expected),) * EPISODES
        assert ((paid.payments > 0.0).sum(axis=1) == 1).all()
        assert paid.terminal.sum(axis=1).tolist() == [2.0] * EPISODES


def test_total_reward_grows_with_density_unless_it_is_capped(rollouts):
    _, whole = paid_by('unbounded_14', rollouts)
    _, capped = paid_by('capped_14', rollouts)
    assert whole.payments.sum(axis=(1, 2)) == pytest.approx(14 * 0.3)
    assert capped.payments.sum(axis=(1, 2)) == pytest.approx(REWARDS['capped_14'].cap)


def test_earlier_checkpoints_pay_earlier_with_the_same_number_and_stages(rollouts):
    _, reference = paid_by('density_5', rollouts)
    _, early = paid_by('earlier_5', rollouts)
    sizes = [[len(s) for s in decomposition(v).stages] for v in ('density_5', 'earlier_5')]
    assert sizes[0] == sizes[1]
    ahead = when(reference) - when(early)
    assert (ahead >= 0).all()
    assert ahead.mean() > 0.5


def test_uniform_pacing_pays_by_the_horizon_and_gating_changes_nothing_for_the_expert(rollouts):
    _, uniform = paid_by('uniform', rollouts)
    first = uniform.payments[0, :, 0]
    chunk = int(first.argmax()) + 1
    horizon = rollouts.tasks[0].horizon_steps
    assert first.max() == pytest.approx(0.6 / (1 + chunk / (horizon / LENGTH / 4)))
    _, gated = paid_by('structured', rollouts)
    _, free = paid_by('paced', rollouts)
    assert np.array_equal(gated.rewards, free.rewards)


@pytest.mark.parametrize('name', ['structured', 'density_14', 'earlier_5', 'capped_14'])
def test_score_of_the_trace_is_what_was_paid(rollouts, name):
    from structrl_ros.training.traces import trace_document

    source, paid = paid_by(name, rollouts)
    scored, is_fine = score_document('structured_reward', trace_document(rollouts, source))
    assert is_fine
    json.dumps(scored)
    for episode, case in enumerate(scored['cases']):
        chunks = rollouts.lengths[episode]
        assert case['output']['rewards'] == paid.rewards[episode, :chunks].tolist()


def test_world_is_asked_for_checkpoints_only_where_they_are_paid(rollouts):
    from structrl_ros.training.shipped_rewards import checkpoints
    from structrl_ros.training.shipped_rewards import make_reward

    def asked(name):
        return checkpoints(make_reward(name, 'twin', [TASK]), [TASK])

    assert asked('structured') == asked('terminal') == ()
    assert asked('density_10') == decomposition('density_10').names


def test_progress_reward_needs_its_scale_and_then_pays_on_the_structured_one(rollouts):
    from structrl_ros.training.progress_stand_in import TrueProgress
    from structrl_ros.training.reward_source import match_beta_r
    from structrl_ros.training.shipped_rewards import shipped_decompositions

    with pytest.raises(ParameterError, match='beta_r: a progress reward needs its scale'):
        paid_by('robometer', rollouts)
    source, structured = paid_by('structured', rollouts)
    progress = TrueProgress(shipped_decompositions('twin', [TASK]), noise=0.1)
    beta_r = match_beta_r(rollouts, source, progress)
    _, paid = paid_by('robometer', rollouts, beta_r=beta_r)
    own = np.abs(paid.payments).sum()
    assert own == pytest.approx(np.abs(structured.payments).sum(), rel=1e-9)
    assert 0.001 < beta_r < 1.0
    assert (paid.terminal.sum(axis=1) == 2.0).all()


def test_every_named_reward_can_be_made():
    from structrl_ros.training.shipped_rewards import make_reward

    for name in REWARDS:
        make_reward(name, 'twin', [TASK], beta_r=0.05)
