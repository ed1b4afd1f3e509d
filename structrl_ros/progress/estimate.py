"""The potential of one episode as it is observed: what to ask, and what the answers make of it."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from structrl_ros.errors import ParameterError
from structrl_ros.progress.context import Query
from structrl_ros.progress.context import Rollout
from structrl_ros.progress.fusion import Fusion
from structrl_ros.progress.strip import Layout
from structrl_ros.progress.views import Views


class Hops(NamedTuple):
    """The three predictions of a step, in [-1, 1]; NaN where there is none."""

    forward: float = math.nan
    backward: float = math.nan
    incremental: float = math.nan


class Estimate:
    """Eq. 12 to 17 of Robo-Dopamine 2.0, step by step; an episode begins at potential 0.

    A step without a valid answer repeats potential and gate (no prediction is never progress 0),
    and the next one asks for the hop since the last valid step, the one that the potential is of.
    grm_node, the check of a recording and the trainer's shaping all run this class.
    """

    def __init__(self, layout: Layout, goal: Views | None) -> None:
        """Begin without an observation; without a goal there is no backward term."""
        self._layout, self._goal = layout, goal
        self._rollout = Rollout(layout, goal)
        self._fusion = Fusion(has_goal=goal is not None)
        self._since = 0

    @property
    def has_start(self) -> bool:
        """Whether X_0 was observed."""
        return len(self._rollout) > 0

    @property
    def potential(self) -> float:
        """Potential of the newest step, in [-1, 1]."""
        return float(self._fusion.potential)

    @property
    def negative_branch(self) -> bool:
        """Gate of the newest step."""
        return bool(self._fusion.negative_branch)

    def observe(self, stamp_ns: int, views: Views) -> None:
        """Take the start X_0, or what is seen after a step.

        Raises:
            ParameterError: If the stamp is not after the one before.
        """
        self._rollout.observe(stamp_ns, views)

    def forget_start(self) -> None:
        """Note that what was observed belongs to no episode; the potential stays."""
        self._rollout = Rollout(self._layout, self._goal)

    def queries(self) -> list[Query]:
        """Return what is to be asked now: forward, incremental, and backward with a goal."""
        rollout = self._rollout
        backward = [] if self._goal is None else [rollout.backward()]
        return [rollout.forward(), rollout.incremental(self._since), *backward]

    def take(self, answers: ArrayLike) -> tuple[Hops, bool]:
        """Take the answers to `queries`, in their order.

        Returns:
            The hops, and whether the step is valid; an infinite answer is no prediction.

        Raises:
            ParameterError: If they are more or fewer.
        """
        hops = np.asarray(answers, dtype=np.float64)
        wanted = 2 if self._goal is None else 3
        if hops.shape != (wanted,):
            raise ParameterError(f'the model gave hops of shape {hops.shape} to {wanted}')
        if np.isinf(hops).any():
            return Hops(), False
        forward, incremental, *backward = (float(h) for h in np.clip(hops, -1.0, 1.0))
        found = Hops(forward, backward[0] if backward else math.nan, incremental)
        is_valid = bool(self._fusion.step(*found))
        if is_valid:
            self._since = len(self._rollout) - 1
        return found, is_valid
