"""A client that joins a graph which may be starting, or up for long: it knows when it is ready."""

from __future__ import annotations

from collections.abc import Sequence

from structrl_ros.nodes.task_client import TaskClient
from structrl_ros.types import Episode
from structrl_ros.types import Plan
from structrl_ros.types import Safety
from structrl_ros.types import SubtaskStatus
from structrl_ros.wire import topics


class LateClient(TaskClient):
    """Use as a context manager; the listener hears what is latched, too. See `TaskClient`."""

    def wait_for_nodes(self, names: Sequence[str], limit_s: float) -> None:
        """Return once every node is in the graph.

        Args:
            names: Fully qualified, such as `/camera_head`.
            limit_s: Wall seconds.

        Raises:
            StaleDataError: If one is not within the limit.
        """

        def missing() -> list[str]:
            found = self._node.get_node_names_and_namespaces()
            there = {f'{namespace.rstrip("/")}/{name}' for name, namespace in found}
            return [name for name in names if name not in there]

        what = f'not every node of {", ".join(names)} came up'
        self._spin_until(lambda: not missing(), limit_s, what)

    def catch_up(self, limit_s: float) -> Episode | None:
        """Hear what is latched, so that all that comes later is news; no longer than the limit.

        Returns:
            The body's episode, None if nobody publishes one.
        """
        self._spin_for(limit_s, lambda: self._is_matched() and self._has_heard_state())
        return self._episode

    def listen(self, seconds: float) -> None:
        """Hear on for a while, wall time."""
        self._spin_for(seconds)

    def _is_matched(self) -> bool:
        """Whether nothing that is published from now on is lost."""
        count = self._node.count_publishers
        return all(s.get_publisher_count() >= count(t) for t, s in self._subscriptions.items())

    def _has_heard_state(self) -> bool:
        count = self._node.count_publishers
        latched = {topics.EPISODE: Episode, topics.SAFETY: Safety, topics.SUBTASK: SubtaskStatus}
        if any(not count(topic) or kind not in self._seen for topic, kind in latched.items()):
            return False
        has_plan = self._seen[SubtaskStatus].revision > 0
        return bool(count(topics.PLAN)) and (not has_plan or Plan in self._seen)
