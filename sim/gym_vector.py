"""`WorldVectorEnv`: any VectorWorld as a Gymnasium vector environment, chunk by chunk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.utils.seeding import np_random
from gymnasium.vector import AutoresetMode
from gymnasium.vector import VectorEnv
from gymnasium.vector.utils import batch_space

from structrl_ros.errors import SimulationError
from structrl_ros.ports import ChunkRewardModel
from structrl_ros.ports import VectorWorld
from structrl_ros.sim.gym_world import CHUNK_LENGTH
from structrl_ros.sim.gym_world import INITIAL_STATES
from structrl_ros.sim.gym_world import MakeReward
from structrl_ros.sim.gym_world import action_space
from structrl_ros.sim.gym_world import draw_start
from structrl_ros.sim.gym_world import observation_space
from structrl_ros.sim.gym_world import pay
from structrl_ros.sim.twin.world import TwinWorld
from structrl_ros.types import Float32
from structrl_ros.types import Float64
from structrl_ros.types import TaskInfo
from structrl_ros.world_types import Bool
from structrl_ros.world_types import EpisodeStart

Stepped = tuple[Float32, Float64, Bool, Bool, dict[str, Any]]


class WorldVectorEnv(VectorEnv[Float32, Float32, Any]):
    """All lanes play one task; a lane that has ended begins anew in the next step.

    That step's action is ignored there and earns 0 (Gymnasium's `AutoresetMode.NEXT_STEP`). The
    same seeds give the same episodes as `SyncVectorEnv` over `BodyEnv`.
    """

    def __init__(
        self,
        world: VectorWorld,
        task: str = 'pack_lunch',
        *,
        chunk_length: int = CHUNK_LENGTH,
        reward: MakeReward | None = None,
        initial_states: int = INITIAL_STATES,
    ) -> None:
        """Take a world; `close` frees it. The arguments are those of `BodyEnv`."""
        spec = world.spec
        self.metadata = {
            'autoreset_mode': AutoresetMode.NEXT_STEP,
            'render_fps': spec.body.control_rate_hz / chunk_length,
        }
        self.num_envs = spec.lanes
        self.single_observation_space = observation_space(len(spec.feature_names))
        self.single_action_space = action_space(spec.body.action_dimension, chunk_length)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._world = world
        self._task = task
        self._reward = reward
        self._initial_states = initial_states
        self._randoms: list[np.random.Generator] = []
        self._models: list[ChunkRewardModel | None] = [None] * self.num_envs
        self._ended = np.zeros(self.num_envs, dtype=np.bool_)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Float32, dict[str, Any]]:
        """Begin an episode in every lane; a whole number n seeds lane i with n + i.

        Raises:
            SimulationError: If the task, a seed or an initial state does not exist.
        """
        if seed is not None or not self._randoms:
            self._randoms = [np_random(s)[0] for s in _seeds(seed, self.num_envs)]
        self._begin(np.ones(self.num_envs, dtype=np.bool_), options)
        return self._world.features(), self._told(np.zeros(self.num_envs, dtype=np.bool_))

    def step(self, actions: Float32) -> Stepped:
        """Run a chunk in every lane; return observations, rewards, ends, truncations, infos.

        Raises:
            SimulationError: If no episode runs, or an action is not finite.
        """
        if not self._randoms:
            raise SimulationError('no episode runs; allowed: reset() first')
        begun = self._ended.copy()
        active = ~begun
        self._begin(begun, None)
        done = self._world.run_chunk(np.asarray(actions, dtype=np.float32), active)
        rewards = np.zeros(self.num_envs)
        for lane in np.flatnonzero(active).tolist():
            info, success = self._info(lane), bool(done.success[lane])
            rewards[lane] = pay(self._models[lane], info, done.truth[lane], success)
        self._ended = done.terminated | done.truncated
        told = self._told(done.success, done.truth, done.steps)
        return self._world.features(), rewards, done.terminated, done.truncated, told

    def close_extras(self, **kwargs: Any) -> None:
        """Free the world."""
        del kwargs
        self._world.close()

    def _begin(self, lanes: Bool, options: dict[str, Any] | None) -> None:
        starts: dict[int, EpisodeStart] = {}
        for lane in np.flatnonzero(lanes).tolist():
            random = self._randoms[lane]
            starts[lane] = draw_start(random, self._task, self._initial_states, options)
        if starts:
            self._world.reset(starts)
            for lane in starts:
                info = self._info(lane)
                self._models[lane] = None if self._reward is None else self._reward(info)
            self._ended &= ~lanes

    def _info(self, lane: int) -> TaskInfo:
        info = self._world.tasks[lane]
        assert info is not None
        return info

    def _told(
        self, success: Bool, truth: Bool | None = None, steps: np.ndarray | None = None
    ) -> dict[str, Any]:
        size = len(self._info(0).predicate_names)
        every = np.ones(self.num_envs, dtype=np.bool_)
        shown = np.zeros((self.num_envs, size), np.bool_) if truth is None else truth[:, :size]
        counted = np.zeros(self.num_envs, dtype=np.intp) if steps is None else steps
        told = {'truth': shown, 'success': success, 'steps': counted}
        return told | {f'_{name}': every for name in told}


def make_twin_vector(
    num_envs: int,
    task: str = 'pack_lunch',
    *,
    chunk_length: int = CHUNK_LENGTH,
    reward: MakeReward | None = None,
    initial_states: int = INITIAL_STATES,
    **options: Any,
) -> WorldVectorEnv:
    """Return a vector environment on the kinematic twin; `options` are those of `TwinWorld`."""
    return WorldVectorEnv(
        TwinWorld(num_envs, **options),
        task,
        chunk_length=chunk_length,
        reward=reward,
        initial_states=initial_states,
    )


def _seeds(seed: int | Sequence[int | None] | None, lanes: int) -> list[int | None]:
    """Return the seed of each lane.

    Raises:
        SimulationError: If there are seeds for another number of lanes.
    """
    if seed is None or isinstance(seed, int | np.integer):
        return [None if seed is None else int(seed) + lane for lane in range(lanes)]
    if len(seed) != lanes:
        raise SimulationError(f'{len(seed)} seeds; allowed: {lanes}, or one')
    return list(seed)
