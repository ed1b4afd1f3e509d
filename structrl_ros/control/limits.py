"""Limits of a body, and the limiter that every action passes before it is sent.

One translational or rotational axis is a point with velocity v (the displacement commanded for a
control period, divided by the period), acceleration a = dv / T and jerk j = da / T. The limiter
sends the admissible value nearest to the wanted one, where admissible means: within every limit
now, and with a braking trajectory that stays within every limit until the axis stands still. So no
later input can force a violation (`axis_limiter.py`).
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

from structrl_ros.errors import LimitError

Triple = tuple[float, float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits per axis in the base frame; each can only be tightened.

    The defaults fit LIBERO's OSC_POSE at 20 Hz: any sequence of actions in [-1, 1] passes
    unchanged (1 m/s, 40 m/s^2, 1600 m/s^3 are what 0.05 m a step can reach), anything above is
    cut, and there is no box. A real arm has no defaults: name all of them.

    Attributes:
        box_low: Lower corner of the workspace of the gripper, metres; -inf: no wall.
        box_high: Upper corner of the workspace, metres; inf: no wall.
        translation_velocity: m/s on each axis.
        translation_acceleration: m/s^2 on each axis.
        translation_jerk: m/s^3 on each axis.
        rotation_velocity: rad/s about each axis.
        rotation_acceleration: rad/s^2 about each axis.
        rotation_jerk: rad/s^3 about each axis.
        action_clip: Largest absolute value of an entry of an action, dimensionless.
    """

    box_low: Triple = (-math.inf, -math.inf, -math.inf)
    box_high: Triple = (math.inf, math.inf, math.inf)
    translation_velocity: float = 1.05
    translation_acceleration: float = 42.0
    translation_jerk: float = 1680.0
    rotation_velocity: float = 10.5
    rotation_acceleration: float = 420.0
    rotation_jerk: float = 16800.0
    action_clip: float = 1.0

    def __post_init__(self) -> None:
        """Refuse what is no limit.

        Raises:
            LimitError: If a value is not finite and positive, or the box is empty or NaN.
        """
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if isinstance(value, tuple):
                if len(value) != 3 or any(math.isnan(v) for v in value):
                    raise LimitError(f'{field.name} is {value}; allowed: three metres')
            elif not (math.isfinite(value) and value > 0.0):
                raise LimitError(f'{field.name} is {value}; allowed: finite and above 0')
        if not all(a < b for a, b in zip(self.box_low, self.box_high, strict=True)):
            raise LimitError(
                f'workspace box from {self.box_low} to {self.box_high} is empty; '
                'allowed: box_low below box_high on each axis'
            )

    @property
    def has_box(self) -> bool:
        """Whether the workspace has any wall."""
        return any(math.isfinite(v) for v in self.box_low + self.box_high)

    def tighten(self, **changes: float | Triple) -> Limits:
        """Return limits with some values made stricter.

        Raises:
            LimitError: If a name is unknown or a value is looser than the present one.
        """
        known = {f.name for f in dataclasses.fields(self)}
        for name, value in changes.items():
            if name not in known:
                raise LimitError(f'unknown limit {name!r}; known: {", ".join(sorted(known))}')
            now = getattr(self, name)
            if _is_looser(name, now, value):
                raise LimitError(f'{name} {value} is looser than {now}; limits only tighten')
        return dataclasses.replace(self, **changes)  # type: ignore[arg-type]


def _is_looser(name: str, now: float | Triple, new: float | Triple) -> bool:
    """Return whether `new` allows anything that `now` forbids; NaN counts as looser."""
    if isinstance(now, tuple):
        if not isinstance(new, tuple) or len(new) != 3:
            return True
        pairs = zip(now, new, strict=True)
        inside = [b >= a if name == 'box_low' else b <= a for a, b in pairs]
        return not all(inside)
    return isinstance(new, tuple) or not new <= now
