"""One motion on a Franka: a state comes in, a command goes out, a thousand times a second.

Knows the vendor's library only by the few attributes it touches, and no socket.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np

from structrl_ros.control.joint_segments import JointMotion
from structrl_ros.control.joint_stream import SAME_POSITION
from structrl_ros.control.joint_stream import JointStream
from structrl_ros.drivers.fci_cadence import SHORTEST_WAIT_S
from structrl_ros.drivers.fci_cadence import Cadence
from structrl_ros.types import Float64

#: Lost commands in a row that are looked for on the stream; a Franka stops at 20.
MOST_LOST = 20
#: Arm periods that are kept for the log.
TURNS_KEPT = 40
#: A state that was waited for longer than this may have come earlier, seconds.
PAUSE_S = 0.0012
#: Seconds between two commands.
PERIOD_S = 0.001
#: Velocities that differ by less are one, rad/s: a jerk of 200 rad/s^3.
SAME_VELOCITY = 1e-4
#: So often in a row, and a period, an arm that left the stream is followed; then it is stopped.
#: Each time it coasts, and one that coasts again and again would become faster and faster.
MOST_RESUMES, RESUMES_A_PERIOD = 10.0, 0.02


@dataclass(slots=True)
class Turn:
    """What happened in one arm period: for the log, when the arm stops by itself.

    Attributes:
        time_s: The arm's time.
        waited_s: How long its state was waited for.
        gap: Between its reference and the last command, rad.
        lost: Commands that were lost before it; -1: they could not be found on the stream.
        answer_s: How long the answer took; None: none was sent.
    """

    time_s: float
    waited_s: float
    gap: float
    lost: int
    answer_s: float | None

    def line(self) -> str:
        """Return it in one line."""
        answer = '-' if self.answer_s is None else f'{1e3 * self.answer_s:.2f} ms'
        return (
            f'{self.time_s:.3f} s: waited {1e3 * self.waited_s:.2f} ms, gap {self.gap:.1e} rad, '
            f'lost {self.lost}, answer {answer}'
        )


class FciMotion:
    """From the start of control to its end; the stream is seeded where the arm is.

    The next command is made while the state that it answers is on its way, so that between state
    and answer there is only a comparison.
    """

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
        self._last: list[float] = []
        self._last_velocity: list[float] = []
        self._velocities: list[float] = [0.0] * 7
        self._resumes_left = MOST_RESUMES
        self._next: Any = None
        self.stream = stream
        self.cadence = Cadence()
        self._answered_s = 0.0
        self._was_late = self._paused = False
        self.resumed = 0
        self.state: Any = None
        self.turns: deque[Turn] = deque(maxlen=TURNS_KEPT)

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
        if self._next is None:
            self._begin(state)
        elif not self.cadence.is_fresh(came - began):
            # A state lies here already: the one that was answered after a pause was old, too.
            self._was_late |= self._paused and came - began < SHORTEST_WAIT_S
            self._note(state, came - began, 0.0, 0, None)
            return True
        gap = max(abs(a - b) for a, b in zip(state.q_d, self._last, strict=True))
        lost = 0 if self._is_on_stream(state, gap) else self._catch_up(state)
        self._resumes_left = min(MOST_RESUMES, self._resumes_left + RESUMES_A_PERIOD)
        is_last = finish and self.stream.is_still
        self._next.motion_finished = is_last
        answer_s = None
        if is_last or self.cadence.is_in_time(time.perf_counter() - came):
            self._send()
            answer_s = time.perf_counter() - came
            self._was_late = answer_s > PERIOD_S
            self._paused = came - began > PAUSE_S
            self._answered_s = state.time.to_sec()
            self._make_next()
        self._note(state, came - began, gap, lost, answer_s)
        return not is_last

    def _is_on_stream(self, state: Any, gap: float) -> bool:
        """Return whether the arm took the last command.

        Where velocities are commanded the arm integrates them, in its own way: its position may
        be off by what it moves in a period.
        """
        if gap <= SAME_POSITION:
            return True
        if not self._velocity:
            return False
        states = zip(state.q_d, state.dq_d, self._last, self._last_velocity, strict=True)
        return all(
            abs(velocity - commanded) <= SAME_VELOCITY
            and abs(position - last) <= SAME_POSITION + PERIOD_S * abs(velocity)
            for position, velocity, last, commanded in states
        )

    def _send(self) -> None:
        self._control.writeOnce(self._next)

    def _begin(self, state: Any) -> None:
        self.stream.seed(np.array(state.q_d))
        self._make_next()

    def _make_next(self) -> None:
        """Step the stream, which was at the command that was sent last, to the next one."""
        before = self.stream.motion.position
        self._last = before.tolist()
        self.stream.step()
        position = self.stream.motion.position
        if self._velocity:
            self._last_velocity = self._velocities
            self._velocities = ((position - before) / PERIOD_S).tolist()
            self._next = self._library.JointVelocities(self._velocities)
        else:
            self._next = self._library.JointPositions(position.tolist())

    def _catch_up(self, state: Any) -> int:
        """Make a command that follows on the arm's reference; return how many were lost.

        -1: the reference is nowhere on the stream, which goes on from there.
        """
        reference = np.array(state.q_d)
        behind = self._periods_behind(state, reference) if self._was_late else 0
        lost = None if behind else self.stream.find(reference, periods=MOST_LOST)
        if lost is None:
            self.resumed += 1
            acceleration, velocity = np.array(state.ddq_d), np.array(state.dq_d)
            # The arm differentiates backwards: its velocity is that of half a period ago.
            now = velocity + 0.5 * PERIOD_S * acceleration
            reference = reference + behind * PERIOD_S * (velocity + PERIOD_S * acceleration)
            self.stream.resume(JointMotion(reference, now, acceleration))
            self._resumes_left -= 1.0
            if self._resumes_left < 0.0:
                self.stream.stop()
            self._make_next()
            return -1
        self.stream.step(lost)
        self._make_next()
        return lost + 1

    def _periods_behind(self, state: Any, reference: Float64) -> int:
        """Return by how many periods the reference is behind the clock after a late answer.

        A Franka drops a late answer and goes on by itself: its reference has moved for all the
        periods that passed, so this is 0. The simulated controller takes the answer late, and
        then measures the next command over all the periods that its reference has stayed behind.
        """
        passed = round((state.time.to_sec() - self._answered_s) / PERIOD_S)
        fastest = int(np.argmax(np.abs(state.dq_d)))
        step = PERIOD_S * state.dq_d[fastest]
        if abs(step) < SAME_POSITION or not 1 < passed <= MOST_LOST:
            return 0
        moved = round(float((reference[fastest] - self._last[fastest]) / step))
        return max(0, passed - moved - 1)

    def _note(
        self, state: Any, waited_s: float, gap: float, lost: int, answer_s: float | None
    ) -> None:
        self.turns.append(Turn(state.time.to_sec(), waited_s, gap, lost, answer_s))
