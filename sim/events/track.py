"""`Track`: what moved in a rollout, as arrays over time, read off its state vectors.

The tabletop and its kinematic twin tell the same state vector (`sim.tabletop.features`), so one
reader serves both, at any rate: every control period, or once a chunk as a trainer keeps it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from numpy.typing import NDArray

from structrl_ros.errors import ParameterError
from structrl_ros.sim.tabletop.features import FAR_M
from structrl_ros.sim.tabletop.features import MIDDLE
from structrl_ros.sim.tabletop.task_data import Task
from structrl_ros.types import Float64
from structrl_ros.world_types import Bool
from structrl_ros.world_types import Int

_AXES = ('x', 'y', 'z')


@dataclass(frozen=True, slots=True)
class Track:
    """T moments of a rollout of a task with O objects, F fixtures and N predicates.

    Attributes:
        task: What was played.
        chunks: The chunk within which each moment was seen, 0 at the start, (T,).
        tcp: Tool centre point in the base frame, m, (T, 3).
        opening: Of the fingers, 0 (shut) to 1, (T,).
        objects: Centres of the objects, m, (T, O, 3).
        held: Whether both fingers touch the object, (T, O).
        tilts: How far an object leans, rad, (T, O); 0 of a sphere, and of one that was turned to
            the same height; NaN where it is not known.
        handles: Where the handles are, m, (T, F, 3).
        joints: Of the fixtures, as share of their limit, (T, F).
        truth: Of `task.predicates`, (T, N).
    """

    task: Task
    chunks: Int
    tcp: Float64
    opening: Float64
    objects: Float64
    held: Bool
    tilts: Float64
    handles: Float64
    joints: Float64
    truth: Bool

    def __len__(self) -> int:
        """Return T."""
        return len(self.chunks)

    @property
    def brief(self) -> int:
        """Moments of half a chunk: what is shorter may be the noise of an exploring policy."""
        chunks = int(self.chunks[-1])
        return max(1, (len(self) - 1) // (2 * chunks)) if chunks else 1


def tilt_name(slot: int) -> str:
    """Return the name of the entry that a state vector may have beyond the usual features."""
    return f'object_{slot}_tilt'


def read_track(
    task: Task, states: ArrayLike, names: Sequence[str], chunks: Sequence[int]
) -> Track:
    """Return the track of state vectors.

    Args:
        task: What was played.
        states: Shape (T, F).
        names: Of their entries, F.
        chunks: See `Track.chunks`, length T.

    Raises:
        ParameterError: If an entry that is needed is missing, or a shape is wrong.
    """
    vectors = np.asarray(states, dtype=np.float64)
    if vectors.ndim != 2 or vectors.shape != (len(chunks), len(names)) or not len(chunks):
        raise ParameterError(
            f'states are of shape {vectors.shape}; allowed: ({len(chunks)}, {len(names)}), a row '
            'a moment'
        )
    columns = {name: column for column, name in enumerate(names)}

    def of(name: str) -> NDArray[np.float64]:
        if name not in columns:
            raise ParameterError(
                f'states tell no {name!r}; allowed: the features of a tabletop or twin body'
            )
        return np.asarray(vectors[:, columns[name]])

    def points(prefix: str) -> Float64:
        return np.stack([of(f'{prefix}_far_{axis}') for axis in _AXES], axis=1) * FAR_M + tcp

    tcp = np.stack([of(f'tcp_{axis}') for axis in _AXES], axis=1) * FAR_M + MIDDLE
    moments, things, fixtures = len(vectors), len(task.objects), len(task.fixtures)
    unknown = np.full(moments, np.nan)
    tilts = [of(n) if (n := tilt_name(i)) in columns else unknown for i in range(things)]
    held = [of(f'object_{i}_held') > 0.5 for i in range(things)]
    return Track(
        task=task,
        chunks=np.asarray(chunks, dtype=np.intp),
        tcp=tcp,
        opening=of('opening'),
        objects=_stack([points(f'object_{i}') for i in range(things)], (moments, 0, 3)),
        held=np.asarray(_stack(held, (moments, 0)), dtype=np.bool_),
        tilts=_stack(tilts, (moments, 0)),
        handles=_stack([points(f'fixture_{i}_handle') for i in range(fixtures)], (moments, 0, 3)),
        joints=_stack([of(f'fixture_{i}_joint') for i in range(fixtures)], (moments, 0)),
        truth=np.stack([of(f'true_{i}') > 0.5 for i in range(len(task.predicates))], axis=1),
    )


def _stack(columns: Sequence[NDArray[np.generic]], empty: tuple[int, ...]) -> Float64:
    """Return the columns side by side on the second axis."""
    if not columns:
        return np.zeros(empty)
    return np.stack([np.asarray(c, dtype=np.float64) for c in columns], axis=1)
