"""overlay_node: the live picture of a camera over a reference, for whoever looks at it.

It hears the camera only while somebody subscribes to the overlay, or the page (`overlay_page`)
asks for one.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rclpy.clock import Clock
from rclpy.clock import ClockType
from rclpy.node import Node
from std_msgs.msg import Float64

from structrl_ros.errors import MessageError
from structrl_ros.errors import ParameterError
from structrl_ros.evaluation.alignment import Match
from structrl_ros.evaluation.alignment import Overlay
from structrl_ros.nodes.overlay_references import references_of
from structrl_ros.nodes.parameters import current
from structrl_ros.nodes.parameters import declare
from structrl_ros.nodes.spinning import run_node
from structrl_ros.params.overlay import OverlayParameters
from structrl_ros.recording.references import Reference
from structrl_ros.recording.references import scaled
from structrl_ros.types import UInt8
from structrl_ros.wire import topics
from structrl_ros.wire.image_codecs import image_from_message
from structrl_ros.wire.image_codecs import image_to_message
from structrl_ros.wire.qos import message_type
from structrl_ros.wire.qos import publisher_qos
from structrl_ros.wire.qos import subscriber_qos
from structrl_ros.wire.task_codecs import HealthLevel
from structrl_ros.wire.task_codecs import health_to_message

#: Seconds between two looks whether somebody subscribes, and between two reports.
LOOK_S = 0.25
REPORT_S = 1.0
#: Seconds for which one request of the page keeps the camera's subscription.
ASKED_S = 3.0


@dataclass(frozen=True, slots=True)
class Live:
    """The newest picture of the camera, its stamp, and when it was heard (steady seconds)."""

    picture: UInt8
    stamp_ns: int
    heard_s: float


class OverlayNode(Node):
    """Publishes `overlay/<role>/image` and `overlay/<role>/score`."""

    def __init__(self, **options: Any) -> None:
        """Declare parameters and read the references.

        Args:
            **options: Of rclpy's Node.

        Raises:
            StructRLError: If a parameter is not allowed, or there is no reference.
        """
        super().__init__('overlay_node', **options)
        p = self._start = declare(self, OverlayParameters)
        self.references: tuple[Reference, ...] = (
            references_of(p.reference, p.role) if p.reference else ()
        )
        self.live: Live | None = None
        self._overlays: dict[tuple[int, int, int], Overlay] = {}
        self._asked_s = self._drawn_s = self._reported_s = -1e9
        self._complained = ''
        self._subscription: Any = None
        names = topics.overlay_topic(p.role), topics.overlay_score_topic(p.role)
        self._image, self._score, self._health = (
            self.create_publisher(message_type(name), name, publisher_qos(name))
            for name in (*names, topics.DIAGNOSTICS)
        )
        wall = Clock(clock_type=ClockType.STEADY_TIME)
        self._timer = self.create_timer(LOOK_S, self._look, clock=wall)

    @property
    def role(self) -> str:
        """Camera role."""
        return self._start.role

    @property
    def hears(self) -> bool:
        """Whether the camera is subscribed to now."""
        return self._subscription is not None

    def ask(self) -> None:
        """Note that somebody looks at the page: keep hearing the camera; from any thread."""
        self._asked_s = time.monotonic()

    def overlay(self, card: int, live: UInt8) -> Overlay:
        """Return the overlay of a reference at the size of a live picture.

        Raises:
            ParameterError: If there is no such reference.
        """
        if not 0 <= card < len(self.references):
            raise ParameterError(
                f'card {card}; allowed: 0 to {len(self.references) - 1}'
                if self.references
                else 'no reference yet: no picture has come'
            )
        height, width, _ = live.shape
        key = card, width, height
        if key not in self._overlays:
            self._overlays = {k: v for k, v in self._overlays.items() if k[1:] == key[1:]}
            picture = scaled(self.references[card].picture, width, height)
            self._overlays[key] = Overlay(picture)
        return self._overlays[key]

    def _look(self) -> None:
        """Subscribe while somebody wants overlays, and no longer."""
        is_asked = time.monotonic() - self._asked_s < ASKED_S
        wanted = is_asked or self._watchers > 0
        name = topics.image_topic(self.role)
        if wanted and self._subscription is None:
            self._subscription = self.create_subscription(
                message_type(name), name, self._take, subscriber_qos(name)
            )
        elif not wanted and self._subscription is not None:
            self.destroy_subscription(self._subscription)
            self._subscription = self.live = None

    @property
    def _watchers(self) -> int:
        return int(self._image.get_subscription_count() + self._score.get_subscription_count())

    def _take(self, message: Any) -> None:
        try:
            stamp_ns, picture = image_from_message(message)
        except MessageError as error:
            self._complain(str(error))
            return
        now_s = time.monotonic()
        self.live = Live(picture, stamp_ns, now_s)
        if not self.references:
            text = 'the first picture that was heard'
            self.references = (Reference(text, '', picture.copy()),)
        if self._watchers and now_s - self._drawn_s >= 0.999 / self._start.rate_hz:
            self._drawn_s = now_s
            self._publish(picture, stamp_ns, message.header.frame_id)

    def _publish(self, picture: UInt8, stamp_ns: int, frame_id: str) -> None:
        """Draw and publish what is subscribed to."""
        try:
            p = current(self, OverlayParameters)
            overlay = self.overlay(p.card, picture)
            if self._image.get_subscription_count():
                drawn = overlay.draw(picture, p.mode, p.alpha)
                self._image.publish(image_to_message(drawn, stamp_ns, frame_id))
            match = overlay.match(picture)
        except ParameterError as error:
            self._complain(str(error))
            return
        self._complained = ''
        if self._score.get_subscription_count():
            self._score.publish(Float64(data=match.score))
        self._report(match, overlay.shift_px(picture), self.references[p.card].name, stamp_ns)

    def _report(self, match: Match, shift: tuple[float, float], name: str, stamp_ns: int) -> None:
        if time.monotonic() - self._reported_s < REPORT_S:
            return
        self._reported_s = time.monotonic()
        values = {
            'reference': name,
            'score': f'{match.score:.3f}',
            'worst': f'{match.worst:.3f}',
            'worst_x': f'{match.worst_at[0]:.2f}',
            'worst_y': f'{match.worst_at[1]:.2f}',
            'shift_x_px': f'{shift[0]:.1f}',
            'shift_y_px': f'{shift[1]:.1f}',
        }
        text = f'match {match.score:.2f}, shift {shift[0]:+.0f}, {shift[1]:+.0f} px'
        source = f'overlay_node: {self.role}'
        self._health.publish(health_to_message(stamp_ns, source, HealthLevel.OK, text, values))

    def _complain(self, why: str) -> None:
        """Log a fault once, until it has changed."""
        if why != self._complained:
            self.get_logger().warning(why)
        self._complained = why


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM."""
    return run_node('overlay_node', lambda _: OverlayNode(), lambda node, _: None, arguments)


if __name__ == '__main__':
    sys.exit(main())
