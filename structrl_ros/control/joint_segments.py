"""Pieces of a joint motion that join without a kink: a polynomial, or what Ruckig found.

Both start at a given position, velocity and acceleration. The polynomial (degree 5, from state to
state in a given time) is the smoothest; Ruckig is taken where the polynomial would break a limit,
and for stopping as fast as the limits allow.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from ruckig import Trajectory

from structrl_ros.control.joint_limits import JointLimits
from structrl_ros.types import Float64

#: Share of a limit that a piece with a prescribed target may use, so that what lies between two
#: looked-at instants stays inside.
CHECKED_SHARE = 0.98
#: Looks at acceleration and jerk of a polynomial.
LOOKS = 16


@dataclass(frozen=True, eq=False, slots=True)
class JointMotion:
    """Position (rad), velocity (rad/s) and acceleration (rad/s^2) of J joints, each (J,)."""

    position: Float64
    velocity: Float64
    acceleration: Float64


def at_rest(position: Float64) -> JointMotion:
    """Return standing still at a position."""
    still = np.zeros_like(position)
    return JointMotion(position, still, still)


@dataclass(frozen=True, eq=False, slots=True)
class Instants:
    """Times of a piece, shape (N,), and their powers for position, velocity, ... (4, N, 6)."""

    times: Float64
    powers: Float64


@lru_cache(maxsize=64)
def instants_of(first_s: float, duration_s: float, step_s: float) -> Instants:
    """Return 0, then instants every step from the first one on, then the end of a piece."""
    inner = np.arange(first_s if first_s > 0.0 else step_s, duration_s - 1e-9, step_s)
    times = np.array([0.0, *inner, duration_s])
    powers = np.zeros((4, len(times), 6))
    powers[0] = times[:, None] ** np.arange(6)
    for order in range(1, 4):
        powers[order, :, 1:] = powers[order - 1, :, :-1] * np.arange(1, 6)
    return Instants(times, powers)


class Segment(Protocol):
    """A piece of motion from its own time 0 on."""

    def at(self, time_s: float) -> JointMotion:
        """Return the motion at a time of the piece, seconds."""

    def states(self, instants: Instants) -> Float64:
        """Return position, velocity and acceleration at N instants, shape (3, N, J)."""


class PolynomialSegment:
    """The polynomial of degree 5 between two states."""

    def __init__(self, start: JointMotion, end: JointMotion, duration_s: float) -> None:
        """Fit it; the duration is above 0, seconds."""
        t = duration_s
        coasted = start.position + t * (start.velocity + 0.5 * t * start.acceleration)
        gap = end.position - coasted
        gap_v = end.velocity - (start.velocity + t * start.acceleration)
        gap_a = end.acceleration - start.acceleration
        self._coefficients = np.array(
            [
                start.position,
                start.velocity,
                0.5 * start.acceleration,
                (10.0 * gap - 4.0 * t * gap_v + 0.5 * t * t * gap_a) / t**3,
                (-15.0 * gap + 7.0 * t * gap_v - t * t * gap_a) / t**4,
                (6.0 * gap - 3.0 * t * gap_v + 0.5 * t * t * gap_a) / t**5,
            ]
        )
        self._duration_s = duration_s

    def at(self, time_s: float) -> JointMotion:
        """Return the motion at a time of the piece."""
        t, t2, t3 = time_s, time_s * time_s, time_s**3
        powers = (
            (1.0, t, t2, t3, t2 * t2, t2 * t3),
            (0.0, 1.0, 2.0 * t, 3.0 * t2, 4.0 * t3, 5.0 * t2 * t2),
            (0.0, 0.0, 2.0, 6.0 * t, 12.0 * t2, 20.0 * t3),
        )
        position, velocity, acceleration = np.array(powers) @ self._coefficients
        return JointMotion(position, velocity, acceleration)

    def states(self, instants: Instants) -> Float64:
        """Return position, velocity and acceleration at N instants."""
        found: Float64 = instants.powers[:3] @ self._coefficients
        return found

    def fits(self, limits: JointLimits) -> NDArray[np.bool_]:
        """Return which joints keep acceleration and jerk on the whole piece, shape (J,)."""
        spread = instants_of(0.0, self._duration_s, self._duration_s / LOOKS)
        acceleration, jerk = np.abs(spread.powers[2:] @ self._coefficients)
        kept = (acceleration <= CHECKED_SHARE * limits.acceleration) & (
            jerk <= CHECKED_SHARE * limits.jerk
        )
        fitting: NDArray[np.bool_] = kept.all(axis=0)
        return fitting


class RuckigSegment:
    """What Ruckig found, seen from a frame that moves evenly; at its end it moves on with it."""

    def __init__(self, trajectory: Trajectory, origin: Float64, drift: Float64) -> None:
        """Take a calculated trajectory.

        Args:
            trajectory: In the moving frame.
            origin: Where that frame is at time 0, shape (J,), rad.
            drift: Its velocity, shape (J,), rad/s.
        """
        self._trajectory = trajectory
        self._origin, self._drift = origin, drift

    @property
    def duration_s(self) -> float:
        """Seconds until all joints are where they shall be."""
        return float(self._trajectory.duration)

    def at(self, time_s: float) -> JointMotion:
        """Return the motion at a time of the piece."""
        position, velocity, acceleration = self._trajectory.at_time(time_s)
        return JointMotion(
            np.array(position) + self._origin + time_s * self._drift,
            np.array(velocity) + self._drift,
            np.array(acceleration),
        )

    def states(self, instants: Instants) -> Float64:
        """Return position, velocity and acceleration at N instants."""
        times = instants.times
        found = np.array([self._trajectory.at_time(t) for t in times.tolist()]).swapaxes(0, 1)
        found[0] += self._origin + times[:, None] * self._drift
        found[1] += self._drift
        return found


class CoastSegment:
    """The acceleration stays as it is: what a Franka does itself where commands are missing."""

    def __init__(self, start: JointMotion) -> None:
        """Coast from a motion."""
        self._start = start

    def at(self, time_s: float) -> JointMotion:
        """Return the motion at a time of the piece."""
        p, v, a = self._start.position, self._start.velocity, self._start.acceleration
        return JointMotion(p + time_s * (v + 0.5 * time_s * a), v + time_s * a, a)

    def states(self, instants: Instants) -> Float64:
        """Return position, velocity and acceleration at N instants."""
        motions = [self.at(time_s) for time_s in instants.times.tolist()]
        return np.array(
            [
                [motion.position for motion in motions],
                [motion.velocity for motion in motions],
                [motion.acceleration for motion in motions],
            ]
        )


class MixedSegment:
    """Some joints by one piece, the others by another."""

    def __init__(self, first: Segment, second: Segment, is_first: NDArray[np.bool_]) -> None:
        """Mix; `is_first` has shape (J,)."""
        self._first, self._second, self._is_first = first, second, is_first

    def at(self, time_s: float) -> JointMotion:
        """Return the motion at a time of the piece."""
        a, b = self._first.at(time_s), self._second.at(time_s)
        return JointMotion(
            np.where(self._is_first, a.position, b.position),
            np.where(self._is_first, a.velocity, b.velocity),
            np.where(self._is_first, a.acceleration, b.acceleration),
        )

    def states(self, instants: Instants) -> Float64:
        """Return position, velocity and acceleration at N instants."""
        first, second = self._first.states(instants), self._second.states(instants)
        return np.where(self._is_first, first, second)
