"""A Franka by the Franka Control Interface: commands at 1 kHz from processes of their own."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable

from structrl_ros.control.robot_description import load_robot
from structrl_ros.drivers.fci_child import FciChild
from structrl_ros.drivers.fci_link import Ask
from structrl_ros.drivers.fci_link import Tell
from structrl_ros.drivers.fci_link import pack_waypoint
from structrl_ros.drivers.fci_link import unpack_json
from structrl_ros.drivers.fci_link import unpack_report
from structrl_ros.drivers.fci_settings import FciSettings
from structrl_ros.errors import ArmError
from structrl_ros.types import ArmState
from structrl_ros.types import Float64

#: Seconds to wait for the first state of an arm, or for the answer to a recovery.
ANSWER_S = 10.0


class FciArm:
    """The Arm port for a Franka Research 3 (or what speaks its protocol).

    Needs pylibfranka (Linux, system image 5.9.0 or later) and a connection to the controller.
    """

    is_hardware = True

    def __init__(self, settings: FciSettings, *, prefix: str = '', gripper: bool = True) -> None:
        """Connect.

        Args:
            settings: Of the arm's process.
            prefix: Before the joint names; '' takes the robot's name and an underscore.
            gripper: Whether there is a Franka Hand.

        Raises:
            ArmError: If the arm does not answer.
        """
        robot = load_robot(settings.stream.robot)
        prefix = prefix or f'{robot.name}_'
        self.name = f'fci {settings.address}'
        self.joint_names = tuple(prefix + name for name in robot.joint_names)
        self._settings = settings
        self._has_gripper = gripper
        self._on_period: Callable[[], None] | None = None
        self._state: ArmState | None = None
        self._came_s = -math.inf
        self._success_rate = 0.0
        self._opening = settings.open_width
        self._busy_since_s: float | None = None
        self._answer = ''
        self._answered = threading.Event()
        self._first = threading.Event()
        self._why, self._gripper_why, self._is_lost = '', '', False
        self._gripper: FciChild | None = None
        self._child = self._connect()
        self._wish: bool | None = None
        self._is_closed = False

    @property
    def age_s(self) -> float:
        """Seconds since the newest state came."""
        return time.monotonic() - self._came_s

    @property
    def success_rate(self) -> float:
        """Share of the last 100 commands that the arm received in time."""
        return self._success_rate

    @property
    def complaint(self) -> str:
        """Why arm or gripper stopped last, '' if they did not."""
        return self._why or self._gripper_why

    @property
    def process_ids(self) -> tuple[int, ...]:
        """Numbers of the processes of the arm and the gripper."""
        children = (self._child, self._gripper)
        return tuple(child.pid for child in children if child is not None)

    def start(self, on_period: Callable[[], None]) -> None:
        """Take waypoints from now on, standing where the arm is.

        Raises:
            ArmError: If the arm's process is gone.
        """
        self._on_period = on_period
        if not self._child.ask(Ask.START):
            raise ArmError(f'{self.name} is gone: {self._why or "its process ended"}')

    def state(self) -> ArmState | None:
        """Return the newest state; None before the first."""
        return self._state

    def follow(self, waypoint: Float64) -> None:
        """Be at a position one control period after the last waypoint.

        Raises:
            ArmError: If the arm's process is gone.
        """
        if not self._child.ask(Ask.WAYPOINT, pack_waypoint(waypoint)):
            raise ArmError(f'{self.name} is gone: {self._why or "its process ended"}')

    def stop(self) -> None:
        """Stop as fast as the limits allow and forget all waypoints."""
        self._child.ask(Ask.STOP)

    def grip(self, closed: bool) -> None:
        """Close or open the gripper; a gripper that hangs gets a new process."""
        if self._gripper is None:
            return
        busy_s = self._busy_since_s
        is_hung = (
            busy_s is not None and time.monotonic() - busy_s > self._settings.gripper_timeout_s
        )
        if is_hung or not self._gripper.is_alive:
            self._gripper.kill()
            self._gripper = self._start_gripper()
        self._busy_since_s = self._busy_since_s or time.monotonic()
        self._gripper.ask(Ask.GRIP, b'1' if closed else b'0')

    def recover(self) -> None:
        """Clear errors, with a new connection where the old one is gone; one attempt.

        Raises:
            ArmError: If the arm did not recover.
        """
        on_period = self._on_period
        if not self._is_recovered():
            self._reconnect()
            if not self._is_recovered():
                raise ArmError(f'{self.name} is gone: {self._why or "its process ended"}')
        self._why = ''
        if on_period is not None:
            self.start(on_period)

    def close(self) -> None:
        """Come to rest and end the processes; a second call does nothing."""
        if self._is_closed:
            return
        self._is_closed = True
        self._child.end()
        if self._gripper is not None:
            self._gripper.end()

    def _is_recovered(self) -> bool:
        """Ask for a recovery; return False if the connection is gone, now or meanwhile.

        Raises:
            ArmError: If the arm refuses, or gives no answer.
        """
        self._answered.clear()
        self._child.ask(Ask.RECOVER)
        end = time.monotonic() + ANSWER_S
        while not self._answered.wait(0.02):
            if self._is_lost or not self._child.is_alive:
                return False
            if time.monotonic() > end:
                raise ArmError(f'{self.name} gave no answer to the recovery within {ANSWER_S:g} s')
        if self._answer:
            raise ArmError(f'{self.name} did not recover: {self._answer}')
        return True

    def _reconnect(self) -> None:
        """Begin anew with a controller that was gone: what its gripper said last counts no more.

        Raises:
            ArmError: If there is none.
        """
        gripper, self._gripper = self._gripper, None
        for child in (self._child, gripper):
            if child is not None:
                child.kill()
        self._child = self._connect()

    def _connect(self) -> FciChild:
        self._first.clear()
        self._why, self._is_lost = '', False
        child = FciChild('fci_process', self._settings, hear=self._hear, on_end=self._ended)
        end = time.monotonic() + ANSWER_S
        while not self._first.wait(0.05):
            if not child.is_alive or time.monotonic() > end:
                child.kill()
                why = self._why or f'no state within {ANSWER_S:g} s'
                raise ArmError(f'no arm at {self._settings.address}: {why}')
        if self._has_gripper and self._gripper is None:
            self._gripper = self._start_gripper()
        return child

    def _start_gripper(self) -> FciChild:
        self._busy_since_s = None
        self._gripper_why = ''
        return FciChild(
            'fci_gripper_process', self._settings, hear=self._hear_gripper, on_end=lambda: None
        )

    def _hear(self, kind: bytes, payload: bytes) -> None:
        if kind == Tell.STATE.value:
            report = unpack_report(payload, self._opening)
            self._state, self._success_rate = report.state, report.success_rate
            self._came_s = time.monotonic()
            self._first.set()
        elif kind == Tell.DUE.value:
            if self._on_period is not None:
                self._on_period()
        elif kind == Tell.ANSWER.value:
            self._answer = unpack_json(payload)['error']
            self._answered.set()
        else:
            self._why = payload.decode()
            self._is_lost = kind == Tell.END.value

    def _hear_gripper(self, kind: bytes, payload: bytes) -> None:
        if kind == Tell.WIDTH.value:
            told = unpack_json(payload)
            self._opening = float(told['width'])
            if not told['busy']:
                self._busy_since_s = None
            elif self._busy_since_s is None:
                self._busy_since_s = time.monotonic()
        else:
            self._gripper_why = f'gripper: {payload.decode()}'

    def _ended(self) -> None:
        self._why = self._why or 'its process ended'
