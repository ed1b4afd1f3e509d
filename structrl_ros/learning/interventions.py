"""Which steps an operator acted in, and which step a late reward belongs to."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from numpy.typing import NDArray

from structrl_ros.errors import ParameterError
from structrl_ros.types import Intervention


def label_steps(
    start_stamps_ns: ArrayLike, interventions: Sequence[Intervention]
) -> NDArray[np.bool_]:
    """Return, for every low-level step, whether the operator was acting when it began.

    A takeover stamped inside a step marks the next one: the step under way was the policy's. The
    label is the step's own, not its chunk's.

    Args:
        start_stamps_ns: Time each step began, ascending, shape (T,).
        interventions: Takeovers and releases, in any order.

    Raises:
        ParameterError: If the stamps do not ascend.
    """
    starts = _ascending(start_stamps_ns)
    events = sorted(interventions, key=lambda event: event.stamp_ns)
    active = np.array([False, *(event.active for event in events)])
    stamps = np.array([event.stamp_ns for event in events], dtype=np.int64)
    return active[np.searchsorted(stamps, starts, side='right')]


def credited_step(start_stamps_ns: ArrayLike, stamp_ns: int) -> int | None:
    """Return the step whose interval contains a stamp, or None before the first step.

    A reward that a person gives late still carries the time it is about; it credits that step.
    The last step's interval has no end.

    Args:
        start_stamps_ns: Time each step began, ascending, shape (T,).
        stamp_ns: Time the reward is about.

    Raises:
        ParameterError: If the stamps do not ascend.
    """
    index = int(np.searchsorted(_ascending(start_stamps_ns), stamp_ns, side='right')) - 1
    return index if index >= 0 else None


def _ascending(start_stamps_ns: ArrayLike) -> NDArray[np.int64]:
    starts = np.asarray(start_stamps_ns, dtype=np.int64)
    if (np.diff(starts) <= 0).any():
        raise ParameterError('start_stamps_ns: must ascend')
    return starts
