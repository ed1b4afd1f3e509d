"""A Ray cluster, found or started here, and actors on it; it has structrl_ros installed, too."""

from __future__ import annotations

import os
import socket
from typing import Any

from structrl_ros.errors import SimulationError
from structrl_ros.errors import StructRLError

#: Address of a cluster that is started here and ends with the workers.
LOCAL = 'local'
#: Seconds for a cluster's address to answer.
_CONNECT_S = 5.0
#: Bytes of the object store of a local cluster.
_STORE = 200 * 2**20
_QUIET = {
    'RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO': '0',
    'RAY_USAGE_STATS_ENABLED': '0',
    'RAY_DEDUP_LOGS': '0',
}


class RayActors:
    """Actors of one kind, one CPU each; `close` ends them.

    Attributes:
        ray: The library, connected.
        actors: Handles of the actors.
    """

    def __init__(
        self, kind: type[Any], arguments: tuple[Any, ...], *, address: str, actors: int
    ) -> None:
        """Connect and start the actors.

        Args:
            kind: Class of the actors, importable there.
            arguments: Of each one.
            address: 'local', 'auto', host:port or ray://host:port.
            actors: How many; 0: as many as the cluster has CPUs.

        Raises:
            SimulationError: If Ray is missing, nothing answers, or there are fewer CPUs.
        """
        self.actors: list[Any] = []
        self.ray, self._is_mine = _connected(address, actors)
        try:
            has = int(self.ray.cluster_resources().get('CPU', 0))
            count = actors or max(1, has)
            if count > has:
                raise SimulationError(
                    f'{count} actors on a Ray cluster of {has} CPUs; allowed: one a CPU'
                )
            remote = self.ray.remote(num_cpus=1)(kind)
            self.actors = [remote.remote(*arguments) for _ in range(count)]
        except BaseException:
            self.close()
            raise

    def get(self, references: list[Any], limit_s: float | None = None) -> list[Any]:
        """Return the answers of actors, in order.

        Raises:
            SimulationError: If an actor died or failed, or it took longer than the limit.
            StructRLError: What an actor failed with.
        """
        errors = self.ray.exceptions
        try:
            answers: list[Any] = self.ray.get(references, timeout=limit_s)
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

    def close(self) -> None:
        """End the actors, and the cluster if it was started here; a second call does nothing."""
        actors, self.actors = self.actors, []
        for actor in actors:
            self.ray.kill(actor)
        if self._is_mine and self.ray.is_initialized():
            self.ray.shutdown()


def _connected(address: str, actors: int) -> tuple[Any, bool]:
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
