"""Gymnasium faces of the worlds: `BodyEnv` for any body, one chunk or one low-level step a step.

Importing this module registers every tabletop task: 'structrl/PackLunch-v0' in MuJoCo and
'structrl/PackLunchTwin-v0' on the kinematic twin, whose `make_vec` is one vectorised world.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from structrl_ros.control.episode_runner import simulated_episode
from structrl_ros.errors import ParameterError
from structrl_ros.ports import Body
from structrl_ros.ports import ChunkRewardModel
from structrl_ros.ports import StateBody
from structrl_ros.sim.registry import make_body
from structrl_ros.sim.tabletop.task_files import tasks
from structrl_ros.types import Float32
from structrl_ros.types import TaskInfo
from structrl_ros.types import UInt8
from structrl_ros.world_types import EpisodeStart

#: Makes the reward of an episode; None pays 1 at success and nothing else.
MakeReward = Callable[[TaskInfo], ChunkRewardModel]
#: Rows of a chunk of the registered environments.
CHUNK_LENGTH = 5
#: Initial states that every body has.
INITIAL_STATES = 50


class BodyEnv(gymnasium.Env[Float32, Float32]):
    """A body as a Gymnasium environment; what it plays is what sim_node would play.

    An action is a chunk in the body's action space, shape (chunk_length, D), or one row (D,) if
    `chunk_length` is None. The observation is the state vector, shape (F,), float32. `info` holds
    `truth` (N,) of the names of `task_info.predicate_names` over the chunk, `success` and `steps`.
    `reset(options=...)` takes `seed` and `initial_state` of the episode; without them they are
    drawn from `np_random`.
    """

    metadata: dict[str, Any] = {'render_modes': ['rgb_array'], 'render_fps': 10.0}  # noqa: RUF012

    def __init__(
        self,
        body: str | StateBody = 'twin',
        task: str = 'pack_lunch',
        *,
        chunk_length: int | None = CHUNK_LENGTH,
        reward: MakeReward | None = None,
        initial_states: int = INITIAL_STATES,
        camera: str = 'head',
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        """Make the body and set its first scene.

        Args:
            body: Name of a body that tells a state vector, or one.
            task: What is played.
            chunk_length: Rows of an action, None for one row without a chunk's axis.
            reward: Makes the reward of each episode; None pays 1 at success.
            initial_states: Initial states are drawn from 0 ... initial_states - 1.
            camera: Role that `render` shows.
            render_mode: None or 'rgb_array'.
            **options: Of the body's constructor, if it is given by name.

        Raises:
            ParameterError: If the body is unknown or has no state vector, or an argument is wrong.
            SimulationError: If the task is unknown.
        """
        if render_mode not in (None, 'rgb_array'):
            raise ParameterError(f'render_mode {render_mode!r}; allowed: None, rgb_array')
        made = make_body(body, **options) if isinstance(body, str) else body
        self._body = _with_features(made)
        rate_hz = self._body.spec.control_rate_hz / (chunk_length or 1)
        self.metadata = {**self.metadata, 'render_fps': rate_hz}
        self.render_mode = render_mode
        self._camera = camera
        self._task = task
        self._reward = reward
        self._initial_states = initial_states
        self._runner = simulated_episode(self._body)
        self._model: ChunkRewardModel | None = None
        self.task_info = self._body.reset(task, 0, 0)
        self.action_space = action_space(self._body.spec.action_dimension, chunk_length)
        self.observation_space = observation_space(len(self._body.feature_names))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Float32, dict[str, Any]]:
        """Begin an episode.

        Raises:
            SimulationError: If the seed or initial state does not exist.
        """
        super().reset(seed=seed)
        start = draw_start(self.np_random, self._task, self._initial_states, options)
        self._runner.reset(start.task, start.seed, start.initial_state)
        self.task_info = self._runner.info
        self._model = None if self._reward is None else self._reward(self.task_info)
        truth = np.zeros(len(self.task_info.predicate_names), dtype=np.bool_)
        return self._body.features(), {'truth': truth, 'success': False, 'steps': 0}

    def step(self, action: Float32) -> tuple[Float32, float, bool, bool, dict[str, Any]]:
        """Run a chunk; return observation, reward, terminated, truncated, info.

        Raises:
            SimulationError: If no episode runs, or the action is not finite.
        """
        chunk = np.asarray(action, dtype=np.float32)
        result = self._runner.run_chunk(chunk if chunk.ndim == 2 else chunk[None])
        done, values = result.done, np.array(result.predicates.values, dtype=np.bool_)
        value = pay(self._model, self.task_info, values, done.success)
        info = {'truth': values, 'success': done.success, 'steps': done.executed_steps}
        return self._body.features(), value, done.terminated, done.truncated, info

    def render(self) -> UInt8 | None:
        """Return the camera's picture if `render_mode` is 'rgb_array'."""
        return None if self.render_mode is None else self._body.render(self._camera)

    def close(self) -> None:
        """Free the body."""
        self._body.close()


def action_space(dimension: int, chunk_length: int | None) -> spaces.Box:
    """Return the space of chunks (L, D), or of single rows (D,) for None.

    Raises:
        ParameterError: If the length is not positive.
    """
    if chunk_length is not None and chunk_length < 1:
        raise ParameterError(f'chunk_length {chunk_length}; allowed: 1 or more, or None')
    shape = (dimension,) if chunk_length is None else (chunk_length, dimension)
    return spaces.Box(-1.0, 1.0, shape, np.float32)


def observation_space(size: int) -> spaces.Box:
    """Return the space of state vectors, which have no bounds."""
    return spaces.Box(-np.inf, np.inf, (size,), np.float32)


def draw_start(
    random: np.random.Generator,
    task: str,
    initial_states: int,
    options: Mapping[str, Any] | None = None,
) -> EpisodeStart:
    """Return the episode to play: what `options` says of it, the rest drawn."""
    seed = int(random.integers(0, 2**31))
    initial_state = int(random.integers(0, initial_states))
    asked = options or {}
    return EpisodeStart(
        task, int(asked.get('seed', seed)), int(asked.get('initial_state', initial_state))
    )


def pay(
    model: ChunkRewardModel | None, info: TaskInfo, values: np.ndarray, success: bool
) -> float:
    """Return what a chunk earns: by the model, or 1 at success without one."""
    if model is None:
        return float(success)
    names = info.predicate_names
    return model.step([n for n, v in zip(names, values, strict=False) if v], success).value


def register_environments() -> None:
    """Register all tabletop tasks in MuJoCo and on the twin; a second call does nothing."""
    for name in tasks():
        title = ''.join(word.capitalize() for word in name.split('_'))
        for body, suffix in (('tabletop', ''), ('twin', 'Twin')):
            vector = 'structrl_ros.sim.gym_vector:make_twin_vector' if body == 'twin' else None
            identity = f'structrl/{title}{suffix}-v0'
            if identity not in gymnasium.registry:
                gymnasium.register(
                    identity,
                    entry_point='structrl_ros.sim.gym_world:BodyEnv',
                    vector_entry_point=vector,
                    kwargs={'task': name} if body == 'twin' else {'body': body, 'task': name},
                )


def _with_features(body: Body) -> StateBody:
    if not isinstance(body, StateBody):
        body.close()
        raise ParameterError(
            f'body {body.spec.name!r} tells no state vector; an environment needs one that does'
        )
    return body


register_environments()
