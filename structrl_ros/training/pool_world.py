"""Bodies in processes of their own: a world that uses several cores and outlives its workers."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from collections.abc import Mapping
from typing import Any

import numpy as np

from structrl_ros.errors import SimulationError
from structrl_ros.training.cpu_seconds import WorldCpu
from structrl_ros.training.lanes import check_chunks
from structrl_ros.training.pool_process import PoolProcess
from structrl_ros.training.pool_process import gather
from structrl_ros.training.pool_worker import OUTCOMES
from structrl_ros.training.pool_worker import MakeBody
from structrl_ros.training.pool_worker import share_layout
from structrl_ros.training.shared_arrays import SharedArrays
from structrl_ros.types import Float32
from structrl_ros.types import TaskInfo
from structrl_ros.types import UInt8
from structrl_ros.world_types import Bool
from structrl_ros.world_types import ChunkBatch
from structrl_ros.world_types import EpisodeStart

#: Longest chunk that a pool takes, rows.
MOST_ROWS = 256


class PoolWorld:
    """`ports.VectorWorld` over worker processes, each with some of the lanes.

    Numbers go through shared memory, words through pipes. A worker that dies is noticed at once;
    the others stay, and `restart` brings it back with lanes that have no scene yet.
    """

    def __init__(self, make_body: MakeBody, *, lanes: int, workers: int) -> None:
        """Start the processes and wait until they have their bodies.

        Args:
            make_body: Makes one body; sent to the workers, so it is importable there.
            lanes: B, spread evenly over the workers.
            workers: Processes, each with one thread a library; at most B are started.

        Raises:
            SimulationError: If a number is not positive, or a worker cannot make its bodies.
        """
        if lanes < 1 or workers < 1:
            raise SimulationError(f'{lanes} lanes on {workers} workers; allowed: 1 and more')
        workers = min(lanes, workers)
        edges = [lanes * i // workers for i in range(workers + 1)]
        self._pictures: dict[str, SharedArrays] = {}
        self._arrays: SharedArrays | None = None
        self._workers = [
            PoolProcess(i, make_body, range(edges[i], edges[i + 1])) for i in range(workers)
        ]
        try:
            specs = gather(self._workers, self._workers)
            self.spec = dataclasses.replace(specs[0], lanes=lanes)
            layout = share_layout(self.spec, MOST_ROWS, workers)
            self._arrays = SharedArrays(layout)
            self._tasks: list[TaskInfo | None] = [None] * lanes
            self._spent = np.zeros((workers, 2))
            self._base = np.zeros((workers, 2))
            self._join(self._workers)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> PoolWorld:
        """Return the world."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the world."""
        self.close()

    @property
    def tasks(self) -> tuple[TaskInfo | None, ...]:
        """What each lane's last reset gave, None before the first; length B."""
        return tuple(self._tasks)

    def reset(self, starts: Mapping[int, EpisodeStart]) -> None:
        """Begin episodes in the lanes that are named; the others go on.

        Raises:
            SimulationError: If a lane, task or initial state is unknown, or a worker has died.
        """
        unknown = [lane for lane in starts if not 0 <= lane < self.spec.lanes]
        if unknown:
            raise SimulationError(f'no lane {unknown[0]}; allowed: 0 to {self.spec.lanes - 1}')
        asked = []
        for worker in self._workers:
            mine = {lane: start for lane, start in starts.items() if lane in worker.lanes}
            if mine:
                worker.ask('reset', mine)
                asked.append(worker)
        for infos in self._gather(asked):
            for lane, info in infos.items():
                self._tasks[lane] = info

    def features(self) -> Float32:
        """Return the state vectors, shape (B, F); rows of lanes without a scene are zero."""
        return self._shared['features'].copy()

    def images(self, role: str) -> UInt8:
        """Return the pictures of a camera role, shape (B, H, W, 3); no scene gives black.

        Raises:
            SimulationError: If the role is unknown, no lane has a scene, or a worker has died.
        """
        with_scene = [
            worker
            for worker in self._workers
            if any(self._tasks[lane] is not None for lane in worker.lanes)
        ]
        if not with_scene:
            raise SimulationError('no lane has a scene to draw; allowed: reset first')
        if role not in self._pictures:
            with_scene[0].ask('picture_shape', role)
            (shape,) = self._gather(with_scene[:1])
            self._pictures[role] = SharedArrays({role: ((self.spec.lanes, *shape), 'uint8')})
            self._open_pictures(self._workers, role)
        self._ask(with_scene, 'draw', role)
        return self._pictures[role][role].copy()

    def run_chunk(self, actions: Float32, active: Bool) -> ChunkBatch:
        """Run a chunk in every active lane, until its end or the end of the episode.

        Raises:
            SimulationError: If a shape is wrong, a number is not finite, an active lane's episode
                has ended, or a worker has died.
        """
        check_chunks(self.spec, actions, active)
        rows = actions.shape[1]
        if rows > MOST_ROWS:
            raise SimulationError(f'chunk of {rows} rows; allowed: at most {MOST_ROWS}')
        arrays = self._shared
        arrays['actions'][:, :rows] = actions
        arrays['active'][:] = active
        for name in (*OUTCOMES, 'executed'):
            arrays[name][:] = 0
        moving = [w for w in self._workers if active[w.lanes.start : w.lanes.stop].any()]
        self._ask(moving, 'run_chunk', rows)
        outcome: dict[str, Any] = {name: arrays[name].copy() for name in OUTCOMES}
        return ChunkBatch(**outcome, executed=arrays['executed'][:, :rows].copy())

    def cpu_seconds(self) -> WorldCpu:
        """Return the CPU seconds of the workers, without their start."""
        bodies, elsewhere = (self._spent + self._shared['cpu'] - self._base).sum(axis=0)
        return WorldCpu(float(bodies), float(elsewhere))

    def restart(self) -> tuple[int, ...]:
        """Replace workers that died and return their lanes, which need a reset.

        Raises:
            SimulationError: If a new worker does not come up.
        """
        dead = [worker for worker in self._workers if not worker.is_alive]
        for worker in dead:
            number = worker.number
            self._spent[number] += self._shared['cpu'][number] - self._base[number]
            self._shared['cpu'][number] = self._base[number] = 0.0
            worker.start()
            for lane in worker.lanes:
                self._tasks[lane] = None
                self._shared['features'][lane] = 0.0
        self._gather(dead)
        self._join(dead)
        return tuple(lane for worker in dead for lane in worker.lanes)

    def close(self) -> None:
        """End the workers and free the memory; a second call does nothing."""
        for worker in self._workers:
            worker.ask('close')
        for worker in self._workers:
            worker.end()
        for arrays in (self._arrays, *self._pictures.values()):
            if arrays is not None:
                arrays.close()

    @property
    def _shared(self) -> SharedArrays:
        assert self._arrays is not None
        return self._arrays

    def _join(self, workers: list[PoolProcess]) -> None:
        """Tell new workers where the arrays are, and begin to count what they cost."""
        for worker in workers:
            worker.ask('share', worker.share(self._shared))
        self._gather(workers)
        for role in self._pictures:
            self._open_pictures(workers, role)
        numbers = [worker.number for worker in workers]
        self._base[numbers] = self._shared['cpu'][numbers]

    def _open_pictures(self, workers: list[PoolProcess], role: str) -> None:
        pictures = self._pictures[role]
        self._ask(workers, 'open_pictures', role, pictures.layout, pictures.name)

    def _ask(self, workers: list[PoolProcess], word: str, *arguments: Any) -> list[Any]:
        for worker in workers:
            worker.ask(word, *arguments)
        return self._gather(workers)

    def _gather(self, workers: Iterable[PoolProcess]) -> list[Any]:
        return gather(list(workers), self._workers)
