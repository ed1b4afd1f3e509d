"""A body that follows another one by its privileged state."""

import numpy as np

from structrl_ros.sim.follower import Follower
from structrl_ros.sim.kinematic.body import KinematicBody
from structrl_ros.types import SimulatorState

TASK = 'kinematic/two_in_basket'


class CountingBody(KinematicBody):
    resets = 0

    def reset(self, task, seed, initial_state):
        self.resets += 1
        return super().reset(task, seed, initial_state)


def state_of(body, seed):
    return SimulatorState(0, 1, 0, 0, TASK, seed, 0, body.simulator_state())


def test_a_scene_is_built_once_and_its_states_are_followed_to_the_last_bit():
    ahead, behind = KinematicBody(), CountingBody()
    follower = Follower(behind)
    for seed in (0, 1):
        ahead.reset(TASK, seed, 0)
        for _ in range(3):
            ahead.step(np.array([0.5, -0.2, -0.4, 0, 0, 0, 1], dtype=np.float32))
            follower.follow(state_of(ahead, seed))
            assert np.array_equal(behind.simulator_state(), ahead.simulator_state())
    assert behind.resets == 2
    follower.close()
