"""Bodies of this process side by side, each behind the episode that sim_node gives it, too."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence

import numpy as np

from structrl_ros.control.episode_results import ChunkResult
from structrl_ros.control.episode_runner import simulated_episode
from structrl_ros.errors import SimulationError
from structrl_ros.ports import StateBody
from structrl_ros.training.cpu_seconds import WorldCpu
from structrl_ros.training.metered_body import MeteredBody
from structrl_ros.types import Float32
from structrl_ros.types import TaskInfo
from structrl_ros.types import UInt8
from structrl_ros.world_types import Bool
from structrl_ros.world_types import ChunkBatch
from structrl_ros.world_types import EpisodeStart
from structrl_ros.world_types import WorldSpec

#: N of a body that does not say how many predicates a task of it publishes (`predicate_slots`).
PREDICATE_SLOTS = 32


class LaneWorld:
    """`ports.VectorWorld` over bodies in this process, stepped one after another.

    What a lane shows is computed once after a reset or chunk, so lanes whose episode has ended
    cost nothing. The world owns the bodies.
    """

    def __init__(self, bodies: Sequence[StateBody], *, first_lane: int = 0) -> None:
        """Take bodies of one kind, without scenes.

        Args:
            bodies: One a lane.
            first_lane: Number of the first lane in messages, where these are some of many.

        Raises:
            SimulationError: If there is none, one tells no state vector, or they differ.
        """
        if not bodies:
            raise SimulationError('lanes: at least one body is needed, got none')
        first = bodies[0]
        for body in bodies:
            if not isinstance(body, StateBody):
                raise SimulationError(f'body {body.spec.name!r} tells no state vector')
            if (body.spec, body.feature_names) != (first.spec, first.feature_names):
                raise SimulationError('lanes differ; allowed: bodies of one kind and options')
        self.spec = WorldSpec(
            body=first.spec,
            lanes=len(bodies),
            feature_names=first.feature_names,
            predicate_slots=getattr(first, 'predicate_slots', PREDICATE_SLOTS),
        )
        self._first_lane = first_lane
        self._bodies = tuple(MeteredBody(body) for body in bodies)
        self._runners = tuple(simulated_episode(body) for body in self._bodies)
        self._tasks: list[TaskInfo | None] = [None] * len(bodies)
        self._features = np.zeros((len(bodies), len(first.feature_names)), dtype=np.float32)
        self._images: list[dict[str, UInt8]] = [{} for _ in bodies]

    @property
    def tasks(self) -> tuple[TaskInfo | None, ...]:
        """What each lane's last reset gave, None before the first; length B."""
        return tuple(self._tasks)

    def reset(self, starts: Mapping[int, EpisodeStart]) -> None:
        """Begin episodes in the lanes that are named; the others go on.

        Raises:
            SimulationError: If a lane, task or initial state is unknown.
        """
        for lane, start in starts.items():
            if not 0 <= lane < self.spec.lanes:
                raise SimulationError(f'no lane {lane}; allowed: 0 to {self.spec.lanes - 1}')
            runner = self._runners[lane]
            runner.reset(start.task, start.seed, start.initial_state)
            if len(runner.info.predicate_names) > self.spec.predicate_slots:
                raise SimulationError(
                    f'task {start.task!r} has {len(runner.info.predicate_names)} predicates; '
                    f'allowed: at most {self.spec.predicate_slots}'
                )
            self._tasks[lane] = runner.info
            self._look(lane)

    def features(self) -> Float32:
        """Return the state vectors, shape (B, F); rows of lanes without a scene are zero."""
        return self._features.copy()

    def images(self, role: str) -> UInt8:
        """Return the pictures of a camera role, shape (B, H, W, 3); no scene gives black.

        Raises:
            SimulationError: If the role is unknown, or no lane has a scene.
        """
        for lane, seen in enumerate(self._images):
            if self._tasks[lane] is not None and role not in seen:
                seen[role] = self._bodies[lane].render(role)
        shown = [seen.get(role) for seen in self._images]
        first = next((image for image in shown if image is not None), None)
        if first is None:
            raise SimulationError('no lane has a scene to draw; allowed: reset first')
        return np.stack([np.zeros_like(first) if image is None else image for image in shown])

    def run_chunk(self, actions: Float32, active: Bool) -> ChunkBatch:
        """Run a chunk in every active lane, until its end or the end of the episode.

        Raises:
            SimulationError: If a shape is wrong, a number is not finite, an active lane's episode
                has ended, or a world fails.
        """
        check_chunks(self.spec, actions, active)
        done = empty_batch(self.spec, actions.shape[1])
        for lane in np.flatnonzero(active).tolist():
            try:
                result = self._runners[lane].run_chunk(actions[lane])
            except SimulationError as error:
                raise SimulationError(f'lane {self._first_lane + lane}: {error}') from None
            self._look(lane)
            keep_result(done, lane, result)
        return done

    def cpu_seconds(self) -> WorldCpu:
        """Return the CPU seconds in the bodies since the world was made."""
        return WorldCpu(sum(body.cpu_s for body in self._bodies))

    def close(self) -> None:
        """Free all worlds; a second call does nothing."""
        for body in self._bodies:
            body.close()

    def _look(self, lane: int) -> None:
        self._images[lane] = {}
        self._features[lane] = self._bodies[lane].features()


def check_chunks(spec: WorldSpec, actions: Float32, active: Bool) -> None:
    """Refuse arguments of `run_chunk` that do not fit a world.

    Raises:
        SimulationError: If a shape is wrong or a number of an active lane is not finite.
    """
    dimension = spec.body.action_dimension
    shape = actions.shape
    if len(shape) != 3 or not shape[1] or (shape[0], shape[2]) != (spec.lanes, dimension):
        raise SimulationError(
            f'actions have shape {shape}; allowed: ({spec.lanes}, L, {dimension}) with L >= 1'
        )
    if active.shape != (spec.lanes,):
        raise SimulationError(f'active has shape {active.shape}; allowed: ({spec.lanes},)')
    finite = np.isfinite(actions).all(axis=(1, 2)) | ~active
    if not finite.all():
        lane = int(np.argmin(finite))
        raise SimulationError(f'actions of lane {lane} are not finite; nothing was sent')


def empty_batch(spec: WorldSpec, rows: int) -> ChunkBatch:
    """Return what a chunk of so many rows did where no lane was active."""
    lanes = spec.lanes
    return ChunkBatch(
        truth=np.zeros((lanes, spec.predicate_slots), dtype=bool),
        success=np.zeros(lanes, dtype=bool),
        terminated=np.zeros(lanes, dtype=bool),
        truncated=np.zeros(lanes, dtype=bool),
        steps=np.zeros(lanes, dtype=np.intp),
        executed=np.zeros((lanes, rows, spec.body.action_dimension), dtype=np.float32),
    )


def keep_result(batch: ChunkBatch, lane: int, result: ChunkResult) -> None:
    """Write what one lane's chunk did into its row of a batch."""
    done, values = result.done, result.predicates.values
    batch.truth[lane, : len(values)] = values
    batch.success[lane] = done.success
    batch.terminated[lane] = done.terminated
    batch.truncated[lane] = done.truncated
    batch.steps[lane] = done.executed_steps
    batch.executed[lane, : done.executed_steps] = done.executed
