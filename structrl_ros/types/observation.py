"""What the brain sees of a body: pictures by role, the arm's own state, privileged truth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field

from structrl_ros.types.arrays import Float32
from structrl_ros.types.arrays import Float64
from structrl_ros.types.arrays import UInt8
from structrl_ros.types.reward import Progress

#: Camera roles of the contract; a policy names roles, never devices.
ROLES = ('head', 'left_wrist', 'right_wrist')


@dataclass(frozen=True, slots=True)
class Proprioception:
    """The arm's own state. `ee_pose` is position (m) and quaternion xyzw in the base frame, (7,).

    `gripper` holds the two finger positions in metres, shape (2,), both positive when open.
    """

    stamp_ns: int
    joint_names: tuple[str, ...]
    joint_positions: Float64
    joint_velocities: Float64
    ee_pose: Float64
    gripper: Float64
    wrench: Float64 | None = None


@dataclass(frozen=True, slots=True)
class Predicates:
    """Simulator truth over one chunk: a name is true if it held at any low-level step of it."""

    stamp_ns: int
    episode: int
    chunk: int
    step: int
    names: tuple[str, ...]
    values: tuple[bool, ...]
    success: bool

    @property
    def truth(self) -> frozenset[str]:
        """Names that are true."""
        return frozenset(n for n, v in zip(self.names, self.values, strict=True) if v)


@dataclass(frozen=True, slots=True)
class SimulatorState:
    """Privileged: the whole state of a simulated world, enough to set a twin to it."""

    stamp_ns: int
    episode: int
    chunk: int
    step: int
    task: str
    seed: int
    initial_state: int
    state: Float64


@dataclass(frozen=True, slots=True)
class Observation:
    """What a policy, planner or monitor sees: latest images by role, and the arm's own state.

    `images` maps a role to uint8 RGB (H, W, 3), upright; `image_stamps_ns` has the same keys.
    `predicates` and `simulator` are privileged and None on a real body. `committed`, shape (M, D),
    are the actions that are on their way to the body already, from `stamp_ns` on; it is given to
    policies that continue from there (`PolicySpec.continues`). `progress` is given to a monitor
    that looks at it, and to no other.
    """

    stamp_ns: int
    episode: int
    proprioception: Proprioception | None = None
    images: Mapping[str, UInt8] = field(default_factory=dict)
    image_stamps_ns: Mapping[str, int] = field(default_factory=dict)
    predicates: Predicates | None = None
    simulator: SimulatorState | None = None
    committed: Float32 | None = None
    progress: Progress | None = None
