"""Claims of rollouts in this process: same seeds, same episodes, whatever the lanes."""

import numpy as np
import pytest

pytest.importorskip('torch')

import torch
from kinematic_state_body import FEATURE_NAMES
from kinematic_state_body import KinematicStateBody
from rollout_equality import assert_equal
from scripted_chunk_policy import ScriptedPolicy

from structrl_ros.control.episode_runner import simulated_episode
from structrl_ros.errors import ParameterError
from structrl_ros.errors import PolicyError
from structrl_ros.errors import SimulationError
from structrl_ros.models.policies.flow import FlowConfig
from structrl_ros.models.policies.registry import make_policy
from structrl_ros.ports import VectorWorld
from structrl_ros.training.collecting import collect
from structrl_ros.training.inference import draw_noise
from structrl_ros.training.lanes import LaneWorld
from structrl_ros.training.rollouts import join
from structrl_ros.world_types import EpisodeStart

pytestmark = pytest.mark.torch

TASKS = ('kinematic/two_in_basket', 'kinematic/soup_in_basket')
STARTS = tuple(EpisodeStart(TASKS[i % 2], 100 + i, i) for i in range(11))


def make_world(lanes, horizon=60, image_size=16):
    bodies = [
        KinematicStateBody(horizon_steps=horizon, image_size=image_size) for _ in range(lanes)
    ]
    return LaneWorld(bodies)


def play(lanes, *, policy=None, starts=STARTS, horizon=60, **options):
    policy = policy or ScriptedPolicy(FEATURE_NAMES)
    words = {'seed': 5, 'iteration': 2, 'explore': True, 'batch': 4, **options}
    return collect(policy, make_world(lanes, horizon), starts, **words)


def flow_policy():
    torch.manual_seed(0)
    config = FlowConfig(feature_names=FEATURE_NAMES, chunk_length=8, action_map='tabletop')
    return make_policy(config)


@pytest.fixture(scope='module')
def reference():
    return play(4)


def test_a_world_of_lanes_is_a_vector_world():
    assert isinstance(make_world(2), VectorWorld)


@pytest.mark.parametrize('lanes', [1, 3, 11, 16])
def test_the_number_of_lanes_changes_no_bit(reference, lanes):
    assert_equal(play(lanes), reference)


@pytest.mark.parametrize('lanes', [1, 5, 16])
def test_the_number_of_lanes_changes_no_bit_of_a_network(lanes):
    assert_equal(
        play(lanes, policy=flow_policy(), horizon=40), play(4, policy=flow_policy(), horizon=40)
    )


def test_parts_of_an_iteration_join_to_the_whole(reference):
    parts = [play(2, starts=STARTS[i : i + 4], first_episode=i) for i in (0, 4, 8)]
    assert_equal(join(parts), reference)


def test_an_episode_is_what_the_runner_alone_makes_of_its_actions(reference):
    episode = int(np.argmax(reference.success))
    start, runner = STARTS[episode], simulated_episode(KinematicStateBody(horizon_steps=60))
    runner.reset(start.task, start.seed, start.initial_state)
    names = len(runner.info.predicate_names)
    for chunk in range(reference.lengths[episode]):
        result = runner.run_chunk(reference.chain[episode, chunk, -1].clip(-1, 1))
        steps = reference.steps[episode, chunk]
        assert result.done.executed_steps == steps
        assert np.array_equal(result.done.executed, reference.executed[episode, chunk, :steps])
        truth = reference.truth[episode, chunk]
        assert tuple(truth[:names]) == result.predicates.values
        assert not truth[names:].any()
    assert result.done.terminated


def test_padding_is_zero_and_the_last_view_is_the_true_next_one(reference):
    lengths = reference.lengths
    assert len(set(lengths.tolist())) > 2
    for episode, length in enumerate(lengths):
        assert reference.valid[episode, :length].all()
        for name in ('valid', 'chain', 'log_prob', 'truth', 'steps', 'executed'):
            assert not getattr(reference, name)[episode, length:].any(), name
        assert not reference.features[episode, length + 1 :].any()
        assert not reference.elapsed[episode, length + 1 :].any()
        assert reference.features[episode, length].any()
        assert reference.elapsed[episode, length] == np.float32(
            reference.steps[episode].sum() / 60
        )
    assert reference.success.any()
    assert reference.truncated.any()
    assert np.array_equal(reference.terminated, ~reference.truncated)
    assert (reference.elapsed[reference.truncated].max(axis=1) == 1.0).all()


def test_noise_depends_on_seed_iteration_and_episode_alone():
    words = {'seed': 3, 'iteration': 1, 'episodes': range(4, 9)}
    noise = draw_noise((2, 3, 5), 6, **words)
    assert np.array_equal(noise[:, :4], draw_noise((2, 3, 5), 4, **words))
    alone = draw_noise((2, 3, 5), 6, seed=3, iteration=1, episodes=range(7, 8))
    assert np.array_equal(noise[3], alone[0])
    for change in ({'seed': 4}, {'iteration': 2}, {'episodes': range(5, 10)}):
        assert not (draw_noise((2, 3, 5), 6, **{**words, **change}) == noise).any()
    assert abs(float(noise.std()) - 1.0) < 0.05


def test_an_episode_keeps_its_row_in_batches_of_one_size():
    policy = ScriptedPolicy(FEATURE_NAMES)
    policy.train()
    play(3, policy=policy, starts=STARTS[:7], horizon=16)
    assert {len(batch.features) for batch in policy.batches} == {4}
    rows = [frozenset(b.features.any(dim=1).nonzero().flatten().tolist()) for b in policy.batches]
    assert set(rows) == {frozenset({0, 1, 2}), frozenset({3}), frozenset({0, 1}), frozenset({2})}
    sentences = policy.batches[0].instructions
    assert sentences[0].startswith('put both')
    assert sentences[3] == ''
    assert policy.training


def test_without_exploration_the_policy_means_what_it_says():
    rollouts = play(4, explore=False)
    assert not rollouts.log_prob.any()
    assert rollouts.success.sum() > play(4).success.sum() - 3
    assert np.array_equal(rollouts.chain[:, 0, 0], play(4).chain[:, 0, 0])


def test_nan_names_policy_lane_and_episode_and_nothing_is_sent():
    world, policy = make_world(3), ScriptedPolicy(FEATURE_NAMES)
    policy.spoil = 1
    with pytest.raises(PolicyError, match=r'lane 1, episode 5: actions .* hold NaN') as caught:
        collect(
            policy, world, STARTS[:3], seed=0, iteration=0, explore=True, batch=4, first_episode=4
        )
    assert '\n' not in str(caught.value)
    before = world.features()
    assert np.array_equal(before, world.features())
    world.reset(dict(enumerate(STARTS[:3])))
    assert np.array_equal(before, world.features())


def test_a_cut_episode_is_truncated_and_keeps_its_prefix(reference):
    cut = play(4, max_chunks=2)
    assert cut.truncated.all()
    assert np.array_equal(cut.chain, reference.chain[:, :2])
    assert np.array_equal(cut.features, reference.features[:, :3])


def test_pictures_are_kept_when_asked_and_drawn_once_a_view():
    policy = ScriptedPolicy(FEATURE_NAMES, roles=('head',))
    kept = play(4, policy=policy, starts=STARTS[:6], horizon=16, kept_roles=['head'])
    assert kept.images['head'].shape == (6, 3, 16, 16, 3)
    assert kept.images['head'].dtype == np.uint8
    body = KinematicStateBody(image_size=16)
    seen = policy.batches[0].images['head']
    assert seen.shape == (4, 16, 16, 3)
    assert np.array_equal(seen[1].numpy(), kept.images['head'][1, 0])
    assert body.spec.roles[0] == 'head'
    assert play(4, policy=policy, starts=STARTS[:6], horizon=16).images == {}


def test_pictures_that_only_a_reward_looks_at_are_kept_and_not_shown_to_the_policy():
    policy = ScriptedPolicy(FEATURE_NAMES)
    kept = play(4, policy=policy, starts=STARTS[:6], horizon=16, kept_roles=['head'])
    assert set(kept.images) == {'head'}
    assert kept.images['head'].any()
    assert policy.batches[0].images == {}
    plain = play(4, policy=ScriptedPolicy(FEATURE_NAMES), starts=STARTS[:6], horizon=16)
    assert np.array_equal(plain.chain, kept.chain)


def test_cpu_time_is_told_in_parts(reference):
    cpu = reference.cpu
    assert cpu.physics > 0.0
    assert cpu.network > 0.0
    assert cpu.other >= 0.0
    assert cpu.total == cpu.physics + cpu.network + cpu.other


def test_a_world_refuses_what_it_cannot_run():
    world = make_world(2)
    active = np.ones(2, dtype=bool)
    with pytest.raises(SimulationError, match='no lane 2; allowed: 0 to 1'):
        world.reset({2: STARTS[0]})
    with pytest.raises(SimulationError, match='unknown task'):
        world.reset({0: EpisodeStart('no/such', 0, 0)})
    with pytest.raises(SimulationError, match='no lane has a scene'):
        world.images('head')
    world.reset(dict(enumerate(STARTS[:2])))
    with pytest.raises(SimulationError, match=r'actions have shape \(2, 8, 6\)'):
        world.run_chunk(np.zeros((2, 8, 6), np.float32), active)
    spoiled = np.zeros((2, 8, 7), np.float32)
    spoiled[1, 3, 2] = np.inf
    with pytest.raises(SimulationError, match='lane 1 are not finite; nothing was sent'):
        world.run_chunk(spoiled, active)
    assert world.run_chunk(spoiled, np.array([True, False])).steps.tolist() == [8, 0]
    with pytest.raises(ParameterError, match='at least one episode'):
        play(2, starts=())


def test_lanes_must_be_of_one_kind():
    with pytest.raises(SimulationError, match='at least one body'):
        LaneWorld([])
