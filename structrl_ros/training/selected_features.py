"""A world of which a policy sees some features only, as pi0 sees the arm's own state."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from structrl_ros.ports import VectorWorld
from structrl_ros.types import Float32


class SelectedFeatures:
    """`ports.VectorWorld` that tells the features of some names, in their order."""

    def __init__(self, world: VectorWorld, names: Sequence[str]) -> None:
        """Take a world, and names that it has."""
        self._world = world
        self._columns = [world.spec.feature_names.index(name) for name in names]
        self.spec = dataclasses.replace(world.spec, feature_names=tuple(names))

    def features(self) -> Float32:
        """Return the state vectors, shape (B, F')."""
        return self._world.features()[:, self._columns]

    def __getattr__(self, name: str) -> Any:
        """Return everything else as it is."""
        return getattr(self._world, name)


def select_features(world: Any, names: Sequence[str]) -> Any:
    """Return a world that shows what a policy sees.

    Args:
        world: Any world.
        names: Features that the policy sees; none, all of them, or names that the world does not
            have (`collector.check_fit` tells of those): the world stays as it is.
    """
    has = world.spec.feature_names
    if not names or tuple(names) == has or not set(names) <= set(has):
        return world
    return SelectedFeatures(world, names)
