"""Trials in processes of this machine; an episode is the same whoever plays it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from multiprocessing import connection
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any

from structrl_ros.errors import SimulationError
from structrl_ros.errors import StructRLError
from structrl_ros.evaluation.episode_record import EpisodeRecord
from structrl_ros.evaluation.episode_record import record_from_json
from structrl_ros.evaluation.protocol import PolicyChoice
from structrl_ros.evaluation.protocol import Trial
from structrl_ros.training.episode_player import EpisodePlayer
from structrl_ros.training.evaluation_folder import EvaluationFolder
from structrl_ros.training.evaluation_run import NextTrial
from structrl_ros.training.pool_process import one_thread
from structrl_ros.training.protocol_document import document_of_protocol
from structrl_ros.training.protocol_document import protocol_of_document
from structrl_ros.types import JsonObject

#: Seconds for a worker to end before it is killed.
_END_S = 5.0


def worker_count(asked: int) -> int:
    """Return how many processes play: what is asked for, 0 for one a core."""
    return asked or len(os.sched_getaffinity(0))


class PlayerPool:
    """`evaluation_run.Players` in worker processes; a worker that dies ends the run."""

    def __init__(self, folder: EvaluationFolder, workers: int) -> None:
        """Start the processes; each makes its body and policies itself."""
        context = get_context('spawn')
        given = (document_of_protocol(folder.protocol), folder.policies())
        self._pipes: list[Connection] = []
        self._processes: list[SpawnProcess] = []
        with one_thread():
            for number in range(workers):
                mine, theirs = context.Pipe()
                process = context.Process(
                    target=_work, args=(theirs, *given), name=f'player {number}', daemon=True
                )
                process.start()
                theirs.close()
                self._pipes.append(mine)
                self._processes.append(process)

    def play(self, next_trial: NextTrial) -> Iterator[EpisodeRecord]:
        """Hand out trials and give records as they come.

        Raises:
            StructRLError: What a worker failed with, or that it died.
        """
        busy = {pipe for pipe in self._pipes if _ask(pipe, next_trial())}
        while busy:
            for ready in connection.wait(list(busy)):
                assert isinstance(ready, Connection)
                record = self._answer(ready)
                yield record
                if not _ask(ready, next_trial()):
                    busy.discard(ready)

    def close(self) -> None:
        """End the processes; a second call does nothing."""
        for pipe in self._pipes:
            pipe.close()
        for process in self._processes:
            process.join(_END_S)
            if process.is_alive():
                process.kill()
                process.join()
            process.close()
        self._pipes, self._processes = [], []

    def _answer(self, pipe: Connection) -> EpisodeRecord:
        try:
            answer = pipe.recv()
        except (EOFError, OSError):
            number = self._pipes.index(pipe)
            self._processes[number].join(_END_S)
            code = self._processes[number].exitcode
            raise SimulationError(f'player {number} died (exit code {code})') from None
        if isinstance(answer, Exception):
            raise answer
        return record_from_json(answer)


def _ask(pipe: Connection, trial: Trial | None) -> bool:
    """Hand a trial to a worker; return whether it has something to do."""
    if trial is not None:
        try:
            pipe.send(trial)
        except OSError:
            return True  # it has died: the answer will say so
    return trial is not None


def _work(pipe: Connection, document: JsonObject, policies: dict[str, PolicyChoice]) -> None:
    """Play what comes, in a process of its own, until the pipe ends."""
    try:
        player: Any = None
        while True:
            trial = pipe.recv()
            try:
                player = player or EpisodePlayer(protocol_of_document(document), policies)
                answer: Any = player.play(trial).to_json()
            except StructRLError as error:
                answer = type(error)(str(error))
            pipe.send(answer)
    except (EOFError, OSError, KeyboardInterrupt):
        return
