"""An arm without a robot: follows its commands exactly, and fails as it is told to.

It steps the same stream as a real one, in real time or by hand.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable

import numpy as np

from structrl_ros.control.joint_stream import JointStream
from structrl_ros.control.robot_description import RobotDescription
from structrl_ros.drivers.fci_settings import StreamSettings
from structrl_ros.errors import ArmError
from structrl_ros.types import ArmMode
from structrl_ros.types import ArmState
from structrl_ros.types import Float64

#: Faults that it can play, with the mode that the arm is in.
FAULTS = {
    'user_stop': ArmMode.USER_STOPPED,
    'guiding': ArmMode.GUIDING,
    'reflex': ArmMode.REFLEX,
    'stale': ArmMode.MOVE,
}


class FakeArm:
    """Kinematic: positions are those commanded, the gripper moves at once."""

    is_hardware = False

    def __init__(
        self,
        robot: RobotDescription,
        settings: StreamSettings,
        *,
        command_period_s: float = 0.005,
        own_time: bool = True,
    ) -> None:
        """Stand at the ready posture.

        Args:
            robot: The arm.
            settings: How waypoints become commands.
            command_period_s: Seconds between two commands.
            own_time: A thread lets time pass; else `pass_time` does.
        """
        self.name = f'fake {robot.name}'
        self.joint_names = tuple(f'{robot.name}_{name}' for name in robot.joint_names)
        self._period_s = settings.waypoint_period_s
        self._lead_s = settings.lead_s
        self._command_s = command_period_s
        self._stream = JointStream(
            settings.limits(), waypoint_period_s=self._period_s, period_s=command_period_s
        )
        self._stream.seed(robot.ready)
        self._lock = threading.RLock()
        self._on_period: Callable[[], None] | None = None
        self._mode = ArmMode.IDLE
        self._errors: tuple[str, ...] = ()
        self._is_stale = self._is_due_told = False
        self._opening = 0.08
        self._time_s = 0.0
        self._state: ArmState | None = None
        self._came_s = -math.inf
        self._thread: threading.Thread | None = None
        self._is_closed = False
        self.recovers = True
        self.commands: list[Float64] = []
        self._read()
        if own_time:
            self._thread = threading.Thread(target=self._run, name='fake arm', daemon=True)
            self._thread.start()

    @property
    def age_s(self) -> float:
        """Seconds since the newest state."""
        return time.monotonic() - self._came_s

    def start(self, on_period: Callable[[], None]) -> None:
        """Take waypoints from now on, standing where the arm is.

        Raises:
            ArmError: If it is in no mode to be moved.
        """
        with self._lock:
            if self._mode not in (ArmMode.IDLE, ArmMode.MOVE):
                raise ArmError(f'{self.name} is {self._mode.name}; allowed: IDLE')
            self._on_period = on_period
            self._mode = ArmMode.MOVE

    def state(self) -> ArmState | None:
        """Return the newest state."""
        return self._state

    def follow(self, waypoint: Float64) -> None:
        """Be at a position one control period after the last waypoint."""
        with self._lock:
            if self._mode is ArmMode.MOVE:
                self._stream.follow(waypoint)

    def stop(self) -> None:
        """Stop as fast as the limits allow and forget all waypoints."""
        with self._lock:
            self._stream.stop()

    def grip(self, closed: bool) -> None:
        """Close or open the gripper, at once."""
        self._opening = 0.0 if closed else 0.08

    def recover(self) -> None:
        """Clear a reflex.

        Raises:
            ArmError: If the fault lasts, or `recovers` is not set.
        """
        with self._lock:
            if self._mode in (ArmMode.USER_STOPPED, ArmMode.GUIDING) or not self.recovers:
                raise ArmError(f'{self.name} is {self._mode.name}: release it first')
            self._mode, self._errors = ArmMode.MOVE, ()
            self._stream.seed(self._stream.motion.position)
            self._read()

    def close(self) -> None:
        """Stop the thread."""
        self._is_closed = True
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(2.0)

    def place(self, state: ArmState | None) -> None:
        """Stand where another arm is commanded to be; None: where it stood."""
        with self._lock:
            position = self._stream.motion.position if state is None else state.reference
            self._stream.seed(position)
            self._read()

    def fail(self, fault: str) -> None:
        """Play a fault of `FAULTS`, '' ends it: 'stale' keeps the states back."""
        with self._lock:
            self._is_stale = fault == 'stale'
            if not fault:
                self._mode = ArmMode.MOVE if self._on_period else ArmMode.IDLE
                self._stream.seed(self._stream.motion.position)
            elif not self._is_stale:
                self._mode = FAULTS[fault]
                self._errors = ('cartesian_reflex',) if fault == 'reflex' else ()
                self._stream.seed(self._stream.motion.position)
            self._read()

    def pass_time(self, seconds: float) -> None:
        """Let time pass in which commands are followed and waypoints asked for."""
        for _ in range(round(seconds / self._command_s)):
            with self._lock:
                self._time_s += self._command_s
                self._stream.step()
                self._stream.prepare()
                self.commands.append(self._stream.motion.position)
                is_due = self._stream.wants_waypoint_in_s <= self._lead_s
                tell = is_due and not self._is_due_told and self._mode is ArmMode.MOVE
                self._is_due_told = is_due
                self._read()
            if tell and self._on_period is not None:
                self._on_period()

    def _read(self) -> None:
        if self._is_stale:
            return
        motion = self._stream.motion
        self._state = ArmState(
            time_ns=round(1e9 * self._time_s),
            mode=self._mode,
            position=motion.position,
            velocity=motion.velocity,
            reference=motion.position,
            is_still=self._stream.is_still,
            opening=self._opening,
            wrench=np.zeros(6),
            errors=self._errors,
        )
        self._came_s = time.monotonic()

    def _run(self) -> None:
        due = time.monotonic()
        while not self._is_closed:
            due = max(due + self._command_s, time.monotonic() - 0.1)
            time.sleep(max(0.0, due - time.monotonic()))
            self.pass_time(self._command_s)
            del self.commands[:-2000]
