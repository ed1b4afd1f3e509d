"""What to do next: the best piece of joint motion that can be stopped within the limits.

Ruckig: Berscheid and Kroeger, "Jerk-limited Real-time Trajectory Generation with Arbitrary Target
States", 2021.
"""

from __future__ import annotations

from collections.abc import Generator

import numpy as np
from numpy.typing import NDArray
from ruckig import ControlInterface
from ruckig import InputParameter
from ruckig import Result
from ruckig import Ruckig
from ruckig import RuckigError
from ruckig import Synchronization
from ruckig import Trajectory

from structrl_ros.control.joint_limits import JointLimits
from structrl_ros.control.joint_segments import CHECKED_SHARE
from structrl_ros.control.joint_segments import Instants
from structrl_ros.control.joint_segments import JointMotion
from structrl_ros.control.joint_segments import MixedSegment
from structrl_ros.control.joint_segments import PolynomialSegment
from structrl_ros.control.joint_segments import RuckigSegment
from structrl_ros.control.joint_segments import Segment
from structrl_ros.types import Float64

#: Slowest velocity bound that Ruckig is given, rad/s.
LEAST_VELOCITY = 1e-3
#: Rounding that a limit may be exceeded by, rad and rad/s.
SLACK = 1e-6

Mask = NDArray[np.bool_]


def plan_stop(limits: JointLimits, start: JointMotion) -> RuckigSegment:
    """Return the quickest stop, each joint by itself."""
    request = _request(limits, start)
    request.control_interface = ControlInterface.Velocity
    trajectory = Trajectory(limits.count)
    Ruckig(limits.count).calculate(request, trajectory)
    still = np.zeros(limits.count)
    return RuckigSegment(trajectory, still, still)


def plan_approach(
    limits: JointLimits, start: JointMotion, goal: JointMotion, instants: Instants
) -> Generator[None, None, Segment]:
    """Find the best safe piece towards a state that is due at its end, joint by joint.

    Joints that can be there in time go by the polynomial. The others go as quickly as the limits
    allow to the point that moves evenly and is at the goal, with its velocity, when it is due;
    seen from that point Ruckig has to bring them to rest at 0, so they join it without a swing.
    A joint for which neither is safe stops.

    Args:
        limits: What is kept.
        start: The motion at time 0.
        goal: The motion that is due at the last instant.
        instants: Times at which the piece is looked at: all at which it may be cut.

    Yields:
        Pauses: all of it takes longer than an arm period may. `planned` runs it to its end.

    Returns:
        The piece.
    """
    polynomial = PolynomialSegment(start, goal, float(instants.times[-1]))
    is_smooth = polynomial.fits(limits)
    yield
    is_smooth = is_smooth & safe_joints(polynomial, limits, instants)
    if is_smooth.all():
        return polynomial
    yield
    rest: Segment | None = _plan_chase(limits, start, goal, float(instants.times[-1]))
    yield
    is_safe = is_smooth if rest is None else is_smooth | safe_joints(rest, limits, instants)
    if rest is None or not is_safe.all():
        stop = plan_stop(limits, start)
        rest = stop if rest is None else MixedSegment(rest, stop, is_safe)
    return MixedSegment(polynomial, rest, is_smooth) if is_smooth.any() else rest


def planned(plan: Generator[None, None, Segment]) -> Segment:
    """Return what a plan comes to, without pauses."""
    while True:
        try:
            next(plan)
        except StopIteration as end:
            found: Segment = end.value
            return found


def _plan_chase(
    limits: JointLimits, start: JointMotion, goal: JointMotion, duration_s: float
) -> RuckigSegment | None:
    """Return the quickest way to the moving point; its velocity is cut to what can be stopped."""
    reach = 2.0 * duration_s * limits.velocity  # until the next plan the arm gets no farther
    near = start.position + np.clip(goal.position - start.position, -reach, reach)
    low, high = _velocity_window(limits, start.position, near)
    above = np.sqrt(limits.acceleration * np.maximum(0.0, limits.position_high - goal.position))
    below = np.sqrt(limits.acceleration * np.maximum(0.0, goal.position - limits.position_low))
    drift = np.clip(
        goal.velocity,
        np.maximum(CHECKED_SHARE * low, -below),
        np.minimum(CHECKED_SHARE * high, above),
    )
    origin = goal.position - duration_s * drift
    request = _request(
        limits,
        JointMotion(start.position - origin, start.velocity - drift, start.acceleration),
    )
    request.max_velocity = np.maximum(high - drift, LEAST_VELOCITY).tolist()
    request.min_velocity = np.minimum(low - drift, -LEAST_VELOCITY).tolist()
    trajectory = Trajectory(limits.count)
    try:
        result = Ruckig(limits.count).calculate(request, trajectory)
    except RuckigError:
        return None
    if result not in (Result.Working, Result.Finished):
        return None
    return RuckigSegment(trajectory, origin, drift)


def safe_joints(segment: Segment, limits: JointLimits, instants: Instants) -> Mask:
    """Return which joints are, at every instant of a piece, within limits and stoppable, (J,)."""
    position, velocity, acceleration = segment.states(instants)
    now = position[0]
    if _is_far_from_limits(limits, position, velocity):
        return np.ones(limits.count, dtype=bool)
    return stoppable_joints(limits, position[1:], velocity[1:], acceleration[1:], now=now)


def _is_far_from_limits(limits: JointLimits, position: Float64, velocity: Float64) -> bool:
    """Return whether a rough bound of all stops is enough to see that they are allowed."""
    swing = limits.acceleration**2 / (2.0 * limits.jerk)
    peak = np.abs(velocity).max(axis=0) + swing
    reach = peak * (0.5 * peak / limits.acceleration + 2.0 * limits.acceleration / limits.jerk)
    lowest, highest = position.min(axis=0) - reach, position.max(axis=0) + reach
    if (lowest < limits.position_low).any() or (highest > limits.position_high).any():
        return False
    fastest = np.minimum(limits.velocity_bounds(highest)[1], -limits.velocity_bounds(lowest)[0])
    return bool((peak <= fastest).all())


def stoppable_joints(
    limits: JointLimits,
    position: Float64,
    velocity: Float64,
    acceleration: Float64,
    *,
    now: Float64,
) -> Mask:
    """Return for which joints N states are within limits, and so is stopping from each, (J,).

    Velocity limits shrink towards the ends of the range, so it is enough that the peak velocity
    of the stop is allowed at its farthest point.

    Args:
        limits: The limits.
        position: Of the states, shape (N, J).
        velocity: Of the states, shape (N, J).
        acceleration: Of the states, shape (N, J).
        now: Where the joints are now, shape (J,): one that is out of its range already may stay
            there and move inwards.
    """
    up, up_peak = stopping_reach(limits, velocity, acceleration)
    down, down_peak = stopping_reach(limits, -velocity, -acceleration)
    highest, lowest = position + up, position - down
    high = np.maximum(limits.position_high, now)
    low = np.minimum(limits.position_low, now)
    _, fastest_up = limits.velocity_bounds(np.minimum(highest, limits.position_high))
    fastest_down, _ = limits.velocity_bounds(np.maximum(lowest, limits.position_low))
    stays = (highest <= high + SLACK) & (lowest >= low - SLACK)
    is_slow = (up_peak <= fastest_up + SLACK) & (-down_peak >= fastest_down - SLACK)
    return np.asarray((stays & is_slow).all(axis=0), dtype=bool)


def stopping_reach(
    limits: JointLimits, velocity: Float64, acceleration: Float64
) -> tuple[Float64, Float64]:
    """Return how far the quickest stop goes in the positive direction, and its peak velocity.

    The stop ramps the acceleration down at full jerk, holds the full deceleration and ramps it up
    to 0. A state that decelerates already lies on such a ramp, which began at acceleration 0 with
    a higher velocity. One that decelerates more than its stop needs turns round within a hair's
    breadth; its way is bounded from above.

    Args:
        limits: The limits.
        velocity: Shape (N, J).
        acceleration: Shape (N, J).

    Returns:
        Both at least 0, shape (N, J).
    """
    jerk, brake = limits.jerk, limits.acceleration
    ramp = acceleration / jerk  # seconds to (or since) acceleration 0
    crest = np.maximum(velocity + 0.5 * acceleration * ramp, 0.0)
    whole = np.where(
        crest >= brake**2 / jerk,
        0.5 * crest * (crest / brake + brake / jerk),
        crest * np.sqrt(crest / jerk),
    )
    rise = velocity * ramp + acceleration * ramp**2 / 3.0
    since = -ramp
    fall = crest * since - jerk * since**3 / 6.0
    is_turning = (acceleration < 0.0) & (velocity < 0.5 * acceleration**2 / jerk)
    turn = 2.0 * np.maximum(velocity, 0.0) ** 2 / np.maximum(-acceleration, 1e-12)
    reach = np.where(acceleration >= 0.0, np.maximum(rise, 0.0) + whole, whole - fall)
    reach = np.where(is_turning, turn, reach)
    peak = np.where(acceleration >= 0.0, crest, np.maximum(velocity, 0.0))
    return np.maximum(reach, 0.0), peak


def _velocity_window(limits: JointLimits, start: Float64, end: Float64) -> tuple[Float64, Float64]:
    """Return velocity bounds that hold on the whole way between two positions."""
    inside = np.clip([start, end], limits.position_low, limits.position_high)
    low, high = limits.velocity_bounds(inside)
    return low.max(axis=0), high.min(axis=0)


def _request(limits: JointLimits, start: JointMotion) -> InputParameter:
    """Return a request to come to rest at 0, each joint by itself."""
    request = InputParameter(limits.count)
    request.current_position = start.position.tolist()
    request.current_velocity = start.velocity.tolist()
    request.current_acceleration = start.acceleration.tolist()
    request.target_position = [0.0] * limits.count
    request.max_velocity = limits.velocity.tolist()
    request.max_acceleration = limits.acceleration.tolist()
    request.max_jerk = limits.jerk.tolist()
    request.synchronization = Synchronization.No
    return request
