"""A ROS context and namespace, for what joins a graph without being a node of one."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

import rclpy
from rclpy.context import Context
from rclpy.exceptions import InvalidNamespaceException
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.validate_namespace import validate_namespace

from structrl_ros.errors import ParameterError
from structrl_ros.nodes.log_directory import ensure_log_directory

Joined = TypeVar('Joined', bound=Node)


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


@contextmanager
def joined_graph(
    make: Callable[..., Joined], namespace: str = '', domain_id: int | None = None
) -> Iterator[tuple[Joined, SingleThreadedExecutor]]:
    """Be in a graph, with a node, a context and an executor of one's own, while it lasts.

    Args:
        make: Makes the node; called with its `namespace` and `context`.
        namespace: As a person gives it, '' for the root.
        domain_id: ROS domain; None takes that of the environment.

    Yields:
        The node, and the executor that has it; who spins it in a thread shuts it down first.

    Raises:
        ParameterError: If the namespace is not one that ROS allows.
    """
    place = allowed_namespace(namespace)
    context = open_context(domain_id)
    try:
        node = make(namespace=place, context=context)
        executor = SingleThreadedExecutor(context=context)
        executor.add_node(node)
        try:
            yield node, executor
        finally:
            executor.shutdown(timeout_sec=5.0)
            node.destroy_node()
    finally:
        context.try_shutdown()


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
