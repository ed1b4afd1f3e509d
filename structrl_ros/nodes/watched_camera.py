"""A camera that is heard only while somebody wants it: a simulator draws for no other."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rclpy.node import Node

from structrl_ros.nodes.hearing import hear
from structrl_ros.types import UInt8
from structrl_ros.wire import topics
from structrl_ros.wire.image_codecs import image_from_message

#: Seconds for which one request keeps the subscription.
ASKED_S = 3.0


@dataclass(frozen=True, slots=True)
class Live:
    """A picture of a camera, RGB (H, W, 3), its stamp and frame, and when it was heard.

    Attributes:
        heard_s: Steady seconds.
    """

    picture: UInt8
    stamp_ns: int
    frame_id: str
    heard_s: float


class WatchedCamera:
    """Subscribes while it is asked for or watched, and no longer.

    Attributes:
        role: Of the camera.
        live: The newest picture, None while it is not heard.
    """

    def __init__(self, node: Node, role: str, take: Callable[[Live], None]) -> None:
        """Hear nothing yet.

        Args:
            node: Whose subscription it is.
            role: Of the camera.
            take: Gets every picture, in the executor's thread.
        """
        self._node, self._take = node, take
        self._asked_s = -1e9
        self._subscription: Any = None
        self.role = role
        self.live: Live | None = None

    @property
    def is_heard(self) -> bool:
        """Whether the camera is subscribed to now."""
        return self._subscription is not None

    def ask(self) -> None:
        """Note that somebody looks: hear the camera for a while; from any thread."""
        self._asked_s = time.monotonic()

    def follow(self, is_watched: bool) -> None:
        """Begin or end to hear; to be called often by the executor.

        Args:
            is_watched: Whether somebody wants pictures, besides who asked for one.
        """
        is_wanted = is_watched or time.monotonic() - self._asked_s < ASKED_S
        if is_wanted and self._subscription is None:
            topic = topics.image_topic(self.role)
            self._subscription = hear(self._node, topic, _decode, self._hear)
        elif not is_wanted and self._subscription is not None:
            self._node.destroy_subscription(self._subscription)
            self._subscription = self.live = None

    def _hear(self, live: Live) -> None:
        self.live = live
        self._take(live)


def _decode(message: Any) -> Live:
    stamp_ns, picture = image_from_message(message)
    return Live(picture, stamp_ns, message.header.frame_id, time.monotonic())
