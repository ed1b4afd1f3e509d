"""The thread in which a policy or a GRM thinks, so that its node answers meanwhile."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable


class InferenceWorker:
    """Runs jobs one after the other in a thread of its own."""

    def __init__(self) -> None:
        """Start the thread."""
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._open = 0
        self._thread = threading.Thread(target=self._run, name='inference', daemon=True)
        self._thread.start()

    @property
    def is_busy(self) -> bool:
        """Whether a job runs or waits."""
        with self._lock:
            return self._open > 0

    def submit(self, job: Callable[[], None], then: Callable[[], None]) -> None:
        """Run `job`, which must not raise, and then `then` when the worker counts as free."""
        with self._lock:
            self._open += 1

        def run() -> None:
            try:
                job()
            finally:
                with self._lock:
                    self._open -= 1
            then()

        self._jobs.put(run)

    def stop(self, timeout_s: float = 2.0) -> None:
        """End the thread after its job; returns after `timeout_s` even if that hangs."""
        self._jobs.put(None)
        self._thread.join(timeout_s)

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()
