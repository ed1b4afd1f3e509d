"""A ROS context and namespace, for what joins a graph without being a node of one."""

from __future__ import annotations

import rclpy
from rclpy.context import Context
from rclpy.exceptions import InvalidNamespaceException
from rclpy.signals import SignalHandlerOptions
from rclpy.validate_namespace import validate_namespace

from structrl_ros.errors import ParameterError
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


def allowed_namespace(namespace: str) -> str | None:
    """Return a namespace that a person has given, as nodes take it: None is the root.

    To be asked before the context is opened: rclpy finds a wrong one in the middle of making a
    node, and says so in many lines.

    Raises:
        ParameterError: If it is not one that ROS allows.
    """
    try:
        validate_namespace(f'/{namespace.strip("/")}')
    except InvalidNamespaceException as error:
        why = str(error).splitlines()[0].rstrip(':').removeprefix('Invalid namespace: ')
        raise ParameterError(f'namespace {namespace!r} is not allowed: {why}') from None
    return namespace or None
