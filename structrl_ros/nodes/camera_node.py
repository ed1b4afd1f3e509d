"""camera_node: one camera of one role, as the contract has it (lifecycle, autostart)."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from rclpy.clock import Clock
from rclpy.clock import ClockType
from rclpy.lifecycle import LifecycleNode
from rclpy.lifecycle import TransitionCallbackReturn

from structrl_ros.drivers.cameras.reader import CameraReader
from structrl_ros.drivers.cameras.reader import Condition
from structrl_ros.errors import StructRLError
from structrl_ros.nodes.camera_opening import CameraOpening
from structrl_ros.nodes.camera_opening import frame_region
from structrl_ros.nodes.camera_opening import reader_limits
from structrl_ros.nodes.frame_publisher import FramePublisher
from structrl_ros.nodes.health import Health
from structrl_ros.nodes.parameters import declare
from structrl_ros.nodes.spinning import run_node
from structrl_ros.params.camera import CameraParameters
from structrl_ros.wire.stamps import RosClock
from structrl_ros.wire.task_codecs import HealthLevel

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
        self._timer: Any = None
        if self._settings.autostart and self.trigger_configure() == SUCCESS:
            self.trigger_activate()

    def on_configure(self, state: Any) -> TransitionCallbackReturn:
        """Check all that can be without the camera, which may be plugged in later."""
        try:
            self._opening = CameraOpening(self, self._settings, self._body_clock)
        except StructRLError as error:
            self.get_logger().error(str(error))
            return FAILURE
        role = self._settings.role
        self._frames = FramePublisher(self, role, self._settings.optical_frame)
        self._health = Health(self, role)
        return super().on_configure(state)

    def on_activate(self, state: Any) -> TransitionCallbackReturn:
        """Open the camera, and keep trying where it is not there."""
        result = super().on_activate(state)
        self._reader = CameraReader(
            self._opening.open,
            frame_region(self._settings),
            reader_limits(self._settings),
            self._body_clock,
            self._frames.publish,
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
        for owned in (self._opening, self._frames, self._health):
            owned.close()
        return super().on_cleanup(state)

    def close(self) -> None:
        """End the thread and free the camera."""
        self._stop_reader()

    def _stop_reader(self) -> None:
        if self._reader is not None:
            self._reader.stop()
        self._reader = None

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
        text = reason if condition is Condition.GOOD else f'{condition}: {reason}'
        self._health.tell(_LEVELS[condition], text, values)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM."""
    return run_node('camera_node', lambda _: CameraNode(), lambda node, _: node.close(), arguments)


if __name__ == '__main__':
    sys.exit(main())
