"""The GRM's potential at the ends of the chunks of rollouts (Robo-Dopamine 2.0, Eq. 12 to 17)."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from structrl_ros.errors import ParameterError
from structrl_ros.ports import ProgressModel
from structrl_ros.progress.context import Query
from structrl_ros.progress.context import online_queries
from structrl_ros.progress.fusion import Fusion
from structrl_ros.progress.strip import Layout
from structrl_ros.progress.views import Views
from structrl_ros.progress.views import make_views
from structrl_ros.training.rollouts import Rollouts
from structrl_ros.types import Float64

#: Queries that the model is asked at once.
_BATCH = 96


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
        self._load, self.roles, self._goals = load, tuple(roles), dict(goals)
        self._models: dict[str, AskedGrm] = {}

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
        for episode, length in enumerate(rollouts.lengths.tolist()):
            potential[episode, 1 : length + 1] = self._episode(rollouts, episode, length)
        return potential

    def _episode(self, rollouts: Rollouts, episode: int, length: int) -> list[float]:
        info = rollouts.tasks[episode]
        asked = self._models.get(info.instruction)
        if asked is None:
            asked = self._models[info.instruction] = self._load(info.instruction)
        goal = self._goals.get(info.task)
        views = [
            make_views(
                {role: rollouts.images[role][episode, t] for role in self.roles}, asked.view_px
            )
            for t in range(length + 1)
        ]
        queries = online_queries(views, asked.layout, goal)
        hops = _ask(asked.model, queries).reshape(length, -1)
        fusion = Fusion(has_goal=goal is not None)
        found = []
        for forward, *backward, incremental in hops.tolist():
            fusion.step(forward, backward[0] if backward else 0.0, incremental)
            found.append(float(fusion.potential))
        return found


def _ask(model: ProgressModel, queries: Sequence[Query]) -> Float64:
    parts = [model.hops(queries[i : i + _BATCH]) for i in range(0, len(queries), _BATCH)]
    return np.concatenate(parts) if parts else np.zeros(0)
