"""The state of B episodes of the twin, as arrays with the lane on the first axis."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from structrl_ros.errors import SimulationError
from structrl_ros.sim.tabletop.counter_noise import UInt64
from structrl_ros.sim.tabletop.layout import Layout
from structrl_ros.sim.tabletop.task_data import FIXTURE_SLOTS
from structrl_ros.sim.tabletop.task_data import OBJECT_SLOTS
from structrl_ros.sim.tabletop.task_data import Task
from structrl_ros.sim.tabletop.view import WorldView
from structrl_ros.sim.tabletop.view import make_view
from structrl_ros.sim.tabletop.view import truth_of
from structrl_ros.types import Float64
from structrl_ros.world_types import Bool
from structrl_ros.world_types import Int

#: The hand with nothing in it.
NOTHING = -1


@dataclass(slots=True)
class TwinState:
    """What moves in B lanes; with F fixture and O object slots as in `WorldView`.

    Attributes:
        keys: Of the lanes' random numbers, (B,); given by the scene, not part of `pack`.
        step: Control periods since the reset, (B,): counter of the random numbers.
        tcp: (B, 3), velocity: (B, 3), yaw: (B,), opening: (B,) as in `WorldView`.
        command: Last sign of the gripper's command, (B,).
        in_hand: Slot of the object that is held, or `NOTHING`, (B,).
        fixtures: (B, F, 3) and fixture_yaws, joints, reached: (B, F), as in `WorldView`.
        objects: (B, O, 3) and object_yaws: (B, O), as in `WorldView`.
    """

    keys: UInt64
    step: NDArray[np.int64]
    tcp: Float64
    velocity: Float64
    yaw: Float64
    opening: Float64
    command: Float64
    in_hand: NDArray[np.int64]
    fixtures: Float64
    fixture_yaws: Float64
    joints: Float64
    reached: Bool
    objects: Float64
    object_yaws: Float64

    def __len__(self) -> int:
        """Return B."""
        return len(self.keys)

    def take(self, rows: Int | Bool) -> TwinState:
        """Return a copy of some lanes."""
        return TwinState(*(getattr(self, name)[rows] for name in _NAMES))

    def put(self, rows: Int, other: TwinState) -> None:
        """Overwrite some lanes."""
        for name in _NAMES:
            getattr(self, name)[rows] = getattr(other, name)

    @property
    def held(self) -> Bool:
        """Whether the fingers hold each object, (B, O)."""
        return self.in_hand[:, None] == np.arange(OBJECT_SLOTS)

    def truth(self, task: Task) -> Bool:
        """Return which of the task's predicates hold, (B, N)."""
        return truth_of(
            task,
            fixtures=self.fixtures,
            fixture_yaws=self.fixture_yaws,
            joints=self.joints,
            reached=self.reached,
            objects=self.objects,
            held=self.held,
        )

    def view(self, task: Task) -> WorldView:
        """Return what can be seen; the arrays are shared with this state."""
        return make_view(
            task,
            tcp=self.tcp,
            velocity=self.velocity,
            yaw=self.yaw,
            opening=self.opening,
            fixtures=self.fixtures,
            fixture_yaws=self.fixture_yaws,
            joints=self.joints,
            reached=self.reached,
            objects=self.objects,
            object_yaws=self.object_yaws,
            held=self.held,
        )

    def pack(self, lane: int) -> Float64:
        """Return the state of a lane as one vector, shape (`PACKED`,), float64."""
        parts = [np.ravel(getattr(self, name)[lane]) for name in _PACKED_NAMES]
        return np.concatenate(parts).astype(np.float64)

    def unpack(self, lane: int, vector: Float64) -> None:
        """Set a lane to what `pack` gave.

        Raises:
            SimulationError: If its size is another or a number is not finite.
        """
        if np.shape(vector) != (PACKED,) or not np.isfinite(vector).all():
            raise SimulationError(
                f'state of shape {np.shape(vector)}; allowed: {PACKED} finite numbers'
            )
        at = 0
        for name in _PACKED_NAMES:
            array = getattr(self, name)
            size = array[lane].size
            array[lane] = np.reshape(vector[at : at + size], array[lane].shape)
            at += size


_NAMES = tuple(f.name for f in dataclasses.fields(TwinState))
_PACKED_NAMES = tuple(n for n in _NAMES if n != 'keys')


def empty_state(lanes: int) -> TwinState:
    """Return lanes without a scene."""
    return TwinState(
        keys=np.zeros(lanes, dtype=np.uint64),
        step=np.zeros(lanes, dtype=np.int64),
        tcp=np.zeros((lanes, 3)),
        velocity=np.zeros((lanes, 3)),
        yaw=np.zeros(lanes),
        opening=np.ones(lanes),
        command=np.full(lanes, -1.0),
        in_hand=np.full(lanes, NOTHING, dtype=np.int64),
        fixtures=np.zeros((lanes, FIXTURE_SLOTS, 3)),
        fixture_yaws=np.zeros((lanes, FIXTURE_SLOTS)),
        joints=np.zeros((lanes, FIXTURE_SLOTS)),
        reached=np.zeros((lanes, FIXTURE_SLOTS), dtype=np.bool_),
        objects=np.zeros((lanes, OBJECT_SLOTS, 3)),
        object_yaws=np.zeros((lanes, OBJECT_SLOTS)),
    )


def begin(layout: Layout) -> TwinState:
    """Return the state at reset: everything in its place, the hand open and still."""
    state = empty_state(len(layout.keys))
    state.keys[:] = layout.keys
    state.tcp[:], state.yaw[:] = layout.tcp, layout.yaw
    state.fixtures[:], state.fixture_yaws[:] = layout.fixtures, layout.fixture_yaws
    state.objects[:], state.object_yaws[:] = layout.objects, layout.object_yaws
    return state


#: Numbers in the packed state of a lane.
PACKED = len(empty_state(1).pack(0))
