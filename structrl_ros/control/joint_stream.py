"""Waypoints at the rate of a policy become joint commands at the rate of an arm.

A body gives one waypoint a control period (10 to 20 Hz). The stream follows the uniform cubic
B-spline of the waypoints (twice continuously differentiable, never outside their hull), one period
and the time to plan behind the newest one, and is asked for a command each arm period (1 kHz).
From the present motion to the next knot of the spline it takes the polynomial of degree 5 where
that keeps the limits, else what Ruckig finds, else it stops. Whatever is taken can be stopped
within the limits at every instant, so neither a late, a missing nor a wild waypoint can make the
arm exceed them.
"""

from __future__ import annotations

import math
from collections.abc import Generator

import numpy as np

from structrl_ros.control.joint_limits import JointLimits
from structrl_ros.control.joint_plans import plan_approach
from structrl_ros.control.joint_plans import plan_stop
from structrl_ros.control.joint_plans import planned
from structrl_ros.control.joint_segments import CoastSegment
from structrl_ros.control.joint_segments import JointMotion
from structrl_ros.control.joint_segments import PolynomialSegment
from structrl_ros.control.joint_segments import Segment
from structrl_ros.control.joint_segments import at_rest
from structrl_ros.control.joint_segments import instants_of
from structrl_ros.errors import LimitError
from structrl_ros.types import Float64

#: Below this the arm counts as still: rad/s, rad/s^2 (each joint).
STILL_VELOCITY = 1e-6
STILL_ACCELERATION = 1e-4
#: Times that differ by less are one, seconds.
INSTANT_S = 1e-9
#: Positions that differ by less are one, rad: an arm reports its reference in single precision.
#: Three times this over the cube of a millisecond is a jerk that the vendor still allows.
SAME_POSITION = 3e-7
#: Seconds that planning may be spread over; for as long an arm that lost commands coasts.
PLANNING_S = 0.008

Plan = Generator[None, None, Segment]


class JointStream:
    """One arm's stream; `step` once an arm period."""

    def __init__(
        self, limits: JointLimits, *, waypoint_period_s: float, period_s: float = 0.001
    ) -> None:
        """Make a stream that is not seeded yet.

        Args:
            limits: What the commands keep, already with their safety margin.
            waypoint_period_s: Seconds between two waypoints: the body's control period.
            period_s: Seconds between two commands, not longer than a waypoint's.

        Raises:
            LimitError: If a period is not allowed.
        """
        if not 0.0 < period_s <= waypoint_period_s < math.inf:
            raise LimitError(
                f'command period {period_s} s, waypoint period {waypoint_period_s} s; '
                'allowed: 0 < command period <= waypoint period'
            )
        self._limits = limits
        self._waypoint_s = waypoint_period_s
        self._period_s = period_s
        self._planning_periods = max(1, round(PLANNING_S / period_s))
        self._motion: JointMotion | None = None
        self._segment: Segment
        self._planned: Plan | tuple[Segment, float] | None = None
        self._planning_s = waypoint_period_s
        self._next: Float64 | None = None
        self._unrepeated: tuple[Float64, Float64]
        self._time_s = self._duration_s = self._left_s = 0.0
        self._stopping = False

    def seed(self, position: Float64) -> None:
        """Begin anew, standing still at a position, shape (J,).

        Raises:
            LimitError: If the position has another shape or is not finite.
        """
        self._motion = at_rest(self._checked(position))
        self._rest_here()

    @property
    def motion(self) -> JointMotion:
        """The motion that was commanded last.

        Raises:
            LimitError: If the stream was not seeded.
        """
        if self._motion is None:
            raise LimitError('the stream of joint commands has no position; allowed: seed first')
        return self._motion

    @property
    def is_still(self) -> bool:
        """Whether the last command stands still and nothing is on its way."""
        motion = self.motion
        stands = bool(
            (np.abs(motion.velocity) < STILL_VELOCITY).all()
            and (np.abs(motion.acceleration) < STILL_ACCELERATION).all()
        )
        return stands and self._next is None and bool(np.array_equal(self._before, self._now))

    @property
    def is_stopping(self) -> bool:
        """Whether `stop` was called and the arm does not stand yet."""
        return self._stopping

    @property
    def wants_waypoint_in_s(self) -> float:
        """Seconds until the next waypoint is taken up that was not given yet."""
        if self._stopping:
            return math.inf
        left_s = self._duration_s - self._time_s
        is_given = self._next is not None or (self._planned is not None and not self._is_repeating)
        return left_s + self._waypoint_s if is_given else left_s

    def follow(self, waypoint: Float64) -> bool:
        """Take the next waypoint, cut to the range of the joints; return whether it was taken.

        It is taken up when the one before has been; one that came late is taken up at once, and
        a newer one replaces one that waits. While the arm stops nothing is taken.

        Raises:
            LimitError: If the waypoint has another shape or is not finite.
        """
        wanted = self._checked(waypoint)
        motion = self.motion
        if self._stopping:
            return False
        low = np.minimum(self._limits.position_low, motion.position)
        high = np.maximum(self._limits.position_high, motion.position)
        self._next = np.clip(wanted, low, high)
        if self._is_repeating:
            self._before, self._now = self._unrepeated
            early_s = self._planning_periods * self._period_s
            self._duration_s = min(self._duration_s, self._time_s + early_s)
            self._left_s = 0.0
            self._planned = self._plan()
        return True

    def stop(self) -> None:
        """Stop as fast as the limits allow, and forget all waypoints."""
        self._stopping = True
        self._next = self._planned = None
        stop = plan_stop(self._limits, self.motion)
        self._begin(stop, stop.duration_s)

    def find(self, position: Float64, *, periods: int) -> int | None:
        """Return after how many more arm periods (0 to `periods`) the stream is at a position.

        None: it passes there at none of them, so the arm has left the stream.
        """
        motion = self.motion
        fastest = int(np.argmax(np.abs(motion.velocity)))
        step = float(motion.velocity[fastest]) * self._period_s
        away = float(position[fastest] - motion.position[fastest])
        guess = round(away / step) if abs(step) > SAME_POSITION else 0
        for ahead in dict.fromkeys((guess, 0, guess - 1, guess + 1)):
            place = self._segment.at(self._time_s + ahead * self._period_s).position
            is_there = bool((np.abs(place - position) <= SAME_POSITION).all())
            if 0 <= ahead <= periods and is_there:
                return ahead
        return None

    def resume(self, motion: JointMotion) -> None:
        """Go on from where the arm says that its reference is, after commands were lost.

        The acceleration stays for some arm periods, as the arm itself would keep it, so there is
        time to plan.
        """
        self._motion = motion
        if self._stopping:
            self.stop()
            return
        coast_s = self._planning_periods * self._period_s
        self._left_s = max(self._duration_s - self._time_s - coast_s, coast_s)
        self._planned = None
        self._begin(CoastSegment(motion), coast_s)

    def step(self, periods: int = 1) -> JointMotion:
        """Let arm periods pass and return the motion to command now."""
        motion = self.motion
        for _ in range(periods):
            self._time_s += self._period_s
            if self._time_s >= self._duration_s - INSTANT_S:
                if self._stopping:
                    self._motion = self._segment.at(self._duration_s)
                    self._rest_here()
                else:
                    self._take_up()
            motion = self._motion = self._segment.at(self._time_s)
        return motion

    def prepare(self) -> None:
        """Do a part of the planning of the next piece: call it after each command.

        A waypoint is best given some 10 ms before it is taken up. What is not planned when the
        piece begins is planned in `step`, which then takes longer.
        """
        if self._stopping or isinstance(self._planned, tuple):
            return
        if self._planned is None:
            early_s = self._planning_periods * self._period_s
            if self._time_s + early_s < self._duration_s - INSTANT_S:
                return
            self._planned = self._plan()
        try:
            next(self._planned)
        except StopIteration as end:
            self._planned = end.value, self._planning_s

    def _take_up(self) -> None:
        """Begin the next piece."""
        over_s = max(0.0, self._time_s - self._duration_s)
        plan = self._plan() if self._planned is None else self._planned
        if not isinstance(plan, tuple):
            plan = planned(plan), self._planning_s
        self._planned = None
        self._left_s = 0.0
        self._begin(*plan)
        self._time_s = over_s

    def _plan(self) -> Plan:
        """Return a plan of the piece after the present one; its duration is `_planning_s`."""
        start = self._segment.at(self._duration_s)
        if self._left_s > 0.0:
            self._planning_s = self._left_s
            instants = instants_of(0.0, round(self._left_s, 7), self._period_s)
            return plan_approach(self._limits, start, self._goal, instants)
        periods = math.ceil((self._duration_s - self._time_s - INSTANT_S) / self._period_s)
        over_s = self._time_s + periods * self._period_s - self._duration_s
        return self._plan_knot(start, over_s)

    def _plan_knot(self, start: JointMotion, over_s: float = 0.0) -> Plan:
        """Return a plan of the way to the next knot; the last waypoint is repeated at need.

        Args:
            start: Where the piece begins.
            over_s: Seconds of the piece that have passed at the first command of it.
        """
        self._is_repeating = self._next is None
        after = self._now if self._next is None else self._next
        before, now, period = self._before, self._now, self._waypoint_s
        bend = after - 2.0 * now + before
        self._goal = JointMotion(
            now + bend / 6.0, (after - before) / (2.0 * period), bend / period**2
        )
        self._unrepeated = before, now
        self._before, self._now, self._next = now, after, None
        self._planning_s = period
        instants = instants_of(round(max(0.0, over_s), 7), period, self._period_s)
        return plan_approach(self._limits, start, self._goal, instants)

    def _begin(self, segment: Segment, duration_s: float) -> None:
        self._segment = segment
        self._time_s = 0.0
        self._duration_s = duration_s

    def _rest_here(self) -> None:
        """Stand still where the arm is: the only waypoint there is."""
        assert self._motion is not None
        self._motion = self._goal = at_rest(self._motion.position)
        self._before = self._now = self._motion.position
        self._next = self._planned = None
        self._left_s = 0.0
        self._unrepeated = self._before, self._now
        self._stopping = False
        self._is_repeating = True
        rest = PolynomialSegment(self._motion, self._motion, self._waypoint_s)
        self._begin(rest, self._waypoint_s)

    def _checked(self, position: Float64) -> Float64:
        values = np.array(position, dtype=np.float64)
        if values.shape != (self._limits.count,):
            raise LimitError(
                f'joint positions of shape {values.shape}; allowed: ({self._limits.count},)'
            )
        if not np.isfinite(values).all():
            raise LimitError(f'joint positions {values.tolist()}; allowed: finite numbers')
        return values
