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
        self._scale = np.array((*self._scales, 0.0), dtype=np.float64) / period_s
        self._bind()
        self.reset()

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
        self._bind()

    def reset(self, gripper: float = -1.0) -> None:
        """Forget the motion (reset of a scene, emergency stop): the body is at rest."""
        self._last = np.zeros(DIMENSION, dtype=np.float32)
        self._before = self._last
        self._gripper = gripper

    def limit(self, action: Float32, position: Float64 | None = None) -> Float32:
        """Return the action to send, shape (7,), float32, nearest to the wanted one.

        Args:
            action: Wanted `ee_delta_pose` action. Anything that is not finite counts as a wish
                to stand still with the gripper as it is.
            position: Position of the gripper in the base frame, metres, shape (3,), looked at if
                the workspace has a wall; not finite: stand still. None: walls are not checked.

        Raises:
            LimitError: If the action has another shape.
        """
        action = np.asarray(action, dtype=np.float32)
        if action.shape != (DIMENSION,):
            raise LimitError(f'action of shape {action.shape}; allowed: ({DIMENSION},)')
        is_finite = bool(np.isfinite(action).all())
        if is_finite and self._only_clips:
            return self._sent(np.clip(action, -self._clip32, self._clip32))
        wanted = [float(x) for x in action]
        place = None if position is None else [float(x) for x in position]
        if place is not None and not all(math.isfinite(x) for x in place):
            is_finite, place = False, None
        if not is_finite:
            wanted = [0.0] * 6 + [self._gripper]
        sent = np.empty(DIMENSION, dtype=np.float32)
        for i in range(6):
            sent[i] = self._send(i, wanted[i], None if place is None or i > 2 else place[i])
        clip = self._limits.action_clip
        sent[6] = min(max(wanted[6], -clip), clip)
        return self._sent(sent)

    def _bind(self) -> None:
        """Take the limits in force; find out whether any of them but the clip can ever bind."""
        self._axes = tuple(self._axis(i) for i in range(6))
        self._clip32 = np.float32(self._limits.action_clip)
        if self._clip32 > self._limits.action_clip:
            self._clip32 = np.nextafter(self._clip32, np.float32(0.0))
        self._only_clips = not self._limits.has_box and all(
            self._is_out_of_reach(kind, scale)
            for kind, scale in (
                ('translation', TRANSLATION_SCALE_M),
                ('rotation', ROTATION_SCALE_RAD),
            )
        )

    def _is_out_of_reach(self, kind: str, scale: float) -> bool:
        """Return whether no sequence of clipped actions can come near the limits of a kind."""
        period = self._period_s
        fastest = (1.0 + 1e-4) * self._limits.action_clip * scale / period
        return bool(
            getattr(self._limits, f'{kind}_velocity') >= fastest
            and getattr(self._limits, f'{kind}_acceleration') >= 2.0 * fastest / period
            and getattr(self._limits, f'{kind}_jerk') >= 4.0 * fastest / period**2
        )

    def _sent(self, action: Float32) -> Float32:
        """Remember what is sent: its last two give velocity and acceleration."""
        self._before, self._last = self._last, action
        self._gripper = float(action[6])
        return action

    def _state(self, i: int) -> AxisState:
        velocity = float(self._last[i] * self._scale[i])
        before = float(self._before[i] * self._scale[i])
        return AxisState(velocity, (velocity - before) / self._period_s)

    def _send(self, i: int, wanted: float, position: float | None) -> float:
        """Return what one axis sends, exactly `wanted` where that is admissible."""
        unit = self._scales[i] / self._period_s
        clip = self._limits.action_clip
        wanted = min(max(wanted, -clip), clip)
        state = nearest(self._axes[i], self._state(i), wanted * unit, position)
        is_exact = abs(state.velocity - wanted * unit) <= 1e-12 * unit
        return wanted if is_exact else state.velocity / unit

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
