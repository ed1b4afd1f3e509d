"""How an arm follows its commands: delay, share of the way that it goes, and what is left over.

Over the interval between two measured poses the arm moved by d; the commands, delayed by tau,
asked for c(tau). With d = g c(tau) + e the delay tau and the gain g are those of least squares
over a whole recording. Poses that come once a chunk, as in lock-step, tell no delay.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from structrl_ros.recording.mismatch_entry import Mismatch
from structrl_ros.recording.mismatch_entry import compare_numbers
from structrl_ros.recording.mismatch_signals import POSE
from structrl_ros.recording.mismatch_signals import Signals
from structrl_ros.types import ChunkDone
from structrl_ros.types import Float64

Int64 = NDArray[np.int64]

#: Delays that are tried, seconds.
DELAYS_S = np.arange(0.0, 1.0, 0.005)
#: What an entry of 1 asks for in one step: metres and radians (`types.ActionChunk`).
STEP_M, STEP_RAD = 0.05, 0.5
#: Length of the blocks that the bootstrap draws, seconds, and how many times.
BLOCK_S = 2.0
RESAMPLES = 500
#: What a fit needs: blocks that each hold `BLOCK_SHARE` of what was asked for (squared), the least
#: way asked for, and the share of what was measured that the commands explain.
FEWEST_BLOCKS = 4
BLOCK_SHARE = 0.03
LEAST = {'way': 0.02, 'turn': 0.1}
EXPLAINED = 0.3
#: Longest time between poses that tells of a delay, seconds.
LONGEST_INTERVAL_S = 0.35

_LAG = (
    'joint or Cartesian gains of the controller, its filters, the rate of the driver; delay and '
    'gains of the simulated controller'
)
_GAIN = (
    'action scale, stiffness and limits of the controller; load and friction; the frame that '
    'actions are given in'
)
_REST = 'contact, friction, gravity compensation and vibration; calibration of the joints'


@dataclass(frozen=True, slots=True)
class Fit:
    """How commands are followed.

    `delay_s` [0, 1), `gain` (1: the arm goes as far as it was told), `rest` root of the mean
    squared speed that is left over, m/s or rad/s. `draws` are (delay, gain) of the bootstrap.
    """

    delay_s: float
    gain: float
    rest: float
    draws: Float64


@dataclass(frozen=True, slots=True)
class _Intervals:
    """Measured ways (N, 3), asked ways for every delay (N, D, 3), durations and blocks (N,)."""

    moved: Float64
    asked: Float64
    seconds: Float64
    block: Int64


def fit_tracking(signals: Signals, kind: str) -> Fit | None:
    """Return how the measured hand follows the executed actions, None where nothing tells.

    Args:
        signals: Of a bag with `ee_delta_pose` actions.
        kind: 'way' for positions, 'turn' for orientations.
    """
    intervals = _intervals(signals, kind)
    if intervals is None or np.median(intervals.seconds) > LONGEST_INTERVAL_S:
        return None
    sums = _block_sums(intervals)
    index, gain = _best(sums.sum(axis=0))
    if not _tells(sums[:, index], float((intervals.moved**2).sum()), LEAST[kind]):
        return None
    left = intervals.moved - gain * intervals.asked[:, index]
    speed = np.linalg.norm(left, axis=1) / intervals.seconds
    random = np.random.default_rng(0)
    draws = []
    for _ in range(RESAMPLES):
        chosen = sums[random.integers(0, len(sums), len(sums))].sum(axis=0)
        at, slope = _best(chosen)
        draws.append((DELAYS_S[at], slope))
    rest = float(np.sqrt((speed**2).mean()))
    return Fit(float(DELAYS_S[index]), gain, rest, np.asarray(draws))


def compare_tracking(sim: Signals, real: Signals) -> list[Mismatch]:
    """Return delay, gain and rest of positions and orientations, where both bags tell them."""
    lines: list[Mismatch] = []
    for kind, unit, rest_tolerance in (('way', 'm/s', 0.01), ('turn', 'rad/s', 0.05)):
        ours, theirs = fit_tracking(sim, kind), fit_tracking(real, kind)
        if ours is None or theirs is None:
            continue
        lags = theirs.draws - ours.draws
        tolerance_ms = 0.5e3 * (sim.period_s or real.period_s or 0.1)
        delays = 1e3 * ours.delay_s, 1e3 * theirs.delay_s
        lag = _line(f'lag of the {kind}', 'ms', delays, tolerance_ms, _LAG)
        gain = _line(f'gain of the {kind}', '1', (ours.gain, theirs.gain), 0.1, _GAIN)
        lines += [
            replace(lag, interval=_interval(1e3 * lags[:, 0])),
            replace(gain, interval=_interval(lags[:, 1])),
            _line(f'rest of the {kind}', unit, (ours.rest, theirs.rest), rest_tolerance, _REST),
        ]
    return lines


def _line(
    name: str, unit: str, sides: tuple[float, float], tolerance: float, remedy: str
) -> Mismatch:
    return compare_numbers('tracking', name, unit, sides[0], sides[1], tolerance, remedy)


def _tells(sums: Float64, moved: float, least: float) -> bool:
    """Return whether the sums of d c and |c|^2 of the blocks, (B, 2), make a fit."""
    product, square = sums.sum(axis=0)
    if square < least**2 or product <= 0.0 or product**2 < EXPLAINED * square * moved:
        return False
    return int((sums[:, 1] >= BLOCK_SHARE * square).sum()) >= FEWEST_BLOCKS


def _interval(draws: Float64) -> tuple[float, float]:
    low, high = np.quantile(draws, [0.025, 0.975])
    return float(low), float(high)


def _best(sums: Float64) -> tuple[int, float]:
    """Return the index of the delay of least squares and its gain, from sums (D, 2).

    The squares left over are |d|^2 - (d c)^2 / |c|^2: smallest where the fraction is largest.
    """
    products, squares = sums[:, 0], np.maximum(sums[:, 1], 1e-12)
    index = int(np.argmax(np.where(products > 0.0, products**2 / squares, 0.0)))
    return index, float(products[index] / squares[index])


def _block_sums(intervals: _Intervals) -> Float64:
    """Return for each block and delay the sums of d c and |c|^2, shape (blocks, D, 2)."""
    products = np.einsum('nk,ndk->nd', intervals.moved, intervals.asked)
    squares = np.einsum('ndk,ndk->nd', intervals.asked, intervals.asked)
    blocks, index = np.unique(intervals.block, return_inverse=True)
    sums = np.zeros((len(blocks), len(DELAYS_S), 2))
    np.add.at(sums, index, np.stack([products, squares], axis=2))
    return sums


def _intervals(signals: Signals, kind: str) -> _Intervals | None:
    """Return what was asked and done between successive poses, over all episodes."""
    if POSE not in signals.streams or signals.period_s is None:
        return None
    stamps = np.asarray(signals.streams[POSE].stamps, dtype=np.int64)
    poses = np.asarray(signals.poses)
    parts = [
        part
        for done in _episodes(signals)
        if (part := _of_episode(done, stamps, poses, signals.period_s, kind)) is not None
    ]
    if not parts:
        return None
    moved, asked, seconds, at = (np.concatenate(column) for column in zip(*parts, strict=True))
    return _Intervals(moved, asked, seconds, (at // BLOCK_S).astype(np.int64))


def _episodes(signals: Signals) -> Iterator[list[ChunkDone]]:
    numbers = dict.fromkeys(done.episode for done in signals.done)
    for number in numbers:
        found = [d for d in signals.done if d.episode == number and d.executed_steps]
        if found and found[0].executed.shape[1] == 7:
            yield sorted(found, key=lambda d: d.stamp_ns)


def _of_episode(
    done: list[ChunkDone], stamps: Int64, poses: Float64, period_s: float, kind: str
) -> tuple[Float64, Float64, Float64, Float64] | None:
    """Return measured ways, asked ways, durations and times of the intervals of an episode."""
    times, asked = _asked(done, period_s, kind)
    inside = (stamps >= times[0] * 1e9 - 1) & (stamps <= times[-1] * 1e9 + 1)
    at, first = np.unique(stamps[inside], return_index=True)
    # One pose a control period is enough, however fast the arm tells them.
    _, kept = np.unique(at // round(period_s * 1e9), return_index=True)
    if len(kept) < 2:
        return None
    seconds, rows = at[kept] / 1e9, poses[inside][first[kept]]
    if kind == 'way':
        moved = np.diff(rows[:, :3], axis=0)
    else:
        turns = Rotation.from_quat(rows[:, 3:])
        moved = (turns[1:] * turns[:-1].inv()).as_rotvec()
    delayed = seconds[:, None] - DELAYS_S[None, :]
    total = np.stack([np.interp(delayed, times, asked[:, axis]) for axis in range(3)], axis=2)
    return moved, np.diff(total, axis=0), np.diff(seconds), seconds[:-1]


def _asked(done: list[ChunkDone], period_s: float, kind: str) -> tuple[Float64, Float64]:
    """Return times (M,) in seconds and the sum of what was asked by then, (M, 3)."""
    scale, first = (STEP_M, 0) if kind == 'way' else (STEP_RAD, 3)
    times: list[float] = []
    totals = [np.zeros(3)]
    for chunk in done:
        end_s = chunk.stamp_ns / 1e9
        begin_s = end_s - chunk.executed_steps * period_s
        begin_s = max(begin_s, times[-1]) if times else begin_s
        steps = scale * np.clip(chunk.executed[:, first : first + 3].astype(np.float64), -1, 1)
        if not times:
            times.append(begin_s)
        elif begin_s > times[-1]:
            times.append(begin_s)
            totals.append(totals[-1])
        times += list(np.linspace(begin_s, end_s, len(steps) + 1)[1:])
        totals += list(totals[-1] + np.cumsum(steps, axis=0))
    return np.asarray(times), np.asarray(totals)
