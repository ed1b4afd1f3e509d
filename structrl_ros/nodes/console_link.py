"""The console's place in a graph: its node with a context and a thread of its own."""

from __future__ import annotations

import contextlib
import threading

import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.executors import SingleThreadedExecutor

from structrl_ros.console.live_state import LiveState
from structrl_ros.console.pictures import PictureShelf
from structrl_ros.nodes.console_node import ConsoleNode
from structrl_ros.nodes.contexts import allowed_namespace
from structrl_ros.nodes.contexts import open_context


class ConsoleLink:
    """The node with a context and a thread of its own; use as a context manager."""

    def __init__(
        self,
        state: LiveState,
        shelf: PictureShelf,
        *,
        namespace: str = '',
        domain_id: int | None = None,
    ) -> None:
        """Make the node in a namespace, in the environment's domain or another.

        Raises:
            ParameterError: If the namespace is not one that ROS allows.
        """
        place = allowed_namespace(namespace)
        self._context = open_context(domain_id)
        self.node = ConsoleNode(state, shelf, namespace=place, context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        self._thread = threading.Thread(target=self._spin, name='console_node', daemon=True)

    def __enter__(self) -> ConsoleLink:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._executor.shutdown()
        self._thread.join(5.0)
        self.node.destroy_node()
        rclpy.try_shutdown(context=self._context)

    def _spin(self) -> None:
        with contextlib.suppress(ExternalShutdownException):
            self._executor.spin()
