"""From a device's reading to an action of the contract: dead zone, scale, frame, gripper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from structrl_ros.control.action_limiter import ROTATION_SCALE_RAD
from structrl_ros.control.action_limiter import TRANSLATION_SCALE_M
from structrl_ros.errors import ParameterError
from structrl_ros.types import Float32
from structrl_ros.types import Float64
from structrl_ros.types import OperatorCommand

Frame = Literal['base', 'tool']
#: What 1 is of an action on each axis, in a control period: m and rad, shape (6,).
LARGEST_STEP = np.repeat([TRANSLATION_SCALE_M, ROTATION_SCALE_RAD], 3)


@dataclass(frozen=True, slots=True, kw_only=True)
class MotionScale:
    """How a reading becomes a step of the tool.

    Attributes:
        translation: Share of the largest step (0.05 m) at full deflection, in (0, 1].
        rotation: Share of the largest turn (0.5 rad) at full deflection, in [0, 1]; 0: none.
        dead_zone: Deflection that counts as none, in [0, 1); what is beyond it begins at 0.
        frame: Axes in which the device's motion is meant: the base's, or the tool's own.
    """

    translation: float = 0.5
    rotation: float = 0.3
    dead_zone: float = 0.05
    frame: Frame = 'base'

    def __post_init__(self) -> None:
        """Refuse what is out of range.

        Raises:
            ParameterError: If something is.
        """
        is_right = 0.0 < self.translation <= 1.0 and 0.0 <= self.rotation <= 1.0
        if not (is_right and 0.0 <= self.dead_zone < 1.0 and self.frame in ('base', 'tool')):
            raise ParameterError(
                f'{self}; allowed: translation in (0, 1], rotation in [0, 1], dead_zone in '
                '[0, 1), frame base or tool'
            )


def operator_action(
    command: OperatorCommand, scale: MotionScale, tool: ArrayLike, gripper: float
) -> Float32:
    """Return the action of a reading, shape (7,), of action space 'ee_delta_pose'.

    A number that is not finite is no motion on its axis: a device that fails must not fling.

    Args:
        command: The reading.
        scale: Of its motion.
        tool: Rotation of the tool in the base frame, shape (3, 3); used in frame 'tool'.
        gripper: What the gripper was last told, -1 open ... +1 close.
    """
    raw = np.nan_to_num(np.asarray(command.motion, dtype=np.float64), nan=0.0)
    motion = _without_dead_zone(np.clip(raw, -1.0, 1.0), scale.dead_zone)
    shift, turn = motion[:3] * scale.translation, motion[3:] * scale.rotation
    if scale.frame == 'tool':
        rotation = np.asarray(tool, dtype=np.float64)
        shift, turn = rotation @ shift, rotation @ turn
    grip = gripper if command.gripper is None else command.gripper
    grip = float(np.clip(np.nan_to_num(grip, nan=gripper), -1.0, 1.0))
    action: Float32 = np.clip(np.concatenate([shift, turn, [grip]]), -1.0, 1.0).astype(np.float32)
    return action


def _without_dead_zone(motion: Float64, zone: float) -> Float64:
    beyond = np.maximum(np.abs(motion) - zone, 0.0) / (1.0 - zone)
    return np.asarray(np.sign(motion) * beyond, dtype=np.float64)
