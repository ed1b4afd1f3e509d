"""Rollouts from worlds that may die: an iteration is collected once more in new ones."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable
from collections.abc import Sequence

from structrl_ros.errors import CheckpointError
from structrl_ros.errors import SimulationError
from structrl_ros.errors import StructRLError
from structrl_ros.errors import TrainingError
from structrl_ros.models.policies.base import ChunkPolicy
from structrl_ros.ports import VectorWorld
from structrl_ros.training.collecting import RolloutSource
from structrl_ros.training.collecting import collect
from structrl_ros.training.inference import BATCH
from structrl_ros.training.rollouts import Rollouts
from structrl_ros.world_types import EpisodeStart
from structrl_ros.world_types import WorldSpec

World = VectorWorld | RolloutSource
MakeWorld = Callable[[], World]

#: Iteration number of the noise of an evaluation: no iteration of a run has it.
EVALUATION = 2**31 - 1

_LOGGER = logging.getLogger(__name__)


class Collector:
    """Holds the worlds of a run, and makes them anew when they die."""

    def __init__(self, make_world: MakeWorld, policy: ChunkPolicy, *, batch: int = BATCH) -> None:
        """Make the worlds; `batch` is how many rows the network sees at once.

        Raises:
            CheckpointError: If the policy sees or acts otherwise than the worlds.
        """
        self._make_world = make_world
        self._policy = policy
        self._batch = batch
        self._world: World | None = make_world()
        check_fit(policy, self._world.spec)

    def collect(
        self,
        starts: Sequence[EpisodeStart],
        *,
        seed: int,
        iteration: int,
        explore: bool,
        kept_roles: Sequence[str] = (),
    ) -> Rollouts:
        """Play the episodes; if a world dies, once more from the first in new worlds.

        Raises:
            TrainingError: If they die a second time; the line says of what.
            PolicyError: If the policy gives a number that is not finite.
        """

        def play() -> Rollouts:
            if self._world is None:
                self._world = self._make_world()
            return collect(
                self._policy,
                self._world,
                starts,
                seed=seed,
                iteration=iteration,
                explore=explore,
                batch=self._batch,
                kept_roles=kept_roles,
            )

        try:
            return play()
        except SimulationError as error:
            _LOGGER.warning('iteration %d is collected again: %s', iteration, error)
            self.close()
        try:
            return play()
        except SimulationError as error:
            raise TrainingError(
                f'the worlds failed twice in iteration {iteration}: {error}'
            ) from None

    def close(self) -> None:
        """Free the worlds; a second call does nothing."""
        world, self._world = self._world, None
        if world is not None:
            with contextlib.suppress(StructRLError, OSError):  # what died may not close
                world.close()


class KeptWorld:
    """Makes worlds; the first one is made at once, to look at, and given out first."""

    def __init__(self, make_world: MakeWorld) -> None:
        self._make_world = make_world
        self._first: World | None = make_world()
        self.spec = self._first.spec

    def __call__(self) -> World:
        """Return the first world, later a new one."""
        world, self._first = self._first, None
        return self._make_world() if world is None else world

    def close(self) -> None:
        """Free the first world if nobody took it."""
        if self._first is not None:
            self._first.close()
            self._first = None


def check_fit(policy: ChunkPolicy, spec: WorldSpec) -> None:
    """Check that a policy sees and acts as a world wants it.

    Raises:
        CheckpointError: If the layout of the features, the action space or a camera differs.
    """
    config, body = policy.config, spec.body
    if config.action_space != body.action_space:
        raise CheckpointError(
            f'the policy acts in {config.action_space!r}; {body.name} takes {body.action_space!r}'
        )
    if config.feature_names != spec.feature_names:
        pairs = enumerate(zip(config.feature_names, spec.feature_names, strict=False))
        place = next((f'; entry {i} is {a!r}, not {b!r}' for i, (a, b) in pairs if a != b), '')
        raise CheckpointError(
            f'the policy sees {len(config.feature_names)} features; {body.name} has '
            f'{len(spec.feature_names)}{place}: it was made for another body'
        )
    missing = sorted(set(config.roles) - set(body.roles))
    if missing:
        raise CheckpointError(
            f'the policy looks at {missing[0]!r}; cameras of {body.name}: '
            f'{", ".join(body.roles) or "none"}'
        )
