"""Claims of the Gymnasium faces: they pass Gymnasium's own checks and pay what is due."""

import functools

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AsyncVectorEnv
from gymnasium.vector import SyncVectorEnv
from gymnasium.wrappers import RecordEpisodeStatistics
from gymnasium.wrappers.vector import RecordEpisodeStatistics as RecordVectorStatistics

from structrl_ros.errors import ParameterError
from structrl_ros.errors import SimulationError
from structrl_ros.rewards.structured import StructuredReward
from structrl_ros.sim import gym_world
from structrl_ros.sim.gym_vector import WorldVectorEnv
from structrl_ros.sim.gym_vector import make_twin_vector
from structrl_ros.sim.gym_world import BodyEnv
from structrl_ros.sim.kinematic.body import KinematicBody
from structrl_ros.sim.tabletop.experts.expert import expert_moves
from structrl_ros.sim.tabletop.experts.motion import to_body
from structrl_ros.sim.tabletop.task_files import find_task
from structrl_ros.sim.tabletop.task_files import tasks
from structrl_ros.sim.twin.body import TwinBody
from structrl_ros.sim.twin.world import TwinWorld
from structrl_ros.types import RewardRule

# State vectors have no bounds, which Gymnasium advises against; a body's features are unbounded.
UNBOUNDED = 'ignore:.*(infinity|observation space m|not within the observation space).*'
pytestmark = pytest.mark.filterwarnings(UNBOUNDED)


def structured(info):
    names = find_task(info.task).stages
    every = [name for stage in names for name in stage]
    return StructuredReward(RewardRule(names, dict.fromkeys(every, 5.0)))


def expert_chunk(seed, initial_state, state, task='pack_lunch', rows=5):
    """What the expert does in the next rows, from a body's state."""
    body = TwinBody()
    body.reset(task, seed, initial_state)
    body.set_simulator_state(state)
    chunk = np.empty((rows, 7), np.float32)
    for row in chunk:
        row[:] = to_body(expert_moves(body.view, body.task))[0]
        body.step(row)
    return chunk


def play_by_expert(environment, seed=4, initial_state=7):
    environment.reset(options={'seed': seed, 'initial_state': initial_state})
    rewards = []
    while True:
        state = environment.unwrapped._body.simulator_state()
        seen, reward, terminated, truncated, info = environment.step(
            expert_chunk(seed, initial_state, state)
        )
        rewards.append(reward)
        if terminated or truncated:
            return rewards, info, seen


@pytest.mark.parametrize('chunk_length', [None, 1, 5])
def test_environment_passes_gymnasiums_own_check(chunk_length):
    environment = gymnasium.make(
        'structrl/PackLunchTwin-v0',
        chunk_length=chunk_length,
        render_mode='rgb_array',
        image_size=32,
    )
    check_env(environment.unwrapped)
    environment.reset(seed=0)
    assert environment.render().shape == (32, 32, 3)
    environment.close()


@pytest.mark.parametrize('name', sorted(tasks()))
def test_every_task_is_registered_on_the_twin(name):
    title = name.title().replace('_', '')
    environment = gymnasium.make(f'structrl/{title}Twin-v0')
    seen, _ = environment.reset(seed=1)
    assert environment.unwrapped.task_info.task == name
    assert environment.observation_space.contains(seen)
    assert gymnasium.spec(f'structrl/{title}-v0').kwargs['body'] == 'tabletop'
    environment.close()


def test_registering_twice_does_nothing():
    before = len(gymnasium.registry)
    gym_world.register_environments()
    assert len(gymnasium.registry) == before


def test_the_terminal_reward_is_1_at_success_and_nothing_before():
    rewards, info, _ = play_by_expert(BodyEnv())
    assert rewards[:-1] == [0.0] * (len(rewards) - 1)
    assert rewards[-1] == 1.0
    assert info['success']


def test_recorded_returns_are_the_sums_of_the_structured_rewards_of_chunks():
    environment = RecordEpisodeStatistics(BodyEnv(reward=structured))
    rewards, info, _ = play_by_expert(environment)
    assert sum(r > 0.0 for r in rewards) == 4
    assert info['episode']['r'] == pytest.approx(sum(rewards))
    assert info['episode']['l'] == len(rewards)
    assert rewards[-1] > 2.0


def test_one_row_and_chunk_environments_play_the_same_world():
    chunked, rowed = BodyEnv(chunk_length=5), BodyEnv(chunk_length=None)
    for environment in (chunked, rowed):
        environment.reset(seed=3)
    chunked.action_space.seed(0)
    for _ in range(4):
        chunk = chunked.action_space.sample()
        seen, *_, info = chunked.step(chunk)
        truth = np.zeros_like(info['truth'])
        for row in chunk:
            last, *_, told = rowed.step(row)
            truth |= told['truth']
        assert np.array_equal(last, seen)
        assert np.array_equal(truth, info['truth'])


def test_seeds_repeat_episodes_and_options_choose_them():
    environment = BodyEnv()
    first, _ = environment.reset(seed=5)
    second, _ = environment.reset()
    again, _ = environment.reset(seed=5)
    assert np.array_equal(first, again)
    assert not np.array_equal(first, second)
    chosen, _ = environment.reset(options={'seed': 8, 'initial_state': 1})
    body = TwinBody()
    body.reset('pack_lunch', 8, 1)
    assert np.array_equal(chosen, body.features())


def vector_of(kind, lanes=3):
    makers = [functools.partial(BodyEnv, reward=structured, horizon_steps=20)] * lanes
    if kind == 'world':
        return make_twin_vector(lanes, reward=structured, horizon_steps=20)
    if kind == 'async':
        return AsyncVectorEnv(makers, context='fork')
    return SyncVectorEnv(makers)


@pytest.mark.parametrize('kind', ['sync', 'world', 'async'])
def test_vector_environments_play_the_same_episodes_and_record_their_returns(kind):
    plain = SyncVectorEnv([functools.partial(BodyEnv, reward=structured, horizon_steps=20)] * 3)
    recorded = RecordVectorStatistics(vector_of(kind))
    a, _ = plain.reset(seed=11)
    b, _ = recorded.reset(seed=11)
    assert np.array_equal(a, b)
    sums, ends = np.zeros(3), np.zeros(3, bool)
    recorded.action_space.seed(2)
    for _ in range(11):
        actions = recorded.action_space.sample()
        left, right = plain.step(actions), recorded.step(actions)
        for x, y in zip(left[:4], right[:4], strict=True):
            assert np.array_equal(x, y)
        assert np.array_equal(left[4]['success'], right[4]['success'])
        sums = np.where(ends, 0.0, sums + right[1])
        ends = right[2] | right[3]
        if ends.any():
            assert np.allclose(right[4]['episode']['r'][ends], sums[ends])
            assert (right[4]['episode']['l'][ends] == 4).all()
    plain.close()
    recorded.close()


def test_make_vec_of_a_twin_is_one_vectorised_world():
    environment = gymnasium.make_vec(
        'structrl/PackLunchTwin-v0', num_envs=4, vectorization_mode='vector_entry_point'
    )
    assert isinstance(environment.unwrapped, WorldVectorEnv)
    seen, info = environment.reset(seed=0)
    assert seen.shape == (4, environment.single_observation_space.shape[0])
    assert info['truth'].shape == (4, 6)
    environment.close()


def test_a_world_pays_its_lanes_as_single_environments_are_paid():
    world = WorldVectorEnv(TwinWorld(2), reward=structured)
    world.reset(seed=0, options={'seed': 4, 'initial_state': 7})
    single = BodyEnv(reward=structured)
    single.reset(options={'seed': 4, 'initial_state': 7})
    total = np.zeros(2)
    while True:
        chunk = expert_chunk(4, 7, single._body.simulator_state())
        _, reward, terminated, truncated, _ = single.step(chunk)
        _, rewards, ended, _, _ = world.step(np.stack([chunk, chunk]))
        assert rewards.tolist() == [reward] * 2
        assert ended.tolist() == [terminated] * 2
        total += rewards
        if terminated or truncated:
            break
    assert total.min() > 2.0


def test_wrong_arguments_are_refused():
    with pytest.raises(ParameterError, match="render_mode 'human'; allowed: None, rgb_array"):
        BodyEnv(render_mode='human')
    with pytest.raises(ParameterError, match='chunk_length 0'):
        BodyEnv(chunk_length=0)
    with pytest.raises(ParameterError, match="body 'kinematic' tells no state vector"):
        BodyEnv(KinematicBody(), 'kinematic/two_in_basket')
    with pytest.raises(SimulationError, match='unknown task'):
        BodyEnv(task='cook')
    vector = make_twin_vector(2)
    with pytest.raises(SimulationError, match='no episode runs'):
        vector.step(np.zeros((2, 5, 7), np.float32))
    with pytest.raises(SimulationError, match='3 seeds; allowed: 2, or one'):
        vector.reset(seed=[1, 2, 3])


@pytest.mark.sim
def test_the_mujoco_tabletop_passes_gymnasiums_own_check_too():
    environment = gymnasium.make('structrl/AppleInBowl-v0', image_size=32)
    check_env(environment.unwrapped, skip_render_check=True)
    environment.close()
