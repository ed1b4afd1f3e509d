"""Spinning a node until a signal ends it, in order: node first, context last."""

from __future__ import annotations

import signal
import threading
from types import FrameType

import rclpy
from rclpy.executors import Executor
from rclpy.executors import ExternalShutdownException

#: Longest wait for something to do, seconds: the longest time until a signal is noticed.
LOOK_S = 0.25


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
