"""Which counter of a lane's random numbers is for what; each is used once a step."""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from structrl_ros.sim.tabletop.counter_noise import gaussians
from structrl_ros.sim.tabletop.counter_noise import uniforms
from structrl_ros.sim.tabletop.layout import FIRST_FREE_COUNTER
from structrl_ros.sim.tabletop.task_data import FIXTURE_SLOTS
from structrl_ros.sim.tabletop.task_data import OBJECT_SLOTS
from structrl_ros.sim.twin.state import TwinState
from structrl_ros.types import Float64
from structrl_ros.world_types import Int


class Stream(IntEnum):
    """First counter of each use within a step; normal numbers need two each."""

    ACTION = 0
    SLIP = 8
    DROP_WAY = 9
    DROP_FAR = 10
    HANDLE = 11
    KNOCK_WAY = 11 + FIXTURE_SLOTS
    KNOCK_FAR = 11 + FIXTURE_SLOTS + OBJECT_SLOTS
    LOSS = 11 + FIXTURE_SLOTS + 2 * OBJECT_SLOTS


#: Counters of a step.
A_STEP = 32


def draw(state: TwinState, rows: Int, stream: int) -> Float64:
    """Return a uniform number in [0, 1) for some lanes, shape (len(rows),)."""
    return uniforms(state.keys[rows], _first(state.step[rows]) + stream)


def draw_normal(state: TwinState, count: int) -> Float64:
    """Return normal numbers for the noise of actions in all lanes, shape (B, count)."""
    first = (_first(state.step) + int(Stream.ACTION)) // 2
    return gaussians(state.keys[:, None], first[:, None] + np.arange(count))


def _first(step: NDArray[np.int64]) -> NDArray[np.int64]:
    return FIRST_FREE_COUNTER + A_STEP * step
