"""The trainer's end of a worker process: start, words, answers, death."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from collections.abc import Sequence
from contextlib import contextmanager
from multiprocessing import connection
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any

from structrl_ros.errors import SimulationError
from structrl_ros.threads import ONE_THREAD
from structrl_ros.training.pool_worker import MakeBody
from structrl_ros.training.pool_worker import Share
from structrl_ros.training.pool_worker import run_worker
from structrl_ros.training.shared_arrays import SharedArrays

#: Seconds for a worker to free its bodies before it is killed.
_END_S = 5.0


class PoolProcess:
    """One worker; after its death `start` makes a new one."""

    def __init__(self, number: int, make_body: MakeBody, lanes: range) -> None:
        """Start the process; its first answer is the spec of its world."""
        self.number = number
        self.lanes = lanes
        self._make_body = make_body
        self._process: SpawnProcess | None = None
        self._pipe: Connection | None = None
        self.exit_code: int | None = None
        self.start()

    @property
    def is_alive(self) -> bool:
        """Whether it runs; the exit code of one that does not is kept."""
        process = self._process
        if process is not None and self.exit_code is None:
            self.exit_code = process.exitcode
        return process is not None and self.exit_code is None

    def start(self) -> None:
        """Start a new process in place of one that has ended."""
        self.end()
        context = get_context('spawn')
        self._pipe, theirs = context.Pipe()
        arguments = (theirs, self._make_body, self.lanes.start, len(self.lanes))
        self._process = context.Process(
            target=run_worker, args=arguments, name=f'world {self.number}', daemon=True
        )
        self.exit_code = None
        with one_thread():
            self._process.start()
        theirs.close()

    def share(self, arrays: SharedArrays) -> Share:
        """Return what the worker needs to know of the arrays of all."""
        return Share(self.number, self.lanes.start, arrays.layout, arrays.name)

    def ask(self, word: str, *arguments: Any) -> None:
        """Send a word; whether it arrived shows when the answer is gathered."""
        if self._pipe is not None:
            try:
                self._pipe.send((word, *arguments))
            except OSError:
                self._bury()

    def end(self) -> None:
        """Wait for the process, kill it if it does not end, and forget it."""
        process, pipe = self._process, self._pipe
        self._process = self._pipe = None
        if pipe is not None:
            pipe.close()
        if process is not None:
            process.join(_END_S)
            if process.is_alive():
                process.kill()
                process.join()
            process.close()

    def handles(self) -> tuple[Any, ...]:
        """Return what becomes ready with an answer or with the death of the process."""
        assert self._process is not None
        assert self._pipe is not None
        return self._pipe, self._process.sentinel

    def answer(self) -> tuple[str, Any] | None:
        """Return the answer that is ready, None if the process died without."""
        assert self._pipe is not None
        try:
            if self._pipe.poll():
                answered: tuple[str, Any] = self._pipe.recv()
                return answered
        except (EOFError, OSError):
            pass
        self._bury()
        return None

    def epitaph(self) -> str:
        """Return who died, of what and with which lanes."""
        code = self.exit_code or 0
        by = f', {signal.Signals(-code).name}' if code < 0 else ''
        first, last = self.lanes[0], self.lanes[-1]
        lanes = f'lane {first}' if first == last else f'lanes {first} to {last}'
        return f'worker {self.number} with {lanes} died (exit code {code}{by})'

    def _bury(self) -> None:
        """Take the exit code of the dead, so that no zombie stays."""
        if self._process is not None and self.exit_code is None:
            self._process.join(_END_S)
            if self._process.exitcode is None:  # its pipe is broken: it is of no use any more
                self._process.kill()
                self._process.join()
            self.exit_code = self._process.exitcode


def gather(asked: Sequence[PoolProcess], every: Sequence[PoolProcess]) -> list[Any]:
    """Wait for an answer of all that were asked, and return them in their order.

    Raises:
        SimulationError: If one of `every` has died, or one answered with an error; the answers of
            the others have been taken then.
    """
    answers: dict[int, tuple[str, Any] | None] = {}
    waiting = {handle: w for w in asked if w.is_alive for handle in w.handles()}
    while waiting:
        for worker in {
            waiting[h].number: waiting[h] for h in connection.wait(list(waiting))
        }.values():
            answers[worker.number] = worker.answer()
            waiting = {handle: w for handle, w in waiting.items() if w is not worker}
    taken = [answers.get(worker.number) for worker in asked]
    errors = [answer[0] for answer in taken if answer is not None and answer[0]]
    if errors:
        raise SimulationError(errors[0])
    dead = [worker.epitaph() for worker in every if not worker.is_alive]
    if dead:
        raise SimulationError(f'{"; ".join(dead)}; restart() brings the lanes back without scenes')
    return [answer[1] for answer in taken if answer is not None]


@contextmanager
def one_thread() -> Iterator[None]:
    """Have processes that are started now use one thread a library."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(ONE_THREAD)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
