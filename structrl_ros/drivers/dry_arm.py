"""A dry run: states come from the real arm, commands go to a copy that nobody sees move."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from structrl_ros.drivers.fake_arm import FakeArm
from structrl_ros.ports import Arm
from structrl_ros.types import ArmState
from structrl_ros.types import Float64


class DryArm:
    """The Arm port: reads one arm, moves another; never asks the real one for anything."""

    is_hardware = False

    def __init__(self, real: Arm, copy: FakeArm, *, show: Callable[[Float64], None]) -> None:
        """Read `real`, move `copy`.

        Args:
            real: The arm that is read; it is neither started nor gripped nor recovered.
            copy: Stands where the real arm stood when control began.
            show: Called with each waypoint that would be sent, shape (J,), rad.
        """
        self.name = f'dry run of {real.name}'
        self.joint_names = real.joint_names
        self._real, self._copy, self._show = real, copy, show

    @property
    def age_s(self) -> float:
        """Seconds since the newest state of the real arm."""
        return self._real.age_s

    def start(self, on_period: Callable[[], None]) -> None:
        """Ask for waypoints, from where the real arm is."""
        self._copy.place(self._real.state())
        self._copy.start(on_period)

    def state(self) -> ArmState | None:
        """Return the measured state of the real arm with the reference of the copy."""
        real, copy = self._real.state(), self._copy.state()
        if real is None or copy is None:
            return real
        return replace(real, reference=copy.reference, is_still=copy.is_still)

    def follow(self, waypoint: Float64) -> None:
        """Show a waypoint, and have the copy follow it."""
        self._show(waypoint)
        self._copy.follow(waypoint)

    def stop(self) -> None:
        """Stop the copy."""
        self._copy.stop()

    def grip(self, closed: bool) -> None:
        """Do nothing: the gripper is real."""

    def recover(self) -> None:
        """Put the copy where the real arm is; the real one is left as it is."""
        self._copy.place(self._real.state())

    def close(self) -> None:
        """Free both."""
        self._copy.close()
        self._real.close()
