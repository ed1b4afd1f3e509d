"""Keeps a process at its own priority while a library encodes.

The encoder of AV1 (SVT-AV1), run as root, gives the thread that calls it and its own threads
real-time priority 99 and leaves it so: from then on the process, and every process that it
starts, goes before all others of the machine.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextlib import suppress
from pathlib import Path

_TASKS = Path('/proc/self/task')


@contextmanager
def own_priority() -> Iterator[None]:
    """Set the caller back to its policy, and threads that the block made real-time to it, too."""
    if not hasattr(os, 'sched_getscheduler'):
        yield
        return
    policy, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    before = _real_time_tasks()
    try:
        yield
    finally:
        if os.sched_getscheduler(0) != policy:
            os.sched_setscheduler(0, policy, parameters)
        for task in _real_time_tasks() - before:
            with suppress(OSError):  # a thread that has ended since
                os.sched_setscheduler(task, policy, parameters)


def _real_time_tasks() -> set[int]:
    """Return the threads of this process that go before all others."""
    found = set()
    for task in _TASKS.iterdir():
        with suppress(OSError):
            if os.sched_getscheduler(int(task.name)) == os.SCHED_FIFO:
                found.add(int(task.name))
    return found
