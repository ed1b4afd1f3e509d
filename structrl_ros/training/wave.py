"""One wave of rollouts: as many episodes side by side as a world has lanes."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structrl_ros.errors import ParameterError
from structrl_ros.errors import SimulationError
from structrl_ros.models.policies.base import ChunkPolicy
from structrl_ros.ports import VectorWorld
from structrl_ros.training.cpu_seconds import CpuMeter
from structrl_ros.training.inference import Drawn
from structrl_ros.training.inference import FixedBatch
from structrl_ros.training.inference import Seen
from structrl_ros.training.inference import draw_noise
from structrl_ros.training.rollouts import Rollouts
from structrl_ros.types import Float32
from structrl_ros.types import TaskInfo
from structrl_ros.types import UInt8
from structrl_ros.world_types import Bool
from structrl_ros.world_types import ChunkBatch
from structrl_ros.world_types import EpisodeStart


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaySettings:
    """How episodes are played; `collecting.collect` says what each is."""

    seed: int
    iteration: int
    explore: bool
    max_chunks: int | None = None
    kept_roles: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check the cut.

        Raises:
            ParameterError: If no chunk would be played.
        """
        if self.max_chunks is not None and self.max_chunks < 1:
            raise ParameterError(f'max_chunks is {self.max_chunks}; allowed: 1 and more')


class Wave:
    """Plays n episodes, lane i the episode first + i, and keeps what is seen, drawn and done."""

    def __init__(
        self,
        asked: FixedBatch,
        policy: ChunkPolicy,
        world: VectorWorld,
        settings: PlaySettings,
        *,
        first: int,
    ) -> None:
        """Prepare; `first` is the number of the episode in lane 0."""
        self.first = first
        self._asked = asked
        self._roles = policy.config.roles
        self._noise_shape = policy.noise_shape
        self._rows = policy.config.chunk_length
        self._world = world
        self._meter = CpuMeter(world)
        self._settings = settings
        self._arrays: dict[str, NDArray[Any]] = {}
        self._images: dict[str, UInt8] = {}

    def play(self, starts: tuple[EpisodeStart, ...]) -> Rollouts:
        """Play to the end and return what was kept, cut to the longest episode.

        Raises:
            PolicyError: If the policy got or gave NaN; nothing was sent then.
            SimulationError: If a world fails, or an episode does not end at its horizon.
        """
        count = len(starts)
        with self._meter.world():
            self._world.reset(dict(enumerate(starts)))
        tasks = self._tasks(count)
        limit = max(-(-task.horizon_steps // self._rows) for task in tasks)
        settings = self._settings
        limit = limit if settings.max_chunks is None else min(limit, settings.max_chunks)
        noise = draw_noise(
            self._noise_shape,
            limit,
            seed=settings.seed,
            iteration=settings.iteration,
            episodes=range(self.first, self.first + count),
        )
        active = np.ones(count, dtype=bool)
        seen, shown = self._look(tasks)
        chunk = 0
        while chunk < limit and active.any():
            with self._meter.network():
                drawn = self._asked.draw(
                    seen, noise[:, chunk], active, first=self.first, explore=settings.explore
                )
            with self._meter.world():
                batch = self._world.run_chunk(*self._to_lanes(drawn.actions, active))
            if not chunk:
                self._begin(count, limit, seen, shown, drawn, batch)
            self._keep(chunk, active, drawn, batch)
            seen, shown = self._look(tasks)
            self._keep_view(chunk + 1, active, seen, shown)
            active = active & ~(batch.terminated | batch.truncated)[:count]
            chunk += 1
        return self._finish(chunk, active, tasks, starts)

    def _tasks(self, count: int) -> tuple[TaskInfo, ...]:
        tasks = self._world.tasks[:count]
        return tuple(task for task in tasks if task is not None)

    def _look(self, tasks: Sequence[TaskInfo]) -> tuple[Seen, dict[str, UInt8]]:
        """Return what the policy sees, and the pictures that are kept."""
        count = len(tasks)
        with self._meter.world():
            features = self._world.features()[:count]
            looked = dict.fromkeys((*self._roles, *self._settings.kept_roles))
            images = {role: self._world.images(role)[:count] for role in looked}
        seen = {role: images[role] for role in self._roles}
        shown = {role: images[role] for role in self._settings.kept_roles}
        return Seen(features, seen, [task.instruction for task in tasks]), shown

    def _to_lanes(self, actions: Float32, active: Bool) -> tuple[Float32, Bool]:
        """Return actions and activity of all lanes of the world."""
        lanes = self._world.spec.lanes
        if len(active) == lanes:
            return actions, active
        whole = np.zeros((lanes, *actions.shape[1:]), dtype=np.float32)
        whole[: len(active)] = actions
        return whole, np.append(active, np.zeros(lanes - len(active), dtype=bool))

    def _begin(
        self,
        count: int,
        limit: int,
        seen: Seen,
        shown: Mapping[str, UInt8],
        drawn: Drawn,
        batch: ChunkBatch,
    ) -> None:
        """Make the arrays, now that every shape is known."""

        def zeros(length: int, like: Any) -> Any:
            return np.zeros((count, length, *like.shape[1:]), dtype=like.dtype)

        self._arrays = {
            'features': zeros(limit + 1, seen.features),
            'chain': zeros(limit, drawn.chain),
            'log_prob': zeros(limit, drawn.log_prob),
            'valid': np.zeros((count, limit), dtype=bool),
            'truth': zeros(limit, batch.truth),
            'steps': zeros(limit, batch.steps),
            'executed': zeros(limit, batch.executed),
            'success': np.zeros(count, dtype=bool),
            'terminated': np.zeros(count, dtype=bool),
            'truncated': np.zeros(count, dtype=bool),
        }
        self._images = {role: zeros(limit + 1, image) for role, image in shown.items()}
        self._keep_view(0, np.ones(count, dtype=bool), seen, shown)

    def _keep(self, chunk: int, active: Bool, drawn: Drawn, batch: ChunkBatch) -> None:
        arrays, count = self._arrays, len(active)
        arrays['chain'][:, chunk] = drawn.chain
        arrays['log_prob'][:, chunk] = drawn.log_prob
        arrays['valid'][:, chunk] = active
        for name in ('truth', 'steps', 'executed'):
            arrays[name][:, chunk] = getattr(batch, name)[:count]
        for name in ('success', 'terminated', 'truncated'):
            arrays[name] |= getattr(batch, name)[:count]

    def _keep_view(self, view: int, active: Bool, seen: Seen, shown: Mapping[str, UInt8]) -> None:
        self._arrays['features'][active, view] = seen.features[active]
        for role, image in self._images.items():
            image[active, view] = shown[role][active]

    def _finish(
        self,
        chunks: int,
        active: Bool,
        tasks: tuple[TaskInfo, ...],
        starts: tuple[EpisodeStart, ...],
    ) -> Rollouts:
        if active.any() and self._settings.max_chunks is None:
            lane = int(np.argmax(active))
            raise SimulationError(
                f'lane {lane}: the episode goes on beyond its horizon of '
                f'{tasks[lane].horizon_steps} steps'
            )
        arrays = self._arrays
        arrays['truncated'] |= active
        horizon = np.array([task.horizon_steps for task in tasks], dtype=np.float64)
        elapsed = np.zeros((len(tasks), chunks + 1), dtype=np.float32)
        done = np.cumsum(arrays['steps'][:, :chunks], axis=1) / horizon[:, None]
        elapsed[:, 1:] = np.where(arrays['valid'][:, :chunks], done, 0.0)
        kept = {name: array[:, :chunks] for name, array in arrays.items() if array.ndim > 1}
        kept |= {name: array for name, array in arrays.items() if array.ndim == 1}
        kept['features'] = arrays['features'][:, : chunks + 1]
        images = {role: image[:, : chunks + 1] for role, image in self._images.items()}
        return Rollouts(
            **kept,
            elapsed=elapsed,
            images=images,
            tasks=tasks,
            starts=starts,
            first_episode=self.first,
            cpu=self._meter.read(),
        )
