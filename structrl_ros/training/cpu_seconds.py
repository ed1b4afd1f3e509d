"""Where the CPU time of a rollout goes: bodies, network, and everything else."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol
from typing import runtime_checkable

from structrl_ros.ports import VectorWorld


@dataclass(frozen=True, slots=True)
class CpuSeconds:
    """CPU seconds (user and system) of a rollout, over all processes that the trainer started.

    Attributes:
        physics: In the bodies: resets, steps, state vectors, pictures.
        network: In the policy.
        other: What is left: the rollout itself, processes, messages.
    """

    physics: float = 0.0
    network: float = 0.0
    other: float = 0.0

    @property
    def total(self) -> float:
        """All of it."""
        return self.physics + self.network + self.other

    def __add__(self, more: CpuSeconds) -> CpuSeconds:
        """Return the sum, part by part."""
        return CpuSeconds(
            self.physics + more.physics, self.network + more.network, self.other + more.other
        )


@dataclass(frozen=True, slots=True)
class WorldCpu:
    """CPU seconds since a world was made.

    Attributes:
        bodies: In the bodies, in whatever process they are.
        elsewhere: In other processes than the caller's, the bodies there included.
    """

    bodies: float
    elsewhere: float = 0.0


@runtime_checkable
class MeasuredWorld(VectorWorld, Protocol):
    """A world that tells what its bodies took apart from its own bookkeeping."""

    def cpu_seconds(self) -> WorldCpu:
        """Return the CPU seconds since it was made."""


class CpuMeter:
    """Measures one rollout; time inside `world()` counts as physics if the world tells nothing."""

    def __init__(self, world: VectorWorld) -> None:
        """Begin now."""
        self._world = world if isinstance(world, MeasuredWorld) else None
        self._told = self._tell()
        self._began = time.process_time()
        self._in_world = self._in_network = 0.0

    @contextmanager
    def world(self) -> Iterator[None]:
        """Count what is inside as the world's."""
        began = time.process_time()
        try:
            yield
        finally:
            self._in_world += time.process_time() - began

    @contextmanager
    def network(self) -> Iterator[None]:
        """Count what is inside as the network's."""
        began = time.process_time()
        try:
            yield
        finally:
            self._in_network += time.process_time() - began

    def read(self) -> CpuSeconds:
        """Return the CPU seconds since the beginning."""
        here = time.process_time() - self._began
        if self._world is None:
            physics, elsewhere = self._in_world, 0.0
        else:
            told = self._tell()
            physics = told.bodies - self._told.bodies
            elsewhere = told.elsewhere - self._told.elsewhere
        other = here + elsewhere - physics - self._in_network
        return CpuSeconds(physics, self._in_network, max(0.0, other))

    def _tell(self) -> WorldCpu:
        return WorldCpu(0.0) if self._world is None else self._world.cpu_seconds()
