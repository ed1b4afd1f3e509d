"""What runs in a Ray actor: worlds that stay, and a policy that takes new weights."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

import torch

from structrl_ros.errors import SimulationError
from structrl_ros.models.policies.base import ChunkPolicy
from structrl_ros.models.policies.registry import config_from_json
from structrl_ros.models.policies.registry import fill_policy
from structrl_ros.models.policies.registry import make_policy
from structrl_ros.ports import VectorWorld
from structrl_ros.training.collecting import play_waves
from structrl_ros.training.collector import MakeWorld
from structrl_ros.training.rollouts import Rollouts
from structrl_ros.training.wave import PlaySettings
from structrl_ros.types import JsonObject
from structrl_ros.world_types import EpisodeStart
from structrl_ros.world_types import WorldSpec


class RolloutActor:
    """Plays pieces of an iteration, one after another."""

    def __init__(self, make_world: MakeWorld) -> None:
        """Make the worlds.

        Raises:
            SimulationError: If they are played elsewhere again.
        """
        torch.set_num_threads(1)
        world = make_world()
        if not isinstance(world, VectorWorld):
            raise SimulationError('an actor of Ray steps its own worlds; allowed: a VectorWorld')
        self._world: VectorWorld = world
        self._config: JsonObject = {}
        self._policy: ChunkPolicy | None = None

    def spec(self) -> WorldSpec:
        """Return what the worlds are."""
        return self._world.spec

    def collect(
        self,
        config: JsonObject,
        weights: Mapping[str, Any],
        starts: Sequence[EpisodeStart],
        settings: PlaySettings,
        *,
        batch: int,
        first_episode: int,
    ) -> Rollouts:
        """Play episodes with a policy of that config and those weights.

        Raises:
            PolicyError: If the policy gives NaN.
            SimulationError: If a world fails.
        """
        if self._policy is None or self._config != config:
            self._policy, self._config = make_policy(config_from_json(config)), config
        # The store's arrays are read-only, which torch does not know of: copy.
        fill_policy(self._policy, {name: torch.tensor(array) for name, array in weights.items()})
        return play_waves(
            self._policy, self._world, starts, settings, batch=batch, first_episode=first_episode
        )
