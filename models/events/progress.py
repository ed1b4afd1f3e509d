"""`ProgressEvents`: the last sustained fall of the GRM's potential; needs no training.

A rollout that lost for good what it had reached is seen in the potential Phi (Robo-Dopamine 2.0,
Eq. 12 to 17): it falls and does not come back; the branch gate that turns negative and stays so
says the same. One that never got anything right shows no fall, and keeps all its feedback.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from structrl_ros.errors import ParameterError
from structrl_ros.types import EventReview
from structrl_ros.types import FailedRollout
from structrl_ros.types import Float64

#: Name of the error that a fall is.
FALL = 'lost_progress'


@dataclass(frozen=True, slots=True, kw_only=True)
class FallSettings:
    """What counts as a sustained fall.

    Attributes:
        fall: Least fall of the potential, in (0, 2].
        within: Chunks in which it must have happened.
        regained: Share of the fall that, once won back, is a recovery.
        sustained: Chunks that the potential must stay low, or the gate negative, up to the end.
        window: Chunks of the running median that is taken first, odd; 1 takes none.
        uses_gate: Whether a gate that turns negative for good counts as well.
    """

    fall: float = 0.15
    within: int = 4
    regained: float = 0.5
    sustained: int = 2
    window: int = 3
    uses_gate: bool = True

    def __post_init__(self) -> None:
        """Refuse what is outside its range.

        Raises:
            ParameterError: If something is.
        """
        is_right = 0 < self.fall <= 2 and 0 < self.regained <= 1 and self.window % 2 == 1
        if not is_right or min(self.within, self.sustained, self.window) < 1:
            raise ParameterError(
                f'{self}; allowed: fall in (0, 2], regained in (0, 1], within and sustained from '
                '1, window odd'
            )


@dataclass(frozen=True, slots=True)
class _Fall:
    """From boundary `top` to boundary `bottom`, how far, and whether it was made good."""

    top: int
    bottom: int
    size: float
    recovered: bool


class ProgressEvents:
    """Port EventModel on `FailedRollout.potential` and `negative_branch`."""

    name = 'progress'

    def __init__(self, settings: FallSettings | None = None) -> None:
        """Take the thresholds; None for those of docs/events.md."""
        self.settings = FallSettings() if settings is None else settings

    def review(self, rollout: FailedRollout) -> EventReview:
        """Return the last fall that was not made good.

        The confidence is the size of the fall, at most 1.

        Raises:
            ParameterError: If the rollout has no potential at every boundary, or one that is not
                finite.
        """
        potential = whole_potential(rollout)
        smooth = _median(potential, self.settings.window)
        falls = _falls(smooth, self.settings)
        if self.settings.uses_gate and len(rollout.negative_branch) == len(potential):
            falls += _turns(rollout.negative_branch, smooth, self.settings)
        if not falls:
            return EventReview(
                outcome='failure', error_type='unclear', reason='the potential never fell for good'
            )
        falls.sort(key=lambda fall: (fall.bottom, fall.top))
        lasting = [fall for fall in falls if not fall.recovered]
        found = (lasting or falls)[-1]
        return EventReview(
            outcome='failure',
            error_type=FALL,
            interval=_interval(found),
            recovery='not_observed' if lasting else 'observed',
            evidence=rollout.frames_near((found.top, found.bottom)),
            confidence=min(found.size, 1.0),
            reason=f'the potential fell by {found.size:.2f} to {smooth[found.bottom]:.2f}',
            first_interval=_interval(falls[0]),
        )


def _falls(potential: Float64, settings: FallSettings) -> list[_Fall]:
    """Return the falls, in order; none overlaps another."""
    found: list[_Fall] = []
    last = len(potential) - 1
    top = 0
    while top < last:
        ahead = potential[top + 1 : top + 1 + settings.within]
        low = np.flatnonzero(potential[top] - ahead >= settings.fall)
        is_peak = potential[top] >= ahead[0]
        if not len(low) or not is_peak:
            top += 1
            continue
        while top < last and potential[top + 1] >= potential[top]:
            top += 1
        bottom = top + 1
        while bottom < last and potential[top] - potential[bottom] < settings.fall:
            bottom += 1
        after = potential[bottom:]
        size = float(potential[top] - after.min())
        back = float(after.max()) >= potential[top] - (1.0 - settings.regained) * settings.fall
        if last - bottom + 1 >= settings.sustained and size >= settings.fall:
            found.append(_Fall(top, bottom, size, back))
        top = bottom
    return found


def _turns(gate: np.ndarray, potential: Float64, settings: FallSettings) -> list[_Fall]:
    """Return the gate's last turn to the negative branch, if it stays there to the end."""
    positive = np.flatnonzero(~np.asarray(gate, dtype=bool))
    last = len(gate) - 1
    top = int(positive[-1]) if len(positive) else 0
    if last - top < settings.sustained or not gate[-1]:
        return []
    size = float(max(potential[top] - potential[top + 1 :].min(), 0.0))
    return [_Fall(top, top + 1, size, recovered=False)]


def _median(values: Float64, window: int) -> Float64:
    """Return the running median; the window is cut at both ends."""
    half = window // 2
    return np.array(
        [np.median(values[max(i - half, 0) : i + half + 1]) for i in range(len(values))]
    )


def _interval(fall: _Fall) -> tuple[int, int]:
    return fall.top + 1, fall.bottom


def whole_potential(rollout: FailedRollout) -> Float64:
    """Return the potential of a rollout, shape (N + 1,).

    Raises:
        ParameterError: If it is not whole, or not finite.
    """
    potential = np.asarray(rollout.potential, dtype=np.float64)
    if potential.shape != (rollout.chunks + 1,) or not np.isfinite(potential).all():
        raise ParameterError(
            f'potential of shape {potential.shape}; allowed: finite, one at each of the '
            f'{rollout.chunks + 1} boundaries of the rollout'
        )
    return potential
