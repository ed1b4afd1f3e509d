"""overlay_node: the live picture of a camera over a reference, for whoever looks at it.

It hears the camera only while somebody subscribes to the overlay, or the page (`overlay_page`)
asks for one.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Any

from rclpy.clock import Clock
from rclpy.clock import ClockType
from rclpy.node import Node
from std_msgs.msg import Float64

from structrl_ros.errors import ParameterError
from structrl_ros.evaluation.alignment import Match
from structrl_ros.nodes.health import Health
from structrl_ros.nodes.overlay_references import references_of
from structrl_ros.nodes.parameters import current
from structrl_ros.nodes.parameters import declare
from structrl_ros.nodes.spinning import run_node
from structrl_ros.nodes.watched_camera import Live
from structrl_ros.nodes.watched_camera import WatchedCamera
from structrl_ros.params.overlay import OverlayParameters
from structrl_ros.recording.reference_cards import ReferenceCards
from structrl_ros.wire import topics
from structrl_ros.wire.image_codecs import image_to_message
from structrl_ros.wire.qos import message_type
from structrl_ros.wire.qos import publisher_qos
from structrl_ros.wire.task_codecs import HealthLevel

#: Seconds between two looks whether somebody subscribes, and between two reports.
LOOK_S = 0.25
REPORT_S = 1.0


class OverlayNode(Node):
    """Publishes `overlay/<role>/image` and `overlay/<role>/score`.

    Attributes:
        cards: The references.
        camera: What is laid over them.
    """

    def __init__(self, **options: Any) -> None:
        """Declare parameters and read the references.

        Args:
            **options: Of rclpy's Node.

        Raises:
            StructRLError: If a parameter is not allowed, or there is no reference.
        """
        super().__init__('overlay_node', **options)
        p = self._start = declare(self, OverlayParameters)
        self.cards = ReferenceCards(references_of(p.reference, p.role) if p.reference else ())
        self.camera = WatchedCamera(self, p.role, self._take)
        self._drawn_s = self._reported_s = -1e9
        self._complained = ''
        names = topics.overlay_topic(p.role), topics.overlay_score_topic(p.role)
        self._image, self._score = (
            self.create_publisher(message_type(name), name, publisher_qos(name)) for name in names
        )
        self._health = Health(self, p.role)
        wall = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(LOOK_S, self._look, clock=wall)

    def _look(self) -> None:
        self.camera.follow(self._watchers > 0)

    @property
    def _watchers(self) -> int:
        return int(self._image.get_subscription_count() + self._score.get_subscription_count())

    def _take(self, live: Live) -> None:
        self.cards.see(live.picture)
        if self._watchers and live.heard_s - self._drawn_s >= 0.999 / self._start.rate_hz:
            self._drawn_s = live.heard_s
            self._publish(live)

    def _publish(self, live: Live) -> None:
        """Draw and publish what is subscribed to."""
        picture, stamp_ns = live.picture, live.stamp_ns
        try:
            p = current(self, OverlayParameters)
            overlay = self.cards.overlay(p.card, picture)
            if self._image.get_subscription_count():
                drawn = overlay.draw(picture, p.mode, p.alpha)
                self._image.publish(image_to_message(drawn, stamp_ns, live.frame_id))
            match = overlay.match(picture)
        except ParameterError as error:
            self._complain(str(error))
            return
        self._complained = ''
        if self._score.get_subscription_count():
            self._score.publish(Float64(data=match.score))
        name = self.cards.reference(p.card).name
        self._report(match, overlay.shift_px(picture), name, stamp_ns)

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
        self._health.tell(HealthLevel.OK, text, values, stamp_ns=stamp_ns)

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
