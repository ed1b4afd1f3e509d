"""Episodes on a Ray cluster: actors that hold policy and worlds, weights by the object store.

    with RayWorkers(make_world, address='local', actors=2) as workers:
        rollouts = collect(policy, workers, starts, seed=0, iteration=3, explore=True)

Weights travel as named arrays and the policy is built anew from its config, so no network is ever
pickled. An episode keeps its number and its row in the network's batch wherever it is played, so
the number of actors changes no bit (on machines that compute alike).
"""

from __future__ import annotations

import dataclasses
import time
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from structrl_ros.models.policies.base import ChunkPolicy
from structrl_ros.models.policies.registry import config_to_json
from structrl_ros.training.collector import MakeWorld
from structrl_ros.training.cpu_seconds import CpuSeconds
from structrl_ros.training.ray_actor import RolloutActor
from structrl_ros.training.ray_cluster import RayActors
from structrl_ros.training.rollouts import Rollouts
from structrl_ros.training.rollouts import join
from structrl_ros.training.wave import PlaySettings
from structrl_ros.world_types import EpisodeStart

#: Seconds for the actors to start and make their worlds.
START_S = 300.0


class RayWorkers:
    """`collecting.RolloutSource` on a Ray cluster; the package structrl_ros is installed there."""

    def __init__(self, make_world: MakeWorld, *, address: str, actors: int = 0) -> None:
        """Connect and start the actors.

        Args:
            make_world: Makes the worlds of one actor; sent there, so it is importable there.
            address: 'local', 'auto', host:port or ray://host:port.
            actors: How many, one CPU each; 0: as many as the cluster has CPUs.

        Raises:
            SimulationError: If Ray is missing, nothing answers, or an actor fails to make worlds.
        """
        self._cluster = RayActors(RolloutActor, (make_world,), address=address, actors=actors)
        try:
            told = [actor.spec.remote() for actor in self._cluster.actors]
            self.spec = self._cluster.get(told, limit_s=START_S)[0]
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> RayWorkers:
        """Return the workers."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close them."""
        self.close()

    def collect(
        self,
        policy: ChunkPolicy,
        starts: Sequence[EpisodeStart],
        settings: PlaySettings,
        *,
        batch: int,
    ) -> Rollouts:
        """Play the episodes as `collecting.collect` does; whoever is free takes the next ones.

        Raises:
            PolicyError: If the policy gives NaN.
            SimulationError: If a world fails or an actor dies.
        """
        began = time.process_time()
        weights = {name: _array(tensor) for name, tensor in policy.checkpoint_tensors().items()}
        ray, actors = self._cluster.ray, self._cluster.actors
        shared = ray.put(weights)
        config = config_to_json(policy.config)
        size = min(batch, -(-len(starts) // len(actors)))
        waiting = deque(range(0, len(starts), size))
        free = list(actors)
        running: dict[Any, tuple[int, Any]] = {}
        parts: dict[int, Rollouts] = {}
        while waiting or running:
            while waiting and free:
                first, actor = waiting.popleft(), free.pop()
                piece = list(starts[first : first + size])
                answer = actor.collect.remote(
                    config, shared, piece, settings, batch=batch, first_episode=first
                )
                running[answer] = (first, actor)
            (done,), _ = ray.wait(list(running), num_returns=1)
            first, actor = running.pop(done)
            (parts[first],) = self._cluster.get([done])
            free.append(actor)
        whole = join([parts[first] for first in sorted(parts)])
        here = CpuSeconds(other=time.process_time() - began)
        return dataclasses.replace(whole, cpu=whole.cpu + here)

    def close(self) -> None:
        """End the actors, and the cluster if it was started here; a second call does nothing."""
        self._cluster.close()


def _array(tensor: Any) -> Any:
    """Return a tensor as numpy array; numpy has no bfloat16, and float32 holds all of it."""
    kept = tensor.detach().cpu()
    return np.array(kept.float() if kept.dtype.is_floating_point else kept)
