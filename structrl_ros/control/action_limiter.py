"""The limiter for `ee_delta_pose` actions: what it returns is what is really sent."""

from __future__ import annotations

import math

import numpy as np

from structrl_ros.control.axis_limiter import AxisLimits
from structrl_ros.control.axis_limiter import AxisState
from structrl_ros.control.axis_limiter import nearest
from structrl_ros.control.limits import Limits
from structrl_ros.errors import LimitError
from structrl_ros.types import Float32
from structrl_ros.types import Float64

#: Displacement of an entry of 1 in `ee_delta_pose`: metres, radians.
TRANSLATION_SCALE_M = 0.05
ROTATION_SCALE_RAD = 0.5
#: Entries of an `ee_delta_pose` action.
DIMENSION = 7


class ActionLimiter:
    """Keeps a stream of actions within `Limits`; holds the last velocity and acceleration sent."""

    def __init__(self, limits: Limits, *, period_s: float) -> None:
        """Start at rest.

        Args:
            limits: What the body may do.
            period_s: Control period in seconds, above 0.

        Raises:
            LimitError: If the period is not positive.
        """
        if not (math.isfinite(period_s) and period_s > 0.0):
            raise LimitError(f'control period is {period_s} s; allowed: above 0')
        self._limits = limits
        self._period_s = period_s
        self._scales = (TRANSLATION_SCALE_M,) * 3 + (ROTATION_SCALE_RAD,) * 3
        self._axes = tuple(self._axis(i) for i in range(6))
        self._states = [AxisState()] * 6
        self._gripper = -1.0

    @property
    def limits(self) -> Limits:
        """The limits in force."""
        return self._limits

    def tighten(self, limits: Limits) -> None:
        """Put stricter limits in force.

        A motion that is already faster than the new limits is braked as fast as they allow.

        Raises:
            LimitError: If one of them is looser than now.
        """
        names = Limits.__dataclass_fields__
        self._limits = self._limits.tighten(**{n: getattr(limits, n) for n in names})
        self._axes = tuple(self._axis(i) for i in range(6))

    def reset(self, gripper: float = -1.0) -> None:
        """Forget the motion (reset of a scene, emergency stop): the body is at rest."""
        self._states = [AxisState()] * 6
        self._gripper = gripper

    def limit(self, action: Float32, position: Float64 | None = None) -> Float32:
        """Return the action to send, shape (7,), float32, nearest to the wanted one.

        Args:
            action: Wanted `ee_delta_pose` action. Anything that is not finite counts as a wish
                to stand still with the gripper as it is.
            position: Position of the gripper in the base frame, metres, shape (3,); None: the
                workspace box is not checked.

        Raises:
            LimitError: If the action has another shape.
        """
        action = np.asarray(action, dtype=np.float32)
        if action.shape != (DIMENSION,):
            raise LimitError(f'action of shape {action.shape}; allowed: ({DIMENSION},)')
        wanted = [float(x) for x in action]
        is_finite = all(math.isfinite(x) for x in wanted)
        place = None if position is None else [float(x) for x in position]
        if place is not None and not all(math.isfinite(x) for x in place):
            is_finite, place = False, None
        if not is_finite:
            wanted = [0.0] * 6 + [self._gripper]
        sent = np.empty(DIMENSION, dtype=np.float32)
        for i in range(6):
            sent[i] = self._send(i, wanted[i], None if place is None or i > 2 else place[i])
        clip = self._limits.action_clip
        self._gripper = min(max(wanted[6], -clip), clip)
        sent[6] = self._gripper
        return sent

    def _send(self, i: int, wanted: float, position: float | None) -> float:
        """Return what one axis sends, exactly `wanted` where that is admissible."""
        unit = self._scales[i] / self._period_s
        before = self._states[i]
        clip = self._limits.action_clip
        wanted = min(max(wanted, -clip), clip)
        state = nearest(self._axes[i], before, wanted * unit, position)
        is_exact = abs(state.velocity - wanted * unit) <= 1e-12 * unit
        value = wanted if is_exact else float(np.float32(state.velocity / unit))
        velocity = value * unit
        self._states[i] = AxisState(velocity, (velocity - before.velocity) / self._period_s)
        return value

    def _axis(self, i: int) -> AxisLimits:
        limits = self._limits
        scale = self._scales[i] / self._period_s
        clip = limits.action_clip * scale * (1.0 + 2e-6)
        if i > 2:
            return AxisLimits(
                self._period_s,
                min(limits.rotation_velocity, clip),
                limits.rotation_acceleration,
                limits.rotation_jerk,
            )
        return AxisLimits(
            self._period_s,
            min(limits.translation_velocity, clip),
            limits.translation_acceleration,
            limits.translation_jerk,
            limits.box_low[i],
            limits.box_high[i],
        )
