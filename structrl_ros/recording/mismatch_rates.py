"""Rates of two bags, what came late, and what is missing."""

from __future__ import annotations

import numpy as np

from structrl_ros.recording.gaps import GapCounter
from structrl_ros.recording.mismatch_entry import Mismatch
from structrl_ros.recording.mismatch_entry import Share
from structrl_ros.recording.mismatch_entry import compare_samples
from structrl_ros.recording.mismatch_entry import compare_shares
from structrl_ros.recording.mismatch_signals import CHUNK
from structrl_ros.recording.mismatch_signals import DONE
from structrl_ros.recording.mismatch_signals import EPISODE
from structrl_ros.recording.mismatch_signals import Signals
from structrl_ros.types import Float64

#: A period is late above this multiple of the stream's median.
LATE = 1.5
#: Share of the period, and of messages, that is worth a look.
PERIOD_SHARE = 0.1
SHARE = 0.02

_RATE = 'rate of the camera or driver and its load; camera_rate_hz and control rate of the body'
_DROPS = 'load of the machine, shared memory and network, depth of the queues; the recorder'
_UNUSED = 'a policy that is too slow or asked too often: chunk length, and when the next is asked'


def compare_rates(sim: Signals, real: Signals) -> list[Mismatch]:
    """Return period, late share and losses of every topic that both bags have."""
    lines: list[Mismatch] = []
    for topic in sim.streams:
        if topic in real.streams and topic != EPISODE:
            ours, theirs = periods(sim, topic), periods(real, topic)
            if len(ours) and len(theirs):
                lines += _compare(topic, ours, theirs)
    if sim.done and real.done:
        name, counts = f'{DONE} missing from the bag', (missing(sim), missing(real))
        lines.append(compare_shares('rate', name, *counts, SHARE, _DROPS))
    if sim.done and real.done and sim.chunks and real.chunks:
        name, counts = f'{CHUNK} never run', (unused(sim), unused(real))
        lines.append(compare_shares('rate', name, *counts, 5 * SHARE, _UNUSED))
    return lines


def periods(signals: Signals, topic: str) -> Float64:
    """Return the times between successive stamps of a topic, milliseconds, without repeats.

    Those across the start of an episode are left out.
    """
    stamps = np.unique(np.asarray(signals.streams[topic].stamps, dtype=np.int64))
    starts = np.array([e.stamp_ns for e in signals.episodes if not e.ended], dtype=np.int64)
    run = np.searchsorted(starts, stamps, side='right')
    found: Float64 = np.diff(stamps)[np.diff(run) == 0] / 1e6
    return found


def late(values: Float64) -> Share:
    """Return how many periods are above `LATE` times their median, of how many."""
    return int((values > LATE * np.median(values)).sum()), len(values)


def missing(signals: Signals) -> Share:
    """Return how many `chunk_done` the bag does not hold, of how many by their numbers."""
    counter = GapCounter()
    for done in signals.done:
        counter.see(DONE, done.episode, done.chunk)
    lost = counter.missing[DONE]
    return lost, lost + len(signals.done)


def unused(signals: Signals) -> Share:
    """Return how many chunks were sent and moved nothing, of how many."""
    run = sum(1 for done in signals.done if done.executed_steps)
    return max(0, len(signals.chunks) - run), len(signals.chunks)


def _compare(topic: str, sim: Float64, real: Float64) -> list[Mismatch]:
    tolerance = PERIOD_SHARE * float(np.median(sim))
    period = compare_samples('rate', f'period of {topic}', 'ms', sim, real, tolerance, _RATE)
    delayed = compare_shares('rate', f'late {topic}', late(sim), late(real), SHARE, _DROPS)
    return [period, delayed]
