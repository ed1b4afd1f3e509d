"""The console's place in a graph: its node with a context and a thread of its own."""

from __future__ import annotations

import contextlib
import threading
from functools import partial

from rclpy.executors import ExternalShutdownException

from structrl_ros.console.live_state import LiveState
from structrl_ros.console.pictures import PictureShelf
from structrl_ros.nodes.console_node import ConsoleNode
from structrl_ros.nodes.contexts import joined_graph


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
        self._graph = contextlib.ExitStack()
        joined = joined_graph(partial(ConsoleNode, state, shelf), namespace, domain_id)
        self.node, self._executor = self._graph.enter_context(joined)
        self._thread = threading.Thread(target=self._spin, name='console_node', daemon=True)

    def __enter__(self) -> ConsoleLink:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._executor.shutdown(timeout_sec=5.0)
        self._thread.join(5.0)
        self._graph.close()

    def _spin(self) -> None:
        with contextlib.suppress(ExternalShutdownException):
            self._executor.spin()
