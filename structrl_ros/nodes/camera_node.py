"""camera_node: one camera of one role, as the contract has it (lifecycle, autostart)."""

from __future__ import annotations

import sys
from collections.abc import Callable
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rclpy.clock import Clock
from rclpy.clock import ClockType
from rclpy.lifecycle import LifecycleNode
from rclpy.lifecycle import TransitionCallbackReturn

from structrl_ros.camera_types import CameraFrame
from structrl_ros.drivers.cameras.opening import check_backend
from structrl_ros.drivers.cameras.opening import open_camera
from structrl_ros.drivers.cameras.reader import CameraReader
from structrl_ros.drivers.cameras.reader import Condition
from structrl_ros.drivers.cameras.reader import ReaderLimits
from structrl_ros.drivers.cameras.region import Region
from structrl_ros.drivers.cameras.settings import CameraSettings
from structrl_ros.errors import StructRLError
from structrl_ros.intrinsics_file import read_intrinsics
from structrl_ros.nodes.parameters import declare
from structrl_ros.nodes.spinning import run_node
from structrl_ros.nodes.topic_camera import TopicCamera
from structrl_ros.params.camera import CameraParameters
from structrl_ros.ports import Camera
from structrl_ros.wire import topics
from structrl_ros.wire.image_codecs import depth_to_message
from structrl_ros.wire.image_codecs import image_to_message
from structrl_ros.wire.image_codecs import intrinsics_to_message
from structrl_ros.wire.qos import message_type
from structrl_ros.wire.qos import publisher_qos
from structrl_ros.wire.stamps import RosClock
from structrl_ros.wire.task_codecs import HealthLevel
from structrl_ros.wire.task_codecs import health_to_message

SUCCESS = TransitionCallbackReturn.SUCCESS
FAILURE = TransitionCallbackReturn.FAILURE
#: Wall seconds between two reports on `/diagnostics`.
REPORT_S = 0.5

_LEVELS = {
    Condition.GOOD: HealthLevel.OK,
    Condition.STARTING: HealthLevel.WARN,
    Condition.STALE: HealthLevel.STALE,
    Condition.LOST: HealthLevel.ERROR,
    Condition.FROZEN: HealthLevel.ERROR,
    Condition.WRONG_SIZE: HealthLevel.ERROR,
}


class CameraNode(LifecycleNode):
    """Publishes frames from the reader's thread and health from its own."""

    def __init__(self, **options: Any) -> None:
        """Declare parameters; with `autostart`, configure and activate.

        Args:
            **options: Of rclpy's Node.

        Raises:
            StructRLError: If a parameter is not allowed.
        """
        super().__init__('camera_node', **options)
        self._settings = declare(self, CameraParameters)
        self._body_clock = RosClock(self)
        self._reader: CameraReader | None = None
        self._topic_camera: TopicCamera | None = None
        self._owned: list[Any] = []
        self._timer: Any = None
        if self._settings.autostart and self.trigger_configure() == SUCCESS:
            self.trigger_activate()

    def on_configure(self, state: Any) -> TransitionCallbackReturn:
        """Check all that can be without the camera, which may be plugged in later."""
        try:
            self._opener = self._make_opener()
        except StructRLError as error:
            self.get_logger().error(str(error))
            return FAILURE
        role = self._settings.role
        names = [
            topics.image_topic(role),
            topics.camera_info_topic(role),
            topics.depth_topic(role),
        ]
        self._image, self._info, self._depth = (
            self.create_lifecycle_publisher(message_type(name), name, publisher_qos(name))
            for name in names
        )
        health = topics.DIAGNOSTICS
        self._health = self.create_publisher(message_type(health), health, publisher_qos(health))
        self._owned = [self._image, self._info, self._depth, self._health]
        return super().on_configure(state)

    def on_activate(self, state: Any) -> TransitionCallbackReturn:
        """Open the camera, and keep trying where it is not there."""
        p, region = self._settings, self._settings.crop
        result = super().on_activate(state)
        self._reader = CameraReader(
            self._opener,
            Region(
                (region[0], region[1], region[2], region[3]) if region else None,
                (p.resize[0], p.resize[1]) if p.resize else None,
            ),
            ReaderLimits(
                size=(p.width, p.height) if p.width else None,
                max_age_s=p.max_age_s,
                frozen_after_s=p.frozen_after_s,
                reset_after_s=p.reset_after_s,
                reconnect_s=p.reconnect_s,
                rate_hz=p.rate_hz,
            ),
            self._body_clock,
            self._publish,
            self._tell,
        )
        self._reader.start()
        wall = Clock(clock_type=ClockType.STEADY_TIME)
        self._timer = self.create_timer(REPORT_S, self._report, clock=wall)
        return result

    def on_deactivate(self, state: Any) -> TransitionCallbackReturn:
        """Close the camera."""
        self._stop_reader()
        self.destroy_timer(self._timer)
        return super().on_deactivate(state)

    def on_cleanup(self, state: Any) -> TransitionCallbackReturn:
        """Free publishers and subscriptions."""
        if self._topic_camera is not None:
            self._topic_camera.destroy()
        for publisher in self._owned:
            self.destroy_publisher(publisher)
        return super().on_cleanup(state)

    def close(self) -> None:
        """End the thread and free the camera."""
        self._stop_reader()

    def _stop_reader(self) -> None:
        if self._reader is not None:
            self._reader.stop()
        self._reader = None

    def _make_opener(self) -> Callable[[], Camera]:
        """Return what opens the camera.

        Raises:
            StructRLError: If a library or the file of the intrinsics is missing.
        """
        p = self._settings
        intrinsics = read_intrinsics(Path(p.intrinsics)) if p.intrinsics else None
        if p.backend == 'ros_topic':
            camera = TopicCamera(
                *(self, p.source),
                info_topic=p.info_topic,
                compressed=p.transport == 'compressed',
                intrinsics=intrinsics,
                clock=self._body_clock,
            )
            self._topic_camera = camera
            return lambda: camera
        check_backend(p.backend)
        settings = CameraSettings(
            *(p.source, p.width, p.height, p.rate_hz, p.depth, intrinsics, p.loop)
        )
        return lambda: open_camera(p.backend, settings, self._body_clock)

    def _publish(self, frame: CameraFrame) -> None:
        """Publish a frame, in the reader's thread."""
        frame_id = self._settings.optical_frame
        if frame.intrinsics is not None:
            self._info.publish(intrinsics_to_message(frame.intrinsics, frame.stamp_ns, frame_id))
        if frame.depth is not None:
            self._depth.publish(depth_to_message(frame.depth, frame.stamp_ns, frame_id))
        self._image.publish(image_to_message(frame.image, frame.stamp_ns, frame_id))

    def _tell(self, condition: Condition, reason: str) -> None:
        """Log a change of condition, in the reader's thread."""
        if not self.context.ok():
            return
        role, logger = self._settings.role, self.get_logger()
        if condition is Condition.GOOD:
            logger.info(f'{role}: frames come')
        else:
            logger.warning(f'{role} {condition}: {reason}')
        self._report()

    def _report(self) -> None:
        if self._reader is None:
            return
        condition, reason, values = self._reader.health()
        name, stamp_ns = f'camera_node: {self._settings.role}', self._body_clock.now_ns()
        text = reason if condition is Condition.GOOD else f'{condition}: {reason}'
        self._health.publish(health_to_message(stamp_ns, name, _LEVELS[condition], text, values))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM."""
    return run_node('camera_node', lambda _: CameraNode(), lambda node, _: node.close(), arguments)


if __name__ == '__main__':
    sys.exit(main())
