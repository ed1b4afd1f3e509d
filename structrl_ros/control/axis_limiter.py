"""One axis under velocity, acceleration, jerk and position limits, in discrete time.

With T the control period, a' = (v' - v) / T and q = j_max T (the largest change of a in a
period), the velocity gained while an acceleration d is released at full jerk is T S(d) with
S(d) = n d - q n (n + 1) / 2, n = floor(d / q). An acceleration d is safe before a bound that is
R T away if d + S(d) <= R; the largest such d has the closed form of `largest_release`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

#: Share of each limit kept back, so that rounding to float32 cannot exceed the limit itself.
MARGIN = 1e-6
#: Rounds of bisection at a wall: 2^-30 of the interval is far below float32.
BISECTIONS = 30
#: Braking takes at most this many periods; more means the limits cannot hold the axis.
BRAKE_HORIZON = 10000


@dataclass(frozen=True, slots=True)
class AxisLimits:
    """Limits of one axis; `low` and `high` bound the position (infinite: none)."""

    period_s: float
    velocity: float
    acceleration: float
    jerk: float
    low: float = -math.inf
    high: float = math.inf


@dataclass(frozen=True, slots=True)
class AxisState:
    """Velocity and acceleration that were last sent, in units of the axis per s and s^2."""

    velocity: float = 0.0
    acceleration: float = 0.0


def largest_release(room: float, q: float) -> float:
    """Return the largest d >= 0 with d + S(d) <= room; 0 where there is no room.

    Args:
        room: Velocity to the bound divided by the period.
        q: Largest change of the acceleration in a period, above 0.
    """
    if room <= 0.0:
        return 0.0
    n = math.floor((math.sqrt(1.0 + 8.0 * room / q) - 1.0) / 2.0)
    return (room + q * n * (n + 1) / 2.0) / (n + 1)


def admissible(limits: AxisLimits, state: AxisState) -> tuple[float, float]:
    """Return the interval of accelerations that keep the axis within its limits for ever.

    Position is not considered. Where rounding makes the interval empty both ends are equal, the
    nearest that jerk and acceleration allow.
    """
    v, a, period = state.velocity, state.acceleration, limits.period_s
    q = limits.jerk * period * (1.0 - MARGIN)
    cap = limits.acceleration * (1.0 - MARGIN)
    speed = limits.velocity * (1.0 - MARGIN)
    low, high = max(-cap, a - q), min(cap, a + q)
    up = largest_release((speed - v) / period, q)
    down = -largest_release((speed + v) / period, q)
    low, high = max(low, min(down, high)), min(high, max(up, low))
    if low > high:
        low = high = min(max((low + high) / 2.0, a - q), a + q)
    return low, high


def brake(limits: AxisLimits, state: AxisState) -> float:
    """Return the acceleration of the quickest stop that does not swing back through zero."""
    v, a = state.velocity, state.acceleration
    sign = 1.0 if v > 0.0 or (v == 0.0 and a > 0.0) else -1.0
    q = limits.jerk * limits.period_s * (1.0 - MARGIN)
    wanted = -largest_release(sign * v / limits.period_s, q)
    low, high = admissible(limits, state)
    return min(max(sign * wanted, low), high)


def stopping_range(limits: AxisLimits, state: AxisState) -> tuple[float, float]:
    """Return the least and greatest displacement until the axis stands still, braking now."""
    least = greatest = moved = 0.0
    period = limits.period_s
    still_v = limits.velocity * 1e-9
    still_a = limits.jerk * period * 0.5
    for _ in range(BRAKE_HORIZON):
        if abs(state.velocity) <= still_v and abs(state.acceleration) <= still_a:
            break
        a = brake(limits, state)
        state = AxisState(state.velocity + a * period, a)
        moved += state.velocity * period
        least, greatest = min(least, moved), max(greatest, moved)
    return least, greatest


def nearest(
    limits: AxisLimits, state: AxisState, wanted: float, position: float | None
) -> AxisState:
    """Return the admissible next state whose velocity is nearest to the wanted velocity.

    Args:
        limits: Limits of the axis.
        state: What was sent last.
        wanted: Wanted velocity, finite.
        position: Where the axis is now, in the units of `low` and `high`; None: no walls. An axis
            that is outside (pushed there) may move inwards, not further out.
    """
    period = limits.period_s
    low, high = admissible(limits, state)
    speed = limits.velocity * (1.0 - MARGIN)
    wanted = min(max(wanted, -speed), speed)  # brakes where limits were tightened in motion
    goal = min(max((wanted - state.velocity) / period, low), high)
    if position is None:
        return _advance(state, goal, period)
    fallback = brake(limits, state)
    behind = _reach(limits, state, fallback, position)
    walls = min(limits.low, behind[0]), max(limits.high, behind[1])

    def is_inside(a: float) -> bool:
        reach = _reach(limits, state, a, position)
        return walls[0] <= reach[0] and reach[1] <= walls[1]

    if is_inside(goal):
        return _advance(state, goal, period)
    good, bad = fallback, goal
    for _ in range(BISECTIONS):
        middle = (good + bad) / 2.0
        good, bad = (middle, bad) if is_inside(middle) else (good, middle)
    return _advance(state, good, period)


def _advance(state: AxisState, acceleration: float, period_s: float) -> AxisState:
    return AxisState(state.velocity + acceleration * period_s, acceleration)


def _reach(
    limits: AxisLimits, state: AxisState, acceleration: float, position: float
) -> tuple[float, float]:
    """Return the lowest and highest position after one step and a stop from there."""
    after = _advance(state, acceleration, limits.period_s)
    position += after.velocity * limits.period_s
    least, greatest = stopping_range(limits, after)
    return position + least, position + greatest
