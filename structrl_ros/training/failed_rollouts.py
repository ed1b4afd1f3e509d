"""Failed rollouts of an iteration as event models look at them: pictures, potentials, states."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
from typing import Any

import numpy as np

from structrl_ros.ports import VectorWorld
from structrl_ros.training.rollouts import Rollouts
from structrl_ros.types import FailedRollout
from structrl_ros.types import Float64

#: Progress in [0, 1] after each chunk, shape (E, M).
Progress = Callable[[Rollouts], Float64]


class RolloutViews:
    """Makes `FailedRollout`s: what the rollouts have, and what an event model needs beyond it."""

    def __init__(
        self, *, replay: StateReplay | None = None, progress: Progress | None = None
    ) -> None:
        """Take what tells true states, and what tells the potential; None for neither."""
        self._replay, self._progress = replay, progress

    def __call__(self, rollouts: Rollouts, episodes: Sequence[int]) -> list[FailedRollout]:
        """Return the rollouts of some episodes, in their order.

        Raises:
            SimulationError: If the world of the replay fails.
        """
        states = (
            self._replay.states(rollouts, episodes) if self._replay else [None] * len(episodes)
        )
        potential = self._progress(rollouts) if self._progress else None
        names = self._replay.names if self._replay else ()
        found = []
        for episode, vectors in zip(episodes, states, strict=True):
            chunks, start = int(rollouts.lengths[episode]), rollouts.starts[episode]
            extra: dict[str, Any] = {}
            if vectors is not None:
                extra |= {'states': vectors, 'state_names': names}
            if potential is not None:
                extra['potential'] = np.append(0.0, potential[episode, :chunks])
            if rollouts.images:
                extra['views'] = {r: p[episode, : chunks + 1] for r, p in rollouts.images.items()}
                extra['frame_chunks'] = tuple(range(chunks + 1))
            task = rollouts.tasks[episode]
            found.append(
                FailedRollout(
                    task=start.task,
                    instruction=task.instruction,
                    chunks=chunks,
                    seed=start.seed,
                    initial_state=start.initial_state,
                    **extra,
                )
            )
        return found


class StateReplay:
    """True states of rollouts, by carrying out what was executed once more.

    A body whose perception is displaced tells displaced states; the world here is not, and what a
    simulated body does depends on its start and actions alone.
    """

    def __init__(self, make_world: Callable[[], VectorWorld]) -> None:
        """Take what makes the world; it is made when it is needed first."""
        self._make_world = make_world
        self._world: VectorWorld | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the entries of a state."""
        return self._ready().spec.feature_names

    def states(self, rollouts: Rollouts, episodes: Sequence[int]) -> list[Float64 | None]:
        """Return the states at every boundary, shape (N + 1, F), None where the replay differs.

        Raises:
            SimulationError: If the world fails.
        """
        lanes = self._ready().spec.lanes
        found: list[Float64 | None] = []
        for begin in range(0, len(episodes), lanes):
            found += self._play(rollouts, list(episodes[begin : begin + lanes]))
        return found

    def close(self) -> None:
        """Free the world; a second call does nothing."""
        world, self._world = self._world, None
        if world is not None:
            world.close()

    def _ready(self) -> VectorWorld:
        if self._world is None:
            self._world = self._make_world()
        return self._world

    def _play(self, rollouts: Rollouts, episodes: list[int]) -> list[Float64 | None]:
        world, count = self._ready(), len(episodes)
        world.reset({lane: rollouts.starts[e] for lane, e in enumerate(episodes)})
        lengths = rollouts.lengths[episodes]
        seen = [world.features()[:count]]
        agrees = np.ones(count, dtype=bool)
        actions = np.zeros((world.spec.lanes, *rollouts.executed.shape[2:]), dtype=np.float32)
        active = np.zeros(world.spec.lanes, dtype=bool)
        names = rollouts.truth.shape[2]
        for chunk in range(int(lengths.max(initial=0))):
            actions[:count] = rollouts.executed[episodes, chunk]
            active[:count] = lengths > chunk
            batch = world.run_chunk(actions, active)
            same = batch.truth[:count, :names] == rollouts.truth[episodes, chunk]
            agrees &= same.all(axis=1) | ~active[:count]
            seen.append(world.features()[:count])
        states = np.stack(seen, axis=1).astype(np.float64)
        return [
            states[lane, : lengths[lane] + 1] if agrees[lane] else None for lane in range(count)
        ]
