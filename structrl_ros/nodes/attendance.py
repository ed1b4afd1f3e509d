"""The person beside an evaluation: says when a start is set up, and whether it was a success."""

from __future__ import annotations

import threading
from typing import Any

from rclpy.node import Node
from std_srvs.srv import SetBool
from std_srvs.srv import Trigger

from structrl_ros.evaluation.protocol import PlannedStart
from structrl_ros.wire import topics

#: What may be waited for.
PLACEMENT, MARK, NOTHING = 'placement', 'mark', ''


class Attendance:
    """Services `~/ready` and `mark_episode`; asked from the thread that plays."""

    def __init__(self, node: Node) -> None:
        """Offer the services."""
        self._node = node
        self._lock = threading.Lock()
        self._waiting = NOTHING
        self._task = 'nothing is waited for'
        self._is_ready = False
        self._takes_marks = False
        self._mark: bool | None = None
        node.create_service(Trigger, '~/ready', self._on_ready)
        node.create_service(SetBool, topics.MARK_EPISODE, self._on_mark)

    @property
    def waiting(self) -> tuple[str, str]:
        """What is waited for, and the same in words."""
        with self._lock:
            return self._waiting, self._task

    @property
    def is_marked(self) -> bool:
        """Whether a mark has come for the episode that runs."""
        with self._lock:
            return self._mark is not None

    def ask_placement(self, number: int, start: PlannedStart) -> None:
        """Ask for a start to be set up; `look` tells when it is."""
        card = f': {start.card.text}' if start.card else ''
        picture = f' (picture {start.card.picture})' if start.card and start.card.picture else ''
        text = f'episode {number}, {start.task}, place {start.initial_state}{card}{picture}'
        with self._lock:
            self._is_ready, self._mark = False, None
            self._waiting, self._task = PLACEMENT, f'{text}; then call ready'
        self._node.get_logger().info(self._task)

    def look(self) -> bool:
        """Return whether the start is set up."""
        with self._lock:
            if self._is_ready:
                self._waiting, self._task = NOTHING, 'the episode runs'
            return self._is_ready

    def open_marks(self) -> None:
        """Take marks from now on: the episode runs."""
        with self._lock:
            self._takes_marks, self._mark = True, None

    def take_mark(self) -> bool | None:
        """Ask for the mark, and return it; None if there is none yet."""
        with self._lock:
            if self._mark is None and self._waiting != MARK:
                self._waiting, self._task = MARK, 'the episode is over: mark success or failure'
                self._node.get_logger().info(self._task)
            if self._mark is not None:
                self._waiting, self._task, self._takes_marks = NOTHING, 'marked', False
            return self._mark

    def _on_ready(self, _: Any, response: Any) -> Any:
        with self._lock:
            response.success = self._waiting == PLACEMENT
            response.message = 'it begins' if response.success else f'not now: {self._task}'
            self._is_ready = self._is_ready or response.success
        return response

    def _on_mark(self, request: Any, response: Any) -> Any:
        with self._lock:
            response.success = self._takes_marks and self._mark is None
            if response.success:
                self._mark = bool(request.data)
            word = 'success' if request.data else 'failure'
            response.message = f'marked {word}' if response.success else f'not now: {self._task}'
        return response
