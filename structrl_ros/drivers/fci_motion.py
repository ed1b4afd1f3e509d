"""One motion on a Franka: a state comes in, a command goes out, a thousand times a second.

Knows the vendor's library only by the few attributes it touches, and no socket.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from structrl_ros.control.joint_segments import JointMotion
from structrl_ros.control.joint_stream import SAME_POSITION
from structrl_ros.control.joint_stream import JointStream
from structrl_ros.drivers.fci_cadence import Cadence
from structrl_ros.types import Float64

#: Lost commands in a row that are looked for on the stream; a Franka stops at 20.
MOST_LOST = 20
#: Seconds between two commands.
PERIOD_S = 0.001


class FciMotion:
    """From the start of control to its end; the stream is seeded where the arm is."""

    def __init__(self, control: Any, library: Any, stream: JointStream, *, velocity: bool) -> None:
        """Bind what `start_joint_position_control` or `..._velocity_control` returned.

        Args:
            control: The vendor's active control.
            library: The vendor's module.
            stream: Gives the commands.
            velocity: Command velocities; else positions.
        """
        self._control = control
        self._library = library
        self._velocity = velocity
        self._last: Float64 | None = None
        self.stream = stream
        self.cadence = Cadence()
        self.resumed = 0
        self.state: Any = None

    def turn(self, *, finish: bool = False) -> bool:
        """Wait for a state and answer it; return whether the motion goes on.

        Args:
            finish: End the motion, if the arm stands still.

        Raises:
            Exception: Whatever the vendor's library raises: the motion is over.
        """
        began = time.perf_counter()
        state, _ = self._control.readOnce()
        came = time.perf_counter()
        self.state = state
        reference = np.array(state.q_d)
        if self._last is None:
            self.stream.seed(reference)
            self._last = reference
        elif not self.cadence.is_fresh(came - began):
            return True
        before = self._catch_up(state, reference)
        command = self._command(before)
        is_last = finish and self.stream.is_still
        command.motion_finished = is_last
        if is_last or self.cadence.is_in_time(time.perf_counter() - came):
            self._last = self.stream.motion.position
            self._control.writeOnce(command)
        return not is_last

    def _catch_up(self, state: Any, reference: Float64) -> Float64:
        """Step the stream to the next command; return the reference that it follows on."""
        assert self._last is not None
        lost: int | None = 0
        if np.abs(reference - self._last).max() > SAME_POSITION:
            lost = self.stream.find(reference, periods=MOST_LOST)
        if lost is None:
            self.resumed += 1
            acceleration = np.array(state.ddq_d)
            # The arm differentiates backwards: its velocity is that of half a period ago.
            velocity = np.array(state.dq_d) + 0.5 * PERIOD_S * acceleration
            self.stream.resume(JointMotion(reference, velocity, acceleration))
            lost = 0
        self.stream.step(lost)
        before = self.stream.motion.position
        self.stream.step()
        return before

    def _command(self, before: Float64) -> Any:
        position = self.stream.motion.position
        if self._velocity:
            return self._library.JointVelocities(((position - before) / PERIOD_S).tolist())
        return self._library.JointPositions(position.tolist())
