"""Random numbers that are a function of a key and a counter, for many lanes at once.

A lane's numbers depend on its own key alone, so a world with other lanes, or with the lanes in
another order, draws the same ones; and nothing has to be stored but the counter. The mixing
function is the finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from structrl_ros.errors import SimulationError
from structrl_ros.types import Float64

UInt64 = NDArray[np.uint64]

_STEP = np.uint64(0x9E3779B97F4A7C15)
_LARGEST = 2**63 - 1


def lane_keys(seeds: NDArray[np.int64], initial_states: NDArray[np.int64]) -> UInt64:
    """Return a key for each pair of seed and initial state, shape (B,)."""
    first = _mix(np.asarray(seeds, dtype=np.uint64) + _STEP)
    return _mix(first ^ (np.asarray(initial_states, dtype=np.uint64) * _STEP))


def check_start(seed: int, initial_state: int) -> None:
    """Refuse what is no start.

    Raises:
        SimulationError: If one is negative or above 2^63 - 1.
    """
    for name, value in (('seed', seed), ('initial state', initial_state)):
        if not 0 <= value <= _LARGEST:
            raise SimulationError(f'{name} {value}; allowed: 0 to 2^63 - 1')


def uniforms(keys: UInt64, counters: NDArray[np.int64] | int) -> Float64:
    """Return numbers in [0, 1), shape of `keys` and `counters` broadcast together.

    Args:
        keys: Of `lane_keys`.
        counters: Which numbers, from 0.
    """
    steps = np.atleast_1d(np.asarray(counters, dtype=np.uint64)) + np.uint64(1)
    bits = _mix(keys + steps * _STEP) >> np.uint64(11)
    return np.asarray(bits * 2.0**-53, dtype=np.float64)


def gaussians(keys: UInt64, counters: NDArray[np.int64] | int) -> Float64:
    """Return standard normal numbers, by Box and Muller of two uniform ones."""
    twice = np.atleast_1d(np.asarray(counters, dtype=np.int64)) * 2
    radius = np.sqrt(-2.0 * np.log1p(-uniforms(keys, twice)))
    return np.asarray(radius * np.cos(2.0 * np.pi * uniforms(keys, twice + 1)), dtype=np.float64)


def _mix(bits: UInt64) -> UInt64:
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))
