"""The expert's twin, with a skill of the test that only goes down for a while."""

import numpy as np
import pytest

from structrl_ros.errors import SimulationError
from structrl_ros.errors import StaleDataError
from structrl_ros.ports import Policy
from structrl_ros.sim.libero.body import LiberoBody
from structrl_ros.sim.libero.expert_policy import RESTART_AFTER_STEPS
from structrl_ros.sim.libero.expert_policy import LiberoExpert
from structrl_ros.types import Episode
from structrl_ros.types import Observation
from structrl_ros.types import SimulatorState
from structrl_ros.types import Subtask

pytestmark = pytest.mark.sim
pytest.importorskip('libero')

LENGTH = 8
DOWN = Subtask(id='s1', phrase='go down', verb='descend', arguments=(), stage=0)
AGAIN = Subtask(id='s2', phrase='go down', verb='descend', arguments=(), stage=1)


class Descend:
    """Goes down by feedback until 12 actions are over; remembers them, and where it began."""

    def __init__(self):
        self.finished = False
        self.count = 0
        self.start = None

    def action(self, body):
        height = body.proprioception(0).ee_pose[2]
        if self.start is None:
            self.start = height
        self.count += 1
        self.finished = self.count >= 12
        return np.array([0, 0, -0.3 - (self.start - height), 0, 0, 0, 1], dtype=np.float32)


class World:
    """A body with the expert beside it, as two processes would hold them."""

    def __init__(self):
        self.body = LiberoBody()
        self.made = 0
        self.expert = LiberoExpert(chunk_length=LENGTH, make_skill=self.make_skill)

    def make_skill(self, body, subtask):
        self.made += 1
        return Descend()

    def restart(self, episode=1):
        self.body.reset('long/0', 0, 0)
        self.expert.reset(
            Episode(
                stamp_ns=0, episode=episode, ended=False, body='libero', task='long/0',
                instruction='', seed=0, initial_state=0,
            )
        )  # fmt: skip
        self.episode, self.step, self.made = episode, 0, 0

    def ask(self, subtask=DOWN):
        state = SimulatorState(
            stamp_ns=0, episode=self.episode, chunk=0, step=self.step, task='long/0', seed=0,
            initial_state=0, state=self.body.simulator_state(),
        )  # fmt: skip
        observation = Observation(stamp_ns=0, episode=self.episode, simulator=state)
        return self.expert.act(observation, subtask, '')

    def execute(self, actions):
        for action in actions:
            self.body.step(action)
            self.step += 1

    def close(self):
        self.body.close()
        self.expert.close()


@pytest.fixture(scope='module')
def built():
    world = World()
    yield world
    world.close()


@pytest.fixture
def world(built):
    built.restart()
    return built


def test_expert_is_a_privileged_policy(world):
    assert isinstance(world.expert, Policy)
    assert world.expert.spec.privileged
    assert world.expert.spec.chunk_length == LENGTH


def test_the_body_goes_where_the_twin_went_bit_for_bit(world):
    for _ in range(3):
        world.execute(world.ask())
        np.testing.assert_array_equal(
            world.body.simulator_state(), world.expert._twin.simulator_state()
        )


def test_a_chunk_asked_for_in_mid_flight_continues_the_same_motion(world):
    first = world.ask()
    world.execute(first[:5])
    second = world.ask()
    np.testing.assert_array_equal(second[: LENGTH - 5], first[5:])
    assert world.made == 1


def test_a_skill_reacts_to_what_the_body_really_did(world):
    planned = world.ask()
    world.execute(planned * 0.5)
    changed = world.ask()
    world.restart()
    world.execute(world.ask())
    assert not np.array_equal(world.ask(), changed)


def test_after_its_end_a_skill_holds(world):
    world.execute(world.ask())
    actions = world.ask()
    assert (actions[:4, 2] < -0.1).all()
    np.testing.assert_array_equal(actions[4:], [[0, 0, 0, 0, 0, 0, 1]] * 4)


def test_a_skill_whose_subtask_stays_undone_starts_anew(world):
    chunks = 3 + RESTART_AFTER_STEPS // LENGTH
    moving = []
    for _ in range(chunks):
        actions = world.ask()
        moving.append(bool(actions[:, 2].any()))
        world.execute(actions)
    assert moving == [True, True] + [False] * (chunks - 3) + [True]
    assert world.made == 2


def test_another_subtask_and_another_episode_get_new_skills(world):
    world.execute(world.ask(DOWN))
    world.ask(AGAIN)
    assert world.made == 2
    world.restart(episode=2)
    world.ask(AGAIN)
    assert world.made == 1


def test_waiting_longer_than_a_chunk_keeps_the_memory(world):
    world.execute(world.ask())
    world.execute([world.body.hold_action()] * 7)
    assert (world.ask()[:, 2] != 0).sum() == 4
    assert world.made == 1


def test_an_observation_without_the_simulators_state_is_refused(world):
    with pytest.raises(StaleDataError, match='privileged/state'):
        world.expert.act(Observation(stamp_ns=0, episode=1), DOWN, '')


def test_another_body_is_refused(world):
    episode = Episode(0, 1, False, 'kinematic', 'reach', '', 0, 0)
    with pytest.raises(SimulationError, match=r"body 'kinematic'; allowed: libero"):
        world.expert.reset(episode)


def test_a_chunk_length_outside_its_range_is_refused():
    with pytest.raises(SimulationError, match='chunk length 0; allowed: 1 to 200'):
        LiberoExpert(chunk_length=0)
