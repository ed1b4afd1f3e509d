"""Episodes on a Ray cluster: actors that hold policy and worlds, weights by the object store.

    with RayWorkers(make_world, address='local', actors=2) as workers:
        rollouts = collect(policy, workers, starts, seed=0, iteration=3, explore=True)

Weights travel as named arrays and the policy is built anew from its config, so no network is ever
pickled. An episode keeps its number and its row in the network's batch wherever it is played, so
the number of actors changes no bit (on machines that compute alike).
"""

from __future__ import annotations

import dataclasses
import os
import socket
import time
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from structrl_ros.errors import SimulationError
from structrl_ros.errors import StructRLError
from structrl_ros.models.policies.base import ChunkPolicy
from structrl_ros.models.policies.registry import config_to_json
from structrl_ros.training.collector import MakeWorld
from structrl_ros.training.cpu_seconds import CpuSeconds
from structrl_ros.training.ray_actor import RolloutActor
from structrl_ros.training.rollouts import Rollouts
from structrl_ros.training.rollouts import join
from structrl_ros.world_types import EpisodeStart

#: Address of a cluster that is started here and ends with the workers.
LOCAL = 'local'
#: Seconds for a cluster's address to answer.
_CONNECT_S = 5.0
#: Seconds for the actors to start and make their worlds.
START_S = 300.0
#: Bytes of the object store of a local cluster.
_STORE = 200 * 2**20
_QUIET = {
    'RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO': '0',
    'RAY_USAGE_STATS_ENABLED': '0',
    'RAY_DEDUP_LOGS': '0',
}


class RayWorkers:
    """`rollouts.RolloutSource` on a Ray cluster; the package structrl_ros is installed there."""

    def __init__(self, make_world: MakeWorld, *, address: str, actors: int = 0) -> None:
        """Connect and start the actors.

        Args:
            make_world: Makes the worlds of one actor; sent there, so it is importable there.
            address: 'local', 'auto', host:port or ray://host:port.
            actors: How many, one CPU each; 0: as many as the cluster has CPUs.

        Raises:
            SimulationError: If Ray is missing, nothing answers, or an actor fails to make worlds.
        """
        self._actors: list[Any] = []
        self._ray, self._is_mine = connect_ray(address, actors)
        try:
            has = int(self._ray.cluster_resources().get('CPU', 0))
            count = actors or max(1, has)
            if count > has:
                raise SimulationError(
                    f'{count} actors on a Ray cluster of {has} CPUs; allowed: one a CPU'
                )
            remote = self._ray.remote(num_cpus=1)(RolloutActor)
            self._actors = [remote.remote(make_world) for _ in range(count)]
            told = [actor.spec.remote() for actor in self._actors]
            self.spec = self._get(told, limit_s=START_S)[0]
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
        *,
        seed: int,
        iteration: int,
        explore: bool,
        batch: int,
        max_chunks: int | None,
        kept_roles: Sequence[str],
    ) -> Rollouts:
        """Play the episodes as `rollouts.collect` does; whoever is free takes the next ones.

        Raises:
            PolicyError: If the policy gives NaN.
            SimulationError: If a world fails or an actor dies.
        """
        began = time.process_time()
        weights = {name: _array(tensor) for name, tensor in policy.checkpoint_tensors().items()}
        shared = self._ray.put(weights)
        config = config_to_json(policy.config)
        options: dict[str, Any] = {
            'seed': seed,
            'iteration': iteration,
            'explore': explore,
            'batch': batch,
        }
        options |= {'max_chunks': max_chunks, 'kept_roles': tuple(kept_roles)}
        size = min(batch, -(-len(starts) // len(self._actors)))
        waiting = deque(range(0, len(starts), size))
        free = list(self._actors)
        running: dict[Any, tuple[int, Any]] = {}
        parts: dict[int, Rollouts] = {}
        while waiting or running:
            while waiting and free:
                first, actor = waiting.popleft(), free.pop()
                own = {**options, 'first_episode': first}
                piece = list(starts[first : first + size])
                running[actor.collect.remote(config, shared, piece, own)] = (first, actor)
            (done,), _ = self._ray.wait(list(running), num_returns=1)
            first, actor = running.pop(done)
            (parts[first],) = self._get([done])
            free.append(actor)
        whole = join([parts[first] for first in sorted(parts)])
        here = CpuSeconds(other=time.process_time() - began)
        return dataclasses.replace(whole, cpu=whole.cpu + here)

    def close(self) -> None:
        """End the actors, and the cluster if it was started here; a second call does nothing."""
        actors, self._actors = self._actors, []
        for actor in actors:
            self._ray.kill(actor)
        if self._is_mine and self._ray.is_initialized():
            self._ray.shutdown()

    def _get(self, references: list[Any], limit_s: float | None = None) -> list[Any]:
        errors = self._ray.exceptions
        try:
            answers: list[Any] = self._ray.get(references, timeout=limit_s)
        except errors.GetTimeoutError:
            raise SimulationError(
                f'the Ray actors did not start within {limit_s:g} s; are CPUs of the cluster free?'
            ) from None
        except errors.RayTaskError as error:
            if isinstance(error.cause, StructRLError):
                raise type(error.cause)(str(error.cause)) from None
            raise SimulationError(f'a Ray actor failed: {error.cause!r}') from None
        except errors.RayError as error:
            line = ' '.join(str(error).split())[:200]
            raise SimulationError(f'a Ray actor died: {line}') from None
        return answers


def connect_ray(address: str, actors: int) -> tuple[Any, bool]:
    """Return Ray, connected to a cluster, and whether the connection was made here.

    Args:
        address: 'local' starts a cluster here, 'auto', host:port or ray://host:port find one.
        actors: CPUs of a cluster that is started here; 0: as many as there are.

    Raises:
        SimulationError: If Ray is missing or nothing answers.
    """
    ray = _import_ray()
    if address not in (LOCAL, 'auto'):
        _knock(address)
    is_mine = not ray.is_initialized()
    if is_mine:
        _connect(ray, address, actors)
    return ray, is_mine


def _import_ray() -> Any:
    os.environ.update({name: os.environ.get(name, value) for name, value in _QUIET.items()})
    try:
        import ray
    except ImportError:
        raise SimulationError(
            'Ray is not installed; pip install -r requirements/learning.txt'
        ) from None
    return ray


def _connect(ray: Any, address: str, actors: int) -> None:
    """Connect to a cluster, or start one.

    Raises:
        SimulationError: If nothing answers at the address.
    """
    options: dict[str, Any] = {'log_to_driver': False, 'logging_level': 'error'}
    if address == LOCAL:
        options |= {'num_cpus': actors or None, 'include_dashboard': False}
        options |= {'object_store_memory': _STORE, 'address': LOCAL}
    else:
        options['address'] = address
    try:
        ray.init(**options)
    except Exception as error:  # Ray raises bare ones where a node of it starts too slowly
        ray.shutdown()
        line = ' '.join(str(error).split())[:200]
        raise SimulationError(f'no Ray cluster at {address!r}: {line}') from None


def _knock(address: str) -> None:
    """See whether anything listens, since Ray itself would wait for minutes."""
    host, _, port = address.removeprefix('ray://').rpartition(':')
    if not host or not port.isdecimal():
        raise SimulationError(
            f'Ray address {address!r}; allowed: local, auto, host:port, ray://host:port'
        )
    try:
        socket.create_connection((host, int(port)), _CONNECT_S).close()
    except (OSError, OverflowError) as error:
        raise SimulationError(f'no Ray cluster at {address!r}: {error}') from None


def _array(tensor: Any) -> Any:
    """Return a tensor as numpy array; numpy has no bfloat16, and float32 holds all of it."""
    kept = tensor.detach().cpu()
    return np.array(kept.float() if kept.dtype.is_floating_point else kept)
