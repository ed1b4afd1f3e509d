"""The arm's own state as a vector: what a policy may read on any body, simulated or real."""

from __future__ import annotations

import numpy as np

from structrl_ros.errors import StaleDataError
from structrl_ros.types import Float32
from structrl_ros.types import Observation
from structrl_ros.types import Proprioception

#: Names of the entries, in order: place of the tool in the base frame (m), the first two columns
#: of its rotation, and the positions of both fingers (m).
PROPRIOCEPTION: tuple[str, ...] = (
    *(f'tool_{axis}' for axis in 'xyz'),
    *(f'tool_turn_{entry}' for entry in ('xx', 'xy', 'xz', 'yx', 'yy', 'yz')),
    *(f'finger_{number}_m' for number in (1, 2)),
)


def arm_vector(arm: Proprioception) -> Float32:
    """Return the vector of an arm's state, shape (11,); not normalised."""
    x, y, z, w = arm.ee_pose[3:]
    turn = [
        *(1 - 2 * (y * y + z * z), 2 * (x * y + z * w), 2 * (x * z - y * w)),
        *(2 * (x * y - z * w), 1 - 2 * (x * x + z * z), 2 * (y * z + x * w)),
    ]
    return np.array([*arm.ee_pose[:3], *turn, *arm.gripper], dtype=np.float32)


def read_proprioception(observation: Observation) -> Float32:
    """Return `arm_vector` of what was observed.

    Raises:
        StaleDataError: If the observation has no proprioception.
    """
    arm = observation.proprioception
    if arm is None:
        raise StaleDataError('the policy needs the arm state (proprioception), got none')
    return arm_vector(arm)
