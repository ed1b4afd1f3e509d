"""A process of a pool: some lanes of a world, told by a pipe, seen through shared memory."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from structrl_ros.errors import SimulationError
from structrl_ros.errors import StructRLError
from structrl_ros.ports import StateBody
from structrl_ros.training.lanes import LaneWorld
from structrl_ros.training.shared_arrays import Layout
from structrl_ros.training.shared_arrays import SharedArrays
from structrl_ros.types import TaskInfo
from structrl_ros.world_types import EpisodeStart
from structrl_ros.world_types import WorldSpec

#: Arrays of a chunk's outcome, as in `ChunkBatch`, without the rows that were sent.
OUTCOMES = ('truth', 'success', 'terminated', 'truncated', 'steps')

MakeBody = Callable[[], StateBody]


@dataclass(frozen=True, slots=True)
class Share:
    """Which worker this is, its first lane, and where the arrays are."""

    worker: int
    first: int
    layout: Layout
    block: str


def run_worker(pipe: Connection, make_body: MakeBody, first: int, lanes: int) -> None:
    """Serve until the pipe says `close` or ends; an error of the world is answered by its line.

    Every answer is (error, value) with an empty error if it went well.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the trainer ends its workers itself
    try:
        worker = _Worker(make_body, first, lanes)
    except StructRLError as error:
        pipe.send((str(error), None))
        return
    pipe.send(('', worker.world.spec))
    try:
        while (asked := pipe.recv())[0] != 'close':
            pipe.send(worker.answer(*asked))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        pass  # the trainer is gone
    finally:
        worker.close()


class _Worker:
    """Does what the pipe asks for; each public method below `answer` is a word of the pipe."""

    def __init__(self, make_body: MakeBody, first: int, lanes: int) -> None:
        self.world = LaneWorld([make_body() for _ in range(lanes)], first_lane=first)
        self._pictures: dict[str, SharedArrays] = {}
        self._arrays: SharedArrays | None = None
        self._share: Share | None = None

    def answer(self, word: str, *arguments: Any) -> tuple[str, Any]:
        try:
            value = getattr(self, word)(*arguments)
        except StructRLError as error:
            return str(error), None
        if self._arrays is not None and self._share is not None:
            bodies = self.world.cpu_seconds().bodies
            self._arrays['cpu'][self._share.worker] = bodies, time.process_time()
        return '', value

    def share(self, share: Share) -> None:
        self._share = share
        self._arrays = SharedArrays(share.layout, share.block)

    def reset(self, starts: dict[int, EpisodeStart]) -> dict[int, TaskInfo | None]:
        first = self._first
        self.world.reset({lane - first: start for lane, start in starts.items()})
        self._rows('features')[:] = self.world.features()
        return {lane: self.world.tasks[lane - first] for lane in starts}

    def run_chunk(self, rows: int) -> None:
        actions = self._rows('actions')[:, :rows].copy()
        batch = self.world.run_chunk(actions, self._rows('active').copy())
        for name in OUTCOMES:
            self._rows(name)[:] = getattr(batch, name)
        self._rows('executed')[:, :rows] = batch.executed
        self._rows('features')[:] = self.world.features()

    def picture_shape(self, role: str) -> tuple[int, ...]:
        return self.world.images(role).shape[1:]

    def open_pictures(self, role: str, layout: Layout, block: str) -> None:
        self._pictures[role] = SharedArrays(layout, block)

    def draw(self, role: str) -> None:
        images = self.world.images(role)
        self._pictures[role][role][self._first : self._first + len(images)] = images

    def close(self) -> None:
        self.world.close()
        for arrays in (self._arrays, *self._pictures.values()):
            if arrays is not None:
                arrays.close()

    @property
    def _first(self) -> int:
        if self._share is None:
            raise SimulationError('the worker was not told its share')
        return self._share.first

    def _rows(self, name: str) -> np.ndarray[Any, Any]:
        assert self._arrays is not None
        return self._arrays[name][self._first : self._first + self.world.spec.lanes]


def share_layout(spec: WorldSpec, rows: int, workers: int) -> dict[str, tuple[Any, str]]:
    """Return the arrays of a pool: `spec` of all lanes, chunks of at most so many rows."""
    lanes, dimension = spec.lanes, spec.body.action_dimension
    return {
        'features': ((lanes, len(spec.feature_names)), 'float32'),
        'actions': ((lanes, rows, dimension), 'float32'),
        'executed': ((lanes, rows, dimension), 'float32'),
        'active': ((lanes,), 'bool'),
        'truth': ((lanes, spec.predicate_slots), 'bool'),
        'success': ((lanes,), 'bool'),
        'terminated': ((lanes,), 'bool'),
        'truncated': ((lanes,), 'bool'),
        'steps': ((lanes,), np.dtype(np.intp).name),
        'cpu': ((workers, 2), 'float64'),
    }
