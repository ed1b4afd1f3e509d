"""The GRM's potential at the ends of the chunks of rollouts (Robo-Dopamine 2.0, Eq. 12 to 17)."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from structrl_ros.errors import ParameterError
from structrl_ros.ports import ProgressModel
from structrl_ros.progress.estimate import Estimate
from structrl_ros.progress.strip import Layout
from structrl_ros.progress.views import Views
from structrl_ros.progress.views import make_views
from structrl_ros.training.rollouts import Rollouts
from structrl_ros.types import Float64

#: Episodes whose queries, three at most, go in one batch.
_SIDE_BY_SIDE = 32


@dataclass(frozen=True, slots=True)
class AskedGrm:
    """A model for one instruction, and how its queries are made."""

    model: ProgressModel
    layout: Layout
    view_px: int


class GrmPotential:
    """`shaped_rewards.PotentialFunction` of a GRM that looks once a chunk."""

    def __init__(
        self,
        load: Callable[[str], AskedGrm],
        roles: Sequence[str],
        goals: Mapping[str, Views | None],
    ) -> None:
        """Take the model.

        Args:
            load: Gives the model of an instruction.
            roles: Cameras that it looks at.
            goals: Goal of each task; without one there is no backward term.
        """
        self._load, self.roles, self._goals = cache(load), tuple(roles), dict(goals)

    def __call__(self, rollouts: Rollouts) -> Float64:
        """Return Phi_0 = 0 to Phi_M of each episode, shape (E, M + 1), 0 beyond its end.

        Raises:
            ParameterError: If a picture is missing.
        """
        missing = [role for role in self.roles if role not in rollouts.images]
        if missing:
            raise ParameterError(
                f'rollouts hold no pictures of {missing[0]!r}; the GRM needs them'
            )
        episodes, chunks = rollouts.valid.shape
        potential = np.zeros((episodes, chunks + 1))
        for instruction in dict.fromkeys(task.instruction for task in rollouts.tasks):
            asked = self._load(instruction)
            same = [e for e, t in enumerate(rollouts.tasks) if t.instruction == instruction]
            for begin in range(0, len(same), _SIDE_BY_SIDE):
                self._play(asked, rollouts, same[begin : begin + _SIDE_BY_SIDE], potential)
        return potential

    def _play(
        self, asked: AskedGrm, rollouts: Rollouts, episodes: list[int], potential: Float64
    ) -> None:
        """Fill in the rows of episodes of one instruction; all ask together at each chunk."""
        estimates = {
            e: Estimate(asked.layout, self._goals.get(rollouts.tasks[e].task)) for e in episodes
        }
        for t in range(max(rollouts.lengths[episodes].tolist()) + 1):
            going = [e for e in episodes if t <= rollouts.lengths[e]]
            for e in going:
                pictures = {role: rollouts.images[role][e, t] for role in self.roles}
                estimates[e].observe(t, make_views(pictures, asked.view_px))
            if not t:
                continue
            queries = [estimates[e].queries() for e in going]
            answers = asked.model.hops([query for own in queries for query in own])
            ends = np.cumsum([len(own) for own in queries])[:-1]
            for e, own in zip(going, np.split(answers, ends), strict=True):
                estimates[e].take(own)
                potential[e, t] = estimates[e].potential
