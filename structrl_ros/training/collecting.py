"""Collection of rollouts: a policy plays episodes in the lanes of a world.

    rollouts = collect(policy, world, starts, seed=0, iteration=3, explore=True)

Episodes are played in waves of as many as the world has lanes. An episode is a function of
weights, start, seed, iteration and its number alone: not of the lanes, not of who steps the
bodies, not of what else is played.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol
from typing import runtime_checkable

from structrl_ros.errors import ParameterError
from structrl_ros.models.policies.base import ChunkPolicy
from structrl_ros.ports import VectorWorld
from structrl_ros.training.inference import BATCH
from structrl_ros.training.inference import FixedBatch
from structrl_ros.training.rollouts import Rollouts
from structrl_ros.training.rollouts import join
from structrl_ros.training.wave import PlaySettings
from structrl_ros.training.wave import Wave
from structrl_ros.world_types import EpisodeStart
from structrl_ros.world_types import WorldSpec


@runtime_checkable
class RolloutSource(Protocol):
    """Takes the place of a world where whole episodes are played elsewhere (Ray)."""

    spec: WorldSpec

    def collect(
        self,
        policy: ChunkPolicy,
        starts: Sequence[EpisodeStart],
        settings: PlaySettings,
        *,
        batch: int,
    ) -> Rollouts:
        """Play the episodes as `play_waves` does."""

    def close(self) -> None:
        """Free everything; a second call does nothing."""


def collect(
    policy: ChunkPolicy,
    world: VectorWorld | RolloutSource,
    starts: Sequence[EpisodeStart],
    *,
    seed: int,
    iteration: int,
    explore: bool,
    batch: int = BATCH,
    first_episode: int = 0,
    max_chunks: int | None = None,
    kept_roles: Sequence[str] = (),
) -> Rollouts:
    """Play episodes and return them, in the order of `starts`.

    Args:
        policy: Who plays; its mode (train or eval) is restored afterwards.
        world: Where, or who plays elsewhere.
        starts: What, E of them.
        seed: Seed of the run.
        iteration: Of the run; with seed and number of the episode it gives the policy's noise.
        explore: Whether the policy explores; without, it draws from its first noise alone.
        batch: G, rows of the network's batch.
        first_episode: Number of the first one, where this is a part of an iteration; a multiple
            of `batch` keeps every episode in its row.
        max_chunks: Cut episodes there; they count as truncated.
        kept_roles: Cameras whose pictures are returned, the policy's or others.

    Raises:
        ParameterError: If there are no starts or a number is out of range.
        PolicyError: If the policy got or gave NaN; nothing was sent then.
        SimulationError: If a world fails.
    """
    if not starts:
        raise ParameterError('starts: at least one episode is needed, got none')
    settings = PlaySettings(
        seed=seed,
        iteration=iteration,
        explore=explore,
        max_chunks=max_chunks,
        kept_roles=tuple(kept_roles),
    )
    if isinstance(world, RolloutSource):
        return world.collect(policy, starts, settings, batch=batch)
    return play_waves(policy, world, starts, settings, batch=batch, first_episode=first_episode)


def play_waves(
    policy: ChunkPolicy,
    world: VectorWorld,
    starts: Sequence[EpisodeStart],
    settings: PlaySettings,
    *,
    batch: int,
    first_episode: int,
) -> Rollouts:
    """Play episodes in this process; arguments and errors are those of `collect`."""
    asked, lanes = FixedBatch(policy, batch), world.spec.lanes
    was_training = policy.training
    policy.eval()
    try:
        parts = []
        for begin in range(0, len(starts), lanes):
            wave = Wave(asked, policy, world, settings, first=first_episode + begin)
            parts.append(wave.play(tuple(starts[begin : begin + lanes])))
    finally:
        policy.train(was_training)
    return join(parts)
