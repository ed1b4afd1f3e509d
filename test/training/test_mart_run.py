"""MART-GRPO on the kinematic twin: true states by replay, and whole runs of `train_grpo`."""

import numpy as np
import pytest

pytest.importorskip('torch')

from structrl_ros.errors import CheckpointError
from structrl_ros.errors import ParameterError
from structrl_ros.sim.events.reviewer import SimulatorEvents
from structrl_ros.training.body_worlds import world_maker
from structrl_ros.training.collecting import collect
from structrl_ros.training.failed_rollouts import RolloutViews
from structrl_ros.training.failed_rollouts import StateReplay
from structrl_ros.training.feedback_run import make_feedback
from structrl_ros.training.feedback_run import read_tally
from structrl_ros.training.metrics_log import read_metrics
from structrl_ros.training.progress_stand_in import TrueProgress
from structrl_ros.training.run_directory import create_run
from structrl_ros.training.run_request import make_request
from structrl_ros.training.run_trainer import carry_out
from structrl_ros.training.run_trainer import prepare_run
from structrl_ros.training.shipped_rewards import shipped_decompositions
from structrl_ros.training.start_policy import fresh_policy
from structrl_ros.world_types import EpisodeStart

pytestmark = pytest.mark.torch

OFFSET = {'calibration_offset': 0.02, 'horizon_steps': 60}
SMALL = {
    'episodes': '32',
    'iterations': '2',
    'environments': '16',
    'evaluate_every': '0',
    'group_size': '8',
}


@pytest.fixture(scope='module')
def world():
    made = world_maker('twin', environments=8, options=OFFSET)()
    yield made
    made.close()


@pytest.fixture(scope='module')
def rollouts(world):
    policy = fresh_policy({'hidden': 16}, world.spec, 0)
    starts = [EpisodeStart('pack_lunch', 3 + n // 4, 0) for n in range(8)]
    return collect(policy, world, starts, seed=0, iteration=0, explore=True, batch=8)


@pytest.fixture(scope='module')
def start(tmp_path_factory):
    """Return a run of imitation that learned to grasp an apple, now and then."""
    request = make_request(
        'sft',
        words={'body': 'twin'},
        tasks=('apple_in_bowl',),
        assignments={
            **{'updates': '300', 'demonstrations': '40', 'checkpoint_every': '300'},
            **{'policy.hidden': '48', 'batch': '128', 'evaluation_episodes': '0'},
        },
        seed=0,
    )
    prepared = prepare_run(request, worlds)
    run = create_run(tmp_path_factory.mktemp('start') / 'run', request.document())
    try:
        carry_out(prepared, run=run)
    finally:
        run.close()
    return run.path


def replay(**options):
    return StateReplay(
        world_maker('twin', environments=3, options={'horizon_steps': 60} | options)
    )


def test_a_replay_in_a_world_that_perceives_alike_gives_the_states_to_the_last_bit(rollouts):
    replayed = replay(calibration_offset=0.02)
    states = replayed.states(rollouts, [0, 3, 4, 7])
    for episode, found in zip((0, 3, 4, 7), states, strict=True):
        seen = rollouts.features[episode, : rollouts.lengths[episode] + 1]
        assert np.array_equal(found.astype(np.float32), seen)
    replayed.close()


def test_a_replay_tells_what_is_so_not_what_the_policy_perceived(rollouts):
    replayed = replay()
    found = replayed.states(rollouts, [1])[0]
    names = list(replayed.names)
    handle, tool = names.index('fixture_0_handle_far_x'), names.index('tcp_x')
    assert found[:, tool] == pytest.approx(rollouts.features[1, : len(found), tool])
    assert np.abs(found[:, handle] - rollouts.features[1, : len(found), handle]).min() > 0.01
    replayed.close()


def test_a_replay_that_comes_out_otherwise_tells_no_states(rollouts):
    other = rollouts.truth.copy()
    other[2, 1, 0] = ~other[2, 1, 0]
    changed = type(rollouts)(
        **{f: getattr(rollouts, f) for f in rollouts.__slots__} | {'truth': other}
    )
    replayed = replay()
    states = replayed.states(changed, [1, 2])
    assert states[0] is not None
    assert states[1] is None
    with pytest.raises(ParameterError, match='without states'):
        SimulatorEvents().review(RolloutViews(replay=replayed)(changed, [2])[0])
    replayed.close()


def test_views_hold_potentials_at_every_boundary(rollouts):
    found = shipped_decompositions('twin', ('pack_lunch',))
    views = RolloutViews(progress=TrueProgress(found, noise=0.0))
    seen = views(rollouts, [5])[0]
    assert seen.potential.shape == (rollouts.lengths[5] + 1,)
    assert seen.potential[0] == 0.0
    assert seen.instruction == rollouts.tasks[5].instruction


def practise(start, folder, **changes):
    request = make_request(
        'grpo',
        words={'body': 'twin', 'start': str(start)},
        tasks=('apple_in_bowl',),
        assignments={**SMALL, **changes},
        seed=0,
    )
    run = create_run(folder, prepare_run(request, worlds).request.document())
    try:
        carry_out(prepare_run(request, worlds), run=run)
    finally:
        run.close()
    return read_metrics(folder / 'metrics.jsonl')


def worlds(request):
    return world_maker(
        request.body,
        environments=request.settings.environments,
        options=request.body_options,
        feature_names=request.feature_names,
    )


@pytest.fixture(scope='module')
def cut(start, tmp_path_factory):
    """Return the folder and the numbers of a run with true events."""
    folder = tmp_path_factory.mktemp('cut') / 'run'
    return folder, practise(start, folder, failure_feedback='truncated')


def test_a_run_with_events_tells_what_it_kept_and_keeps_the_account(cut):
    folder, told = cut
    assert len(told) == 2
    assert all(row['feedback/failures'] > 0 for row in told)
    tally = read_tally(str(folder))
    assert tally.failures == sum(row['feedback/failures'] for row in told)
    assert tally.shortened == sum(row['feedback/shortened'] for row in told)
    assert told[-1]['feedback/pooled_retained_mass'] == pytest.approx(tally.retained)
    assert tally.shortened + sum(tally.fallbacks.values()) <= tally.failures + tally.shortened


def test_controls_copy_mass_and_boundaries_of_a_run_with_events(start, cut, tmp_path):
    folder, _ = cut
    scaled = practise(
        start, tmp_path / 'uniform', failure_feedback='uniform', feedback_from=str(folder)
    )
    retained = read_tally(str(folder)).retained
    assert scaled[0]['feedback/retained_mass'] == pytest.approx(retained)
    drawn = practise(
        start, tmp_path / 'prefix', failure_feedback='random_prefix', feedback_from=str(folder)
    )
    assert drawn[0]['feedback/fallbacks'] == 0.0
    observed = read_tally(str(folder)).boundaries
    assert set(read_tally(str(tmp_path / 'prefix')).boundaries) <= set(observed)


def test_groups_that_cannot_be_mixed_are_played_again_up_to_the_limit(start, tmp_path):
    told = practise(start, tmp_path / 'run', accepted='mixed', resampling='2', iterations='1')
    accepted = told[0]['groups/played'] - told[0]['groups/skipped']
    assert accepted <= 4.0 <= told[0]['groups/played'] <= 12.0  # 4 more in each of 2 rounds
    assert accepted == 4.0 or told[0]['groups/played'] > 5.0


@pytest.mark.parametrize(
    ('changes', 'fault', 'line'),
    [
        (
            {'failure_feedback': 'random_prefix', 'feedback_from': '/nowhere'},
            CheckpointError,
            'feedback_from /nowhere: no run',
        ),
        ({'failure_feedback': 'truncated'}, ParameterError, "body 'libero' tells no failure"),
    ],
)
def test_feedback_that_cannot_be_had_is_one_line(changes, fault, line):
    request = make_request(
        'grpo', words={'body': 'libero'}, tasks=('long/0',), assignments=changes, seed=0
    )
    with pytest.raises(fault, match=line):
        make_feedback(request, request.settings)
