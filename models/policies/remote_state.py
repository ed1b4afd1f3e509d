"""The robot's state as served policies want it: parts of the proprioception in a given order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.spatial.transform import Rotation

from structrl_ros.errors import StaleDataError
from structrl_ros.types import Float32
from structrl_ros.types import Observation

#: position (m, 3), rotation_vector (axis times rad, 3), quaternion (xyzw, 4), all of the tool in
#: the base frame; joints (rad); fingers (m, the second negative, as MuJoCo's Panda has them, 2);
#: width (m between the fingers, 1).
STATE_PARTS = ('position', 'rotation_vector', 'quaternion', 'joints', 'fingers', 'width')


def robot_state(
    observation: Observation, parts: Sequence[str], position_offset: Sequence[float]
) -> Float32:
    """Return the parts one after another, shape (S,).

    Raises:
        StaleDataError: If the observation has no proprioception.
    """
    arm = observation.proprioception
    if arm is None:
        raise StaleDataError("the remote policy needs the arm's state, got none")
    values = {
        'position': arm.ee_pose[:3] + np.asarray(position_offset),
        'rotation_vector': Rotation.from_quat(arm.ee_pose[3:]).as_rotvec(),
        'quaternion': arm.ee_pose[3:],
        'joints': arm.joint_positions,
        'fingers': arm.gripper * (1.0, -1.0),
        'width': arm.gripper.sum(keepdims=True),
    }
    return np.concatenate([values[part] for part in parts]).astype(np.float32)
