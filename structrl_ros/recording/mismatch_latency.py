"""Latencies of two bags: observation to chunk, chunk to motion, and the age of pictures."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping

import numpy as np

from structrl_ros.recording.mismatch_entry import Mismatch
from structrl_ros.recording.mismatch_entry import compare_samples
from structrl_ros.recording.mismatch_signals import CHUNK
from structrl_ros.recording.mismatch_signals import DONE
from structrl_ros.recording.mismatch_signals import IMAGES
from structrl_ros.recording.mismatch_signals import JOINTS
from structrl_ros.recording.mismatch_signals import POSE
from structrl_ros.recording.mismatch_signals import Signals
from structrl_ros.types import Float64

MS = 1e-6  # of a nanosecond
#: Control period that tolerances are taken from where no chunk tells it, seconds.
PERIOD_S = 0.05

_REMEDIES = {
    'observation to chunk': 'run the simulator in real time (lockstep:=false), and compare the '
    'policy on the same machine and load; else train with this delay',
    'answer of the policy': 'compare the machine, its load and the number of threads; a policy '
    'server adds its network',
    'chunk to motion': 'blend_steps and the rate of the control loop; is the clock of the arm '
    'that of this machine?',
    'delay of': 'exposure time, USB or network of the camera, resize and crop in camera_node; '
    'camera_rate_hz in the simulator',
    'age of': 'rate of the camera, and camera_rate_hz in the simulator',
}


def latencies(signals: Signals) -> dict[str, Float64]:
    """Return the latencies of a bag in milliseconds, by name; empty ones are left out.

    'observation to chunk': the body's clock when a chunk came, less its observation's stamp.
    'answer of the policy': wall time from the receipt of that observation to that of the chunk.
    'chunk to motion': the body's clock when a chunk began to move it, less that at its arrival.
    'delay of <role>': the body's clock when a picture came, less its stamp.
    'age of <role>': stamp of a chunk's observation less that of the newest picture by then.
    """
    found = {
        'observation to chunk': _delays(signals, CHUNK),
        'answer of the policy': _answers(signals),
        'chunk to motion': _motion_delays(signals),
    }
    for role, topic in IMAGES.items():
        found[f'delay of {role} pictures'] = _delays(signals, topic)
        found[f'age of {role} pictures'] = _ages(signals, topic)
    return {name: values for name, values in found.items() if len(values)}


def compare_latencies(sim: Signals, real: Signals) -> list[Mismatch]:
    """Return a line for each latency that both bags have."""
    tolerance = 0.5e3 * (sim.period_s or real.period_s or PERIOD_S)
    ours, theirs = latencies(sim), latencies(real)
    return [
        compare_samples(
            'latency', name, 'ms', ours[name], theirs[name], tolerance, _of(_REMEDIES, name)
        )
        for name in ours
        if name in theirs
    ]


def _of(remedies: Mapping[str, str], name: str) -> str:
    return next(text for start, text in remedies.items() if name.startswith(start))


def _delays(signals: Signals, topic: str) -> Float64:
    stream = signals.streams.get(topic)
    if stream is None:
        return np.zeros(0)
    return (np.asarray(stream.clock) - np.asarray(stream.stamps)) * MS


def _answers(signals: Signals) -> Float64:
    """Return wall times from the last message of an observation to the chunk made of it."""
    heard: dict[int, list[int]] = {}
    for topic in (POSE, JOINTS, *IMAGES.values()):
        stream = signals.streams.get(topic)
        if stream is not None:
            for stamp, receipt in zip(stream.stamps, stream.receipts, strict=True):
                heard.setdefault(stamp, []).append(receipt)
    chunks = signals.streams.get(CHUNK)
    if chunks is None:
        return np.zeros(0)
    found = []
    for stamp, receipt in zip(chunks.stamps, chunks.receipts, strict=True):
        before = [r for r in heard.get(stamp, ()) if r <= receipt]
        if before:
            found.append((receipt - max(before)) * MS)
    return np.asarray(found)


def _motion_delays(signals: Signals) -> Float64:
    """Return how long chunks waited: an executed chunk is the newest that had come by its start.

    The start is the stamp of `chunk_done` less a period for each step, not before the end of the
    chunk before it.
    """
    chunks, period_s = signals.streams.get(CHUNK), signals.period_s
    if chunks is None or period_s is None or DONE not in signals.streams:
        return np.zeros(0)
    period_ns = round(period_s * 1e9)
    arrivals, found, before_ns = sorted(chunks.clock), [], 0
    for done in signals.done:
        if not done.executed_steps:
            continue
        start_ns = max(done.stamp_ns - done.executed_steps * period_ns, before_ns)
        before_ns = done.stamp_ns
        index = bisect_right(arrivals, start_ns + period_ns // 2) - 1
        if index >= 0:
            found.append(max(0, start_ns - arrivals[index]) * MS)
    return np.asarray(found)


def _ages(signals: Signals, topic: str) -> Float64:
    pictures, chunks = signals.streams.get(topic), signals.streams.get(CHUNK)
    if pictures is None or chunks is None:
        return np.zeros(0)
    stamps = sorted(pictures.stamps)
    found = []
    for stamp in chunks.stamps:
        index = bisect_right(stamps, stamp) - 1
        if index >= 0:
            found.append((stamp - stamps[index]) * MS)
    return np.asarray(found)
