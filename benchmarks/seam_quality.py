"""How smooth are the seams between chunks? `python benchmarks/seam_quality.py` prints the table.

A policy that follows a path of its own is asked every 0.4 s, answers 0.1 s later with 16 rows at
20 Hz, and each answer is off by a constant that the next one does not share. Three ways lead from
the rows to joint commands at 1 kHz:

- hold: the row that is due is commanded until the next one is due;
- queue: the rows are joined by straight lines, the queue replaced as soon as a chunk comes (as a
  client that pops actions from a queue does, with interpolation added);
- ours: `ChunkSchedule` blends the rows at the seam, `JointStream` turns them into commands.

Peaks are of the commands, by differences at 1 kHz; the error is the distance to the policy's own
path, for ours also behind its delay. Nothing is random but the offsets, which are seeded.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from structrl_ros.control.chunk_schedule import ChunkSchedule
from structrl_ros.control.joint_limits import JointLimits
from structrl_ros.control.joint_stream import PLANNING_S
from structrl_ros.control.joint_stream import JointStream
from structrl_ros.control.robot_description import load_robot
from structrl_ros.types import ActionChunk
from structrl_ros.types import Float64

PERIOD_S = 0.05
COMMAND_S = 0.001
ROWS = 16
ASKED_EVERY_S = 0.4
LATENCY_S = 0.1
OFFSET_RAD = 0.01
SECONDS = 60.0
ROBOT = load_robot('fr3')
SHARES = {'velocity': 0.5, 'acceleration': 0.5, 'jerk': 0.5, 'position_margin': 0.05}

Method = Callable[[list[ActionChunk], Float64], Float64]


@dataclass(frozen=True)
class Score:
    """Peaks in rad/s, rad/s^2 and rad/s^3, error in rad."""

    velocity: float
    acceleration: float
    jerk: float
    error: float
    delay_s: float


def path(times: Float64) -> Float64:
    """Return where the policy wants the joints at N times, shape (N, 7), rad."""
    joint = np.arange(7)
    slow = 0.25 * np.sin(2.0 * np.pi * (0.11 + 0.02 * joint) * times[:, None] + joint)
    quick = 0.04 * np.sin(2.0 * np.pi * 0.45 * times[:, None] + 2.0 * joint)
    return np.asarray(ROBOT.ready + slow + quick)


def chunks() -> list[tuple[float, ActionChunk]]:
    """Return when each chunk comes, and the chunk."""
    generator = np.random.default_rng(0)
    found = []
    for number, asked_s in enumerate(np.arange(0.0, SECONDS, ASKED_EVERY_S)):
        times = asked_s + PERIOD_S * (1.0 + np.arange(ROWS))  # a row is where its step ends
        offset = generator.uniform(-OFFSET_RAD, OFFSET_RAD, 7)
        rows = (path(times) + offset).astype(np.float32)
        stamp = round(1e9 * asked_s)
        chunk = ActionChunk(stamp, 1, number + 1, 'policy', 'joint_position', PERIOD_S, rows)
        found.append((asked_s + LATENCY_S, chunk))
    return found


def hold(comes: list[tuple[float, ActionChunk]], times: Float64) -> Float64:
    """Command the row that is due until the next one is."""
    return _rows_of_queue(comes, times, straight=False)


def queue(comes: list[tuple[float, ActionChunk]], times: Float64) -> Float64:
    """Join the rows of the newest chunk by straight lines."""
    return _rows_of_queue(comes, times, straight=True)


def _rows_of_queue(
    comes: list[tuple[float, ActionChunk]], times: Float64, *, straight: bool
) -> Float64:
    arrivals = np.array([came for came, _ in comes])
    found = np.tile(path(np.zeros(1))[0], (len(times), 1))
    for place, now in enumerate(times):
        newest = int(np.searchsorted(arrivals, now, side='right')) - 1
        if newest < 0:
            continue
        chunk = comes[newest][1]
        at = min((now - chunk.stamp_ns / 1e9) / PERIOD_S, ROWS - 1e-9)
        row = int(at)
        share = at - row if straight else 1.0
        before = chunk.actions[max(row - 1, 0)]
        found[place] = (1.0 - share) * before + share * chunk.actions[row]
    return found


def ours(comes: list[tuple[float, ActionChunk]], times: Float64) -> Float64:
    """Blend rows at the seam, stream them within the limits."""
    schedule = ChunkSchedule(gripper=None)
    stream = JointStream(
        ROBOT.limits.scaled(**SHARES), waypoint_period_s=PERIOD_S, period_s=COMMAND_S
    )
    stream.seed(path(np.zeros(1))[0])
    waiting, found = list(comes), np.empty((len(times), 7))
    steps = round(PERIOD_S / COMMAND_S)
    for place, now in enumerate(times):
        if place % steps == 0:
            while waiting and waiting[0][0] <= now:
                schedule.accept(waiting.pop(0)[1])
            point = schedule.next(round(1e9 * now))
            if point is not None:
                stream.follow(point.action.astype(np.float64))
        found[place] = stream.step().position
        stream.prepare()
    return found


def score(commands: Float64, times: Float64, delay_s: float) -> Score:
    """Judge commands after the first second."""
    kept = times > 1.0
    v = np.diff(commands, axis=0) / COMMAND_S
    a = np.diff(v, axis=0) / COMMAND_S
    jerk = np.diff(a, axis=0) / COMMAND_S
    error = commands[kept] - path(times[kept] - delay_s)
    peaks = (float(np.abs(x[1000:]).max()) for x in (v, a, jerk))
    return Score(*peaks, float(np.sqrt(np.mean(error**2))), delay_s)


def delay_of(commands: Float64, times: Float64) -> float:
    """Return the delay, seconds, at which commands are nearest to the policy's path."""
    delays = np.arange(0.0, 0.2, 0.002)
    kept = times > 1.0
    errors = [np.mean((commands[kept] - path(times[kept] - d)) ** 2) for d in delays]
    return float(delays[int(np.argmin(errors))])


def main() -> int:
    """Print the table."""
    times = np.arange(0.0, SECONDS, COMMAND_S)
    comes = chunks()
    limits: JointLimits = ROBOT.limits
    print(f'{len(comes)} chunks of {ROWS} rows at {1 / PERIOD_S:g} Hz, {SECONDS:g} s, FR3')
    print('| way | velocity | acceleration | jerk | error now | delay | error behind it |')
    print('|---|---|---|---|---|---|---|')
    for name, way in (('hold', hold), ('queue', queue), ('ours', ours)):
        commands = way(comes, times)
        delay_s = delay_of(commands, times)
        now, behind = score(commands, times, 0.0), score(commands, times, delay_s)
        print(
            f'| {name} | {now.velocity:.3g} | {now.acceleration:.3g} | {now.jerk:.3g} '
            f'| {1e3 * now.error:.1f} mrad | {1e3 * delay_s:.0f} ms '
            f'| {1e3 * behind.error:.1f} mrad |'
        )
    allowed = (limits.velocity.min(), limits.acceleration.min(), limits.jerk.min())
    print('| the vendor allows | {:.3g} | {:.3g} | {:.3g} | | | |'.format(*allowed))
    print(f'(ours waits for one row and {1e3 * PLANNING_S:g} ms of planning by design)')
    return 0


if __name__ == '__main__':
    sys.exit(main())
