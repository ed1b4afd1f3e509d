"""The overlay's node and page until a signal ends them, for `structrl overlay`."""

from __future__ import annotations

from collections.abc import Callable

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from rclpy.signals import SignalHandlerOptions

from structrl_ros.nodes.contexts import allowed_namespace
from structrl_ros.nodes.log_directory import ensure_log_directory
from structrl_ros.nodes.overlay_node import OverlayNode
from structrl_ros.nodes.overlay_page import OverlayPage
from structrl_ros.nodes.spinning import catch_signals
from structrl_ros.nodes.spinning import spin_until


def run_overlay(
    *, reference: str, role: str, namespace: str, port: int, told: Callable[[str], None]
) -> None:
    """Serve the page until SIGINT or SIGTERM.

    Args:
        reference: What the live picture is laid over.
        role: Camera.
        namespace: Of the arm or world.
        port: Of the page; 0 takes a free one.
        told: Called with the page's address.

    Raises:
        StructRLError: If the namespace, the reference or the port is not allowed.
    """
    place = allowed_namespace(namespace)
    ended = catch_signals()
    ensure_log_directory()
    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    executor = SingleThreadedExecutor()
    try:
        values = {'reference': reference, 'role': role}
        overrides = [Parameter(name, value=value) for name, value in values.items()]
        node = OverlayNode(namespace=place, parameter_overrides=overrides)
        executor.add_node(node)
        page = OverlayPage(node, port)
        page.start()
        told(page.url)
        spin_until(ended, executor)
        page.stop()
    finally:
        executor.shutdown(timeout_sec=1.0)
        rclpy.try_shutdown()
