"""How smooth the commanded motion was where one chunk follows another.

Row i of the executed actions is a displacement in one step of T seconds (`ee_delta_pose`), so the
commanded velocity is v_i = a_i / T, the acceleration (v_i - v_{i-1}) / T and the jerk its
difference over T. A switch of chunks is a seam if the new chunk's first step follows the old one's
last without a rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
from numpy.typing import NDArray

from structrl_ros.control.action_limiter import ROTATION_SCALE_RAD
from structrl_ros.control.action_limiter import TRANSLATION_SCALE_M
from structrl_ros.recording.run_curves import MotionEntry
from structrl_ros.recording.run_curves import MotionFigure
from structrl_ros.recording.run_curves import SeamEntry
from structrl_ros.recording.run_curves import Spread
from structrl_ros.recording.run_events import RunEvents
from structrl_ros.types import ActionChunk
from structrl_ros.types import ChunkDone
from structrl_ros.types import Float64

#: Longest time between two steps, in periods, that is no rest.
_REST = 1.5
#: Columns of a row that hold the pose; the gripper follows.
_POSE = 6


def motion_entry(events: RunEvents, start_ns: int) -> MotionEntry | None:
    """Return the motion of one episode; None where nothing was run or it is no `ee_delta_pose`."""
    sent = events.of(ActionChunk)
    chunks = sorted((d for d in events.of(ChunkDone) if d.executed_steps), key=lambda d: d.chunk)
    if not sent or not chunks or any(d.executed.shape[1] < _POSE for d in chunks):
        return None
    if any(c.action_space != 'ee_delta_pose' for c in sent):
        return None
    period_s = float(median(c.step_period for c in sent))
    return _entry(_steps(chunks, start_ns, period_s), period_s)


@dataclass(frozen=True, slots=True)
class _Steps:
    """N steps: time (N,), chunk (N,), velocity (N, 6) in m/s and rad/s, and two flags (N,).

    `is_first` of its chunk; `follows` the step before it without a rest.
    """

    t_s: Float64
    chunk: NDArray[np.int64]
    velocity: Float64
    is_first: NDArray[np.bool_]
    follows: NDArray[np.bool_]


def _steps(chunks: Sequence[ChunkDone], start_ns: int, period_s: float) -> _Steps:
    times, numbers, firsts = [], [], []
    for done in chunks:
        n = done.executed_steps
        end_s = (done.stamp_ns - start_ns) / 1e9
        times.append(end_s - period_s * np.arange(n - 1, -1, -1))
        numbers.append(np.full(n, done.chunk))
        firsts.append(np.arange(n) == 0)
    t_s = np.concatenate(times)
    rows = np.concatenate([d.executed[:, :_POSE] for d in chunks]).astype(np.float64)
    scales = np.array([TRANSLATION_SCALE_M] * 3 + [ROTATION_SCALE_RAD] * 3)
    follows = np.concatenate([[False], np.diff(t_s) <= _REST * period_s])
    return _Steps(
        t_s, np.concatenate(numbers), rows * scales / period_s, np.concatenate(firsts), follows
    )


def _entry(steps: _Steps, period_s: float) -> MotionEntry:
    change = _differences(steps.velocity, steps.follows) / period_s
    acceleration = np.linalg.norm(change[:, :3], axis=1)
    turn = np.linalg.norm(change[:, 3:], axis=1)
    jerk = np.linalg.norm(_differences(change[:, :3], steps.follows), axis=1) / period_s
    is_seam = steps.is_first & steps.follows
    # The step after a seam still has the seam's acceleration in its jerk.
    is_next = np.concatenate([[False], is_seam[:-1]]) & steps.follows
    at_seam = np.fmax(jerk, np.append(np.where(is_next, jerk, np.nan)[1:], np.nan))
    inside = steps.follows & ~is_seam
    seams = tuple(
        SeamEntry(
            t_s=float(steps.t_s[i]),
            chunk=int(steps.chunk[i]),
            acceleration=float(acceleration[i]),
            jerk=_finite(at_seam[i]),
            turn=float(turn[i]),
        )
        for i in np.flatnonzero(is_seam)
    )
    return MotionEntry(
        period_s=period_s,
        t_s=tuple(steps.t_s[steps.follows].tolist()),
        acceleration=tuple(acceleration[steps.follows].tolist()),
        jerk=tuple(_finite(j) for j in jerk[steps.follows]),
        seams=seams,
        rests=int((steps.is_first & ~steps.follows).sum()) - 1,
        figures=(
            _figure('Acceleration', 'm/s²', acceleration[is_seam], acceleration[inside]),
            _figure('Jerk', 'm/s³', at_seam[is_seam], jerk[inside & ~is_next]),
            _figure('Angular acceleration', 'rad/s²', turn[is_seam], turn[inside]),
        ),
    )


def _figure(name: str, unit: str, seams: Float64, inside: Float64) -> MotionFigure:
    return MotionFigure(name, unit, _spread(seams), _spread(inside))


def _differences(values: Float64, follows: NDArray[np.bool_]) -> Float64:
    """Return each row less the one before, NaN in rows that follow none."""
    found = np.full_like(values, np.nan)
    found[1:] = np.diff(values, axis=0)
    found[~follows] = np.nan
    return found


def _spread(values: Float64) -> Spread:
    found = values[np.isfinite(values)]
    if not found.size:
        return Spread(0, None, None, None)
    p50, p95 = np.percentile(found, [50.0, 95.0])
    return Spread(int(found.size), float(p50), float(p95), float(found.max()))


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
