"""The process that speaks to a Franka: pylibfranka, a thousand commands a second, no ROS.

pylibfranka holds the interpreter's lock in every call, so it has a process to itself. It is
started by `FciArm` with one end of a link; where the link ends, the arm comes to rest.
"""

from __future__ import annotations

import gc
import json
import os
import socket
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from structrl_ros.control.joint_stream import JointStream
from structrl_ros.drivers.fci_link import Ask
from structrl_ros.drivers.fci_link import Report
from structrl_ros.drivers.fci_link import Tell
from structrl_ros.drivers.fci_link import pack_json
from structrl_ros.drivers.fci_link import pack_report
from structrl_ros.drivers.fci_link import receive
from structrl_ros.drivers.fci_link import send
from structrl_ros.drivers.fci_link import unpack_json
from structrl_ros.drivers.fci_link import unpack_waypoint
from structrl_ros.drivers.fci_motion import PERIOD_S
from structrl_ros.drivers.fci_motion import FciMotion
from structrl_ros.drivers.fci_settings import FciSettings
from structrl_ros.errors import ArmError
from structrl_ros.types import ArmMode
from structrl_ros.types import ArmState

#: Arm periods between two reports of the state.
REPORT_PERIODS = 5
#: Seconds between two looks while nothing is commanded.
IDLE_S = 0.005
#: Longest wait for the arm to be idle after a recovery, seconds.
RECOVERY_S = 3.0
#: Priority of the control loop among real-time processes.
PRIORITY = 20


class FciProcess:
    """Connects, reports, and moves while it is asked to."""

    def __init__(self, settings: FciSettings, link: socket.socket, library: Any) -> None:
        """Connect to the arm.

        Raises:
            Exception: Whatever the vendor's library raises.
        """
        self._settings = settings
        self._link = link
        self._library = library
        is_enforced = settings.realtime == 'require'
        config = library.RealtimeConfig
        self._robot = library.Robot(
            settings.address, config.kEnforce if is_enforced else config.kIgnore
        )
        self._is_wanted = True
        self._is_due_told = False
        self._turns = 0

    def run(self) -> None:
        """Serve until the driver says so or is gone.

        Raises:
            Exception: Whatever the vendor's library raises when the connection is lost.
        """
        self._report(self._robot.read_once(), None)
        while self._is_wanted:
            if self._idle():
                self._move()

    def _idle(self) -> bool:
        """Report and serve until control is asked for; return whether it is."""
        gc.collect()
        while self._is_wanted:
            self._report(self._robot.read_once(), None)
            for kind, payload in self._inbox():
                if kind == Ask.START.value:
                    return True
                if kind == Ask.RECOVER.value:
                    self._answer(self._recover)
                del payload
            time.sleep(IDLE_S)
        return False

    def _move(self) -> None:
        """Control the arm until the driver is done with it, or the arm stops by itself."""
        settings, library = self._settings, self._library
        stream = JointStream(
            settings.stream.limits(),
            waypoint_period_s=settings.stream.waypoint_period_s,
            period_s=PERIOD_S,
        )
        is_velocity = settings.interface == 'joint_velocity'
        motion = None
        try:
            self._configure()
            motion = FciMotion(self._begin(is_velocity), library, stream, velocity=is_velocity)
            gc.disable()
            while motion.turn(finish=not self._is_wanted):
                stream.prepare()
                self._serve(motion)
        except (library.ControlException, library.CommandException) as error:
            send(self._link, Tell.HALT, _line(error).encode())
            self._log(error, motion)
        finally:
            gc.enable()

    def _log(self, error: BaseException, motion: FciMotion | None) -> None:
        """Say on stderr what the last arm periods were like."""
        turns = [] if motion is None else motion.turns
        lines = [f'{self._settings.address}: {_line(error)}', *(turn.line() for turn in turns)]
        sys.stderr.write('\n  '.join(lines) + '\n')

    def _configure(self) -> None:
        settings, robot = self._settings, self._robot
        torques, forces = [settings.torque_threshold] * 7, [settings.force_threshold] * 6
        robot.set_collision_behavior(torques, torques, forces, forces)
        if settings.stiffness:
            robot.set_joint_impedance(list(settings.stiffness))

    def _begin(self, is_velocity: bool) -> Any:
        mode = self._library.ControllerMode
        is_joint = self._settings.controller == 'joint_impedance'
        controller = mode.JointImpedance if is_joint else mode.CartesianImpedance
        if is_velocity:
            return self._robot.start_joint_velocity_control(controller)
        return self._robot.start_joint_position_control(controller)

    def _serve(self, motion: FciMotion) -> None:
        """What is done after a command was sent: hear, ask for a waypoint, report."""
        stream = motion.stream
        for kind, payload in self._inbox():
            if kind == Ask.WAYPOINT.value:
                stream.follow(unpack_waypoint(payload))
            elif kind == Ask.STOP.value:
                stream.stop()
        if not self._is_wanted and not stream.is_stopping and not stream.is_still:
            stream.stop()
        is_due = stream.wants_waypoint_in_s <= self._settings.stream.lead_s
        if is_due and not self._is_due_told:
            send(self._link, Tell.DUE)
        self._is_due_told = is_due
        self._turns += 1
        if self._turns % REPORT_PERIODS == 0:
            self._report(motion.state, motion)

    def _inbox(self) -> list[tuple[bytes, bytes]]:
        """Return what the driver asked; without a driver the process ends."""
        messages: list[tuple[bytes, bytes]] = []
        try:
            while (message := receive(self._link, wait=False)) is not None:
                messages.append(message)
        except ArmError:
            self._is_wanted = False
        if any(kind == Ask.QUIT.value for kind, _ in messages):
            self._is_wanted = False
        return messages

    def _answer(self, action: Callable[[], None]) -> None:
        try:
            action()
        except (self._library.CommandException, ArmError) as error:
            send(self._link, Tell.ANSWER, pack_json({'error': _line(error)}))
        else:
            send(self._link, Tell.ANSWER, pack_json({'error': ''}))

    def _recover(self) -> None:
        """Clear errors and wait until the arm may be moved; the driver hears of it first.

        Raises:
            ArmError: If it may not be moved in time.
        """
        self._robot.automatic_error_recovery()
        end = time.monotonic() + RECOVERY_S
        while (state := self._robot.read_once()).robot_mode != self._library.RobotMode.Idle:
            if time.monotonic() > end:
                raise ArmError(f'the arm is {state.robot_mode.name} after the recovery, not Idle')
            time.sleep(IDLE_S)
        self._report(state, None)  # before the answer: a mode of before would stop the arm again

    def _report(self, state: Any, motion: FciMotion | None) -> None:
        arm = ArmState(
            time_ns=round(state.time.to_sec() * 1e9),
            mode=ArmMode(int(state.robot_mode.value)),
            position=np.array(state.q),
            velocity=np.array(state.dq),
            reference=np.array(state.q_d),
            is_still=motion is None or motion.stream.is_still,
            opening=0.0,
            wrench=np.array(state.O_F_ext_hat_K),
            errors=tuple(json.loads(str(state.current_errors))),
        )
        report = Report(arm, float(state.control_command_success_rate))
        send(self._link, Tell.STATE, pack_report(report))


def take_priority(how: str) -> None:
    """Run as a real-time process: 'require' it, 'try' it, or 'ignore' it.

    Raises:
        ArmError: If it is required and not allowed.
    """
    if how == 'ignore':
        return
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    except PermissionError:
        if how == 'require':
            raise ArmError(
                'no permission for real-time scheduling: add the user to a group with rtprio in '
                '/etc/security/limits.conf, or give realtime:=try'
            ) from None


def _line(error: BaseException) -> str:
    return ' '.join(str(error).split())


def main() -> int:
    """Serve the driver at the socket whose number is the one argument."""
    link = socket.socket(fileno=int(sys.argv[1]))
    link.setblocking(True)
    message = receive(link, wait=True)
    assert message is not None
    settings = FciSettings.from_json(unpack_json(message[1]))
    try:
        import pylibfranka

        take_priority(settings.realtime)
        FciProcess(settings, link, pylibfranka).run()
    except ImportError:
        why = 'pylibfranka is not installed; pip install -r requirements/franka.txt'
        send(link, Tell.END, why.encode())
        return 1
    except Exception as error:  # the process's last line: the driver must know why
        send(link, Tell.END, _line(error).encode())
        return 1
    return 0


if __name__ == '__main__':
    os._exit(main())  # the vendor's destructors wait for a controller that may be gone
