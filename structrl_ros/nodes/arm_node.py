"""arm_node: a real arm under the contract (lifecycle, autostart).

The same topics as a simulated body, but no truth and no clock of its own. Nothing moves unless
there is a young state of the arm, a heartbeat of who sends chunks, fresh pictures of the cameras
that the policy needs, and an arm that is in no mode of its own.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rclpy.lifecycle import LifecycleNode
from rclpy.lifecycle import TransitionCallbackReturn
from sensor_msgs.msg import JointState

from structrl_ros.errors import ArmError
from structrl_ros.errors import StructRLError
from structrl_ros.nodes.arm_session import ArmSession
from structrl_ros.nodes.arms import make_arm
from structrl_ros.nodes.parameters import declare
from structrl_ros.nodes.spinning import run_node
from structrl_ros.params.arm import ArmParameters
from structrl_ros.ports import Arm
from structrl_ros.types import Float64

SUCCESS = TransitionCallbackReturn.SUCCESS
FAILURE = TransitionCallbackReturn.FAILURE
#: Topic of what a dry run would send.
DRY_TARGET = 'dry_run/target_joint'

ArmMaker = Callable[[Any, ArmParameters, Callable[[Float64], None]], Arm]


class ArmNode(LifecycleNode):
    """Connects in configure, moves while active, is at rest before it lets go."""

    def __init__(self, *, maker: ArmMaker = make_arm, **options: Any) -> None:
        """Declare parameters; with `autostart`, configure and activate.

        Args:
            maker: Makes the arm; tests give their own.
            **options: Of rclpy's Node.

        Raises:
            StructRLError: If a parameter is not allowed, or an arm that is started at once does
                not answer.
        """
        super().__init__('arm_node', **options)
        self._settings = declare(self, ArmParameters)
        self._maker = maker
        self._session: ArmSession | None = None
        self._targets: Any = None
        self._why = ''
        if self._settings.autostart:
            if self.trigger_configure() != SUCCESS:
                raise ArmError(self._why)
            self.trigger_activate()

    @property
    def session(self) -> ArmSession | None:
        """What the node holds while it is configured."""
        return self._session

    def on_configure(self, state: Any) -> TransitionCallbackReturn:
        """Connect to the arm; it is not moved."""
        p = self._settings
        try:
            self._check_calibration()
            arm = self._maker(self, p, self._show)
        except StructRLError as error:
            self._why = str(error)
            self.get_logger().error(self._why)
            return FAILURE
        if p.dry_run and p.arm != 'fake':
            self._targets = self.create_publisher(JointState, DRY_TARGET, 10)
            self.get_logger().warning(
                f'dry run: nothing is sent, see {DRY_TARGET}; give dry_run:=false to move the arm'
            )
        try:
            self._session = ArmSession(self, p, arm)
        except StructRLError as error:
            arm.close()
            self._why = str(error)
            self.get_logger().error(self._why)
            return FAILURE
        self._names = arm.joint_names
        return super().on_configure(state)

    def on_activate(self, state: Any) -> TransitionCallbackReturn:
        """Take control of the arm where it stands."""
        assert self._session is not None
        self._session.activate()
        return super().on_activate(state)

    def on_deactivate(self, state: Any) -> TransitionCallbackReturn:
        """Stop the arm first; an operator must resume after the next activation."""
        assert self._session is not None
        self._session.deactivate()
        return super().on_deactivate(state)

    def on_cleanup(self, state: Any) -> TransitionCallbackReturn:
        """Let go of the arm. The node is then to be ended: its interfaces stay."""
        self.close()
        return super().on_cleanup(state)

    def close(self) -> None:
        """Come to rest and let go of the arm; a second call does nothing."""
        session, self._session = self._session, None
        if session is not None:
            session.close()

    def _check_calibration(self) -> None:
        p = self._settings
        if p.roles and p.calibration and not Path(p.calibration).expanduser().is_file():
            raise ArmError(f'no calibration file {p.calibration}: structrl calibrate makes one')

    def _show(self, waypoint: Float64) -> None:
        """Publish what would be sent to the arm."""
        message = JointState(name=list(self._names), position=array('d', waypoint))
        message.header.stamp = self.get_clock().now().to_msg()
        self._targets.publish(message)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM; the arm is at rest before it ends."""
    return run_node('arm_node', lambda _: ArmNode(), lambda node, _: node.close(), arguments)


if __name__ == '__main__':
    sys.exit(main())
