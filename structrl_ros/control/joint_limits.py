"""Limits of an arm's joints, position-dependent velocity included; they can only be tightened.

The velocity limit of a Franka Research 3 shrinks towards the ends of a joint's range:
v = sqrt(gain |end - q|) - offset, never above the constant limit, never below 0.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from structrl_ros.errors import LimitError
from structrl_ros.types import Float64


@dataclass(frozen=True, eq=False, kw_only=True)
class JointLimits:
    """Limits of J joints, arrays of shape (J,) in rad, rad/s, rad/s^2, rad/s^3.

    Attributes:
        position_low: Lower ends of the ranges.
        position_high: Upper ends of the ranges.
        velocity: Largest absolute velocity anywhere.
        acceleration: Largest absolute acceleration.
        jerk: Largest absolute jerk.
        upper_curve: Towards the upper end: offset, gain, position, shape (J, 3), or None.
        lower_curve: Towards the lower end, the same; both or none.
    """

    position_low: Float64
    position_high: Float64
    velocity: Float64
    acceleration: Float64
    jerk: Float64
    upper_curve: Float64 | None = None
    lower_curve: Float64 | None = None

    def __post_init__(self) -> None:
        """Refuse what is no limit.

        Raises:
            LimitError: If shapes differ, a range is empty, or a value is not finite and positive.
        """
        shape = np.shape(self.position_low)
        for name in ('position_low', 'position_high', 'velocity', 'acceleration', 'jerk'):
            values = np.array(getattr(self, name), dtype=np.float64)
            if values.shape != shape or len(shape) != 1:
                raise LimitError(f'{name} has shape {values.shape}; allowed: {shape}, 1-D')
            is_range = name.startswith('position')
            if not np.isfinite(values).all() or not (is_range or (values > 0.0).all()):
                raise LimitError(f'{name} is {values.tolist()}; allowed: finite and above 0')
            object.__setattr__(self, name, values)
        if not (self.position_low < self.position_high).all():
            raise LimitError(
                f'joint ranges from {self.position_low.tolist()} to '
                f'{self.position_high.tolist()}; allowed: low below high at each joint'
            )

    @property
    def count(self) -> int:
        """Number of joints J."""
        return len(self.position_low)

    def velocity_bounds(self, position: Float64) -> tuple[Float64, Float64]:
        """Return the lowest (at most 0) and highest (at least 0) velocities allowed at positions.

        Args:
            position: Joint positions, shape (..., J), rad.
        """
        shape = np.shape(position)
        if self.upper_curve is None or self.lower_curve is None:
            return np.broadcast_to(-self.velocity, shape), np.broadcast_to(self.velocity, shape)
        offset, gain, end = self.upper_curve.T
        high = np.sqrt(np.maximum(0.0, gain * (end - position))) - offset
        high = np.minimum(self.velocity, np.maximum(0.0, high))
        offset, gain, end = self.lower_curve.T
        low = offset - np.sqrt(np.maximum(0.0, gain * (position - end)))
        low = np.maximum(-self.velocity, np.minimum(0.0, low))
        return low, high

    def scaled(
        self,
        *,
        velocity: float = 1.0,
        acceleration: float = 1.0,
        jerk: float = 1.0,
        position_margin: float = 0.0,
    ) -> JointLimits:
        """Return stricter limits: shares of the dynamic ones, ranges shrunk at both ends.

        Args:
            velocity: Share of the velocity limits, curves included, in (0, 1].
            acceleration: Share of the acceleration limits, in (0, 1].
            jerk: Share of the jerk limits, in (0, 1].
            position_margin: Taken off both ends of each range, rad, 0 or more.

        Raises:
            LimitError: If a share would loosen a limit, or a range becomes empty.
        """
        for name, share in (
            ('velocity', velocity),
            ('acceleration', acceleration),
            ('jerk', jerk),
        ):
            if not 0.0 < share <= 1.0:
                raise LimitError(f'share of {name} is {share}; allowed: above 0, at most 1')
        if not (math.isfinite(position_margin) and position_margin >= 0.0):
            raise LimitError(f'position margin is {position_margin} rad; allowed: 0 or more')
        factor = np.array([velocity, velocity * velocity, 1.0])
        return JointLimits(
            position_low=self.position_low + position_margin,
            position_high=self.position_high - position_margin,
            velocity=self.velocity * velocity,
            acceleration=self.acceleration * acceleration,
            jerk=self.jerk * jerk,
            upper_curve=None if self.upper_curve is None else self.upper_curve * factor,
            lower_curve=None if self.lower_curve is None else self.lower_curve * factor,
        )

    def tighten(self, **changes: Sequence[float] | Float64) -> JointLimits:
        """Return limits with some arrays replaced by stricter ones; curves stay.

        Raises:
            LimitError: If a name is unknown or a value is looser than the present one.
        """
        known = ('position_low', 'position_high', 'velocity', 'acceleration', 'jerk')
        arrays: dict[str, Float64] = {}
        for name, value in changes.items():
            if name not in known:
                raise LimitError(f'unknown limit {name!r}; known: {", ".join(known)}')
            now, new = getattr(self, name), np.array(value, dtype=np.float64)
            is_tight = new >= now if name == 'position_low' else new <= now
            if new.shape != now.shape or not is_tight.all():
                raise LimitError(
                    f'{name} {new.tolist()} is looser than {now.tolist()}; limits only tighten'
                )
            arrays[name] = new
        return dataclasses.replace(self, **arrays)
