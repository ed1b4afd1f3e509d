"""A ROS context of its own, for what joins a graph without being a node of one."""

from __future__ import annotations

import rclpy
from rclpy.context import Context
from rclpy.signals import SignalHandlerOptions

from structrl_ros.nodes.log_directory import ensure_log_directory


def open_context(domain_id: int | None = None) -> Context:
    """Return a context that leaves signals and the command line alone.

    Args:
        domain_id: ROS domain; None takes that of the environment.
    """
    context = Context()
    ensure_log_directory()
    rclpy.init(
        args=[],
        context=context,
        domain_id=domain_id,
        signal_handler_options=SignalHandlerOptions.NO,
    )
    return context
