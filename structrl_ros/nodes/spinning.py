"""Running a node until a signal ends it, in order: node first, context last."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable
from collections.abc import Sequence
from concurrent.futures import Future
from concurrent.futures import ThreadPoolExecutor
from types import FrameType
from typing import Any

import rclpy
from rclpy.executors import Executor
from rclpy.executors import ExternalShutdownException
from rclpy.executors import MultiThreadedExecutor
from rclpy.executors import SingleThreadedExecutor
from rclpy.signals import SignalHandlerOptions

from structrl_ros.errors import StructRLError
from structrl_ros.nodes.log_directory import ensure_log_directory

#: Longest wait for something to do, seconds: the longest time until a signal is noticed.
LOOK_S = 0.25
#: Seconds of wall time at the end of a node in which messages under way are still moved.
DRAIN_S = 0.5
#: Longest wait, seconds, for a worker to begin with what it was given, all being busy.
BEGIN_S = 0.05


class PromptPool(ThreadPoolExecutor):
    """Threads that take work over before `submit` returns, where one of them is free."""

    def submit(self, work: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Give work to a thread, and wait at most `BEGIN_S` seconds until it has begun."""
        begun = threading.Event()

        def begin() -> Any:
            begun.set()
            return work(*args, **kwargs)

        future = super().submit(begin)
        begun.wait(BEGIN_S)
        return future


class PromptExecutor(MultiThreadedExecutor):
    """rclpy's executor of several threads, which goes on only when a callback has begun.

    rclpy finds a task that no thread has begun ready once more, and submits it again, thousands
    of times a second while the thread that submits holds the interpreter: by the luck of its
    start an idle node took from 3 to 76 % of a core.
    """

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        self._executor: ThreadPoolExecutor  # rclpy's pool; it has begun no thread yet
        self._executor.shutdown()
        self._executor = PromptPool(threads)


def catch_signals() -> threading.Event:
    """Have SIGINT and SIGTERM set an event, from the main thread.

    To be used with `rclpy.init(signal_handler_options=SignalHandlerOptions.NO)`. rclpy's own
    handlers end the context at once, under the hands of whatever thread publishes just then, and
    a node without timers that is about to wait may miss it for ever.
    """
    ended = threading.Event()

    def end(number: int, frame: FrameType | None) -> None:
        ended.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    return ended


def spin_until(ended: threading.Event, executor: Executor) -> None:
    """Spin until the event is set or the default context ends."""
    try:
        while rclpy.ok() and not ended.is_set():
            executor.spin_once(timeout_sec=LOOK_S)
    except ExternalShutdownException:
        pass


def drain(executor: Executor) -> None:
    """Take what is still under way, and give what was published last the time to be fetched."""
    deadline = time.monotonic() + DRAIN_S
    while time.monotonic() < deadline:
        executor.spin_once(timeout_sec=0.05)


def run_node(
    name: str,
    make: Callable[[threading.Event], Any],
    close: Callable[[Any, Executor], None],
    arguments: Sequence[str] | None = None,
    *,
    threads: int = 1,
) -> int:
    """Run a node in this process until SIGINT or SIGTERM.

    Args:
        name: Stands before the line of an error at start.
        make: Makes the node; may keep the event and set it to end the node itself.
        close: Frees what the node holds, while it can still publish.
        arguments: Of the command line; None takes the process's own.
        threads: Of the executor.

    Returns:
        The exit status: 1 if the node could not start for a user's mistake, said in one line.
    """
    ended = catch_signals()
    ensure_log_directory()
    rclpy.init(args=arguments, signal_handler_options=SignalHandlerOptions.NO)
    try:
        node = make(ended)
    except StructRLError as error:
        sys.stderr.write(f'{name}: {str(error).removeprefix(f"{name}: ")}\n')
        rclpy.try_shutdown()
        return 1
    executor = PromptExecutor(threads) if threads > 1 else SingleThreadedExecutor()
    executor.add_node(node)
    try:
        spin_until(ended, executor)
    finally:
        close(node, executor)
        executor.shutdown(timeout_sec=1.0)
        rclpy.try_shutdown()
    return 0


def spin_while(executor: Executor, action: Callable[[], None], *, limit_s: float) -> None:
    """Run an action in a thread of its own, while the nodes still answer.

    Args:
        executor: Serves the nodes.
        action: What may wait for their answers.
        limit_s: Wall time after which it is left to itself.
    """
    acting = threading.Thread(target=action)
    acting.start()
    last_s = time.monotonic() + limit_s
    while acting.is_alive() and time.monotonic() < last_s:
        executor.spin_once(timeout_sec=0.02)
