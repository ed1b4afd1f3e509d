"""Pictures of the kinematic world, drawn in numpy: the table from above, and from the wrist."""

from __future__ import annotations

import numpy as np

from structrl_ros.sim.kinematic.scene import BASKET_HALF
from structrl_ros.sim.kinematic.scene import FINGER_OPEN
from structrl_ros.sim.kinematic.scene import RADIUS
from structrl_ros.sim.kinematic.scene import Scene
from structrl_ros.types import Float64
from structrl_ros.types import UInt8

TABLE = (196, 178, 150)
BASKET = (140, 98, 57)
INSIDE = (90, 62, 36)
GRIPPER = (235, 235, 240)
CANS = ((200, 40, 40), (30, 110, 60), (40, 70, 180), (220, 170, 30))
#: Width of the part of the table that a picture shows, metres.
HEAD_WIDTH = 1.0
WRIST_WIDTH = 0.35


def draw(scene: Scene, role: str, size: int) -> UInt8:
    """Return the picture of a camera role, uint8 RGB (size, size, 3), the far edge up.

    `head` looks at the whole table, `left_wrist` at what is below the gripper.
    """
    wrist = role == 'left_wrist'
    centre = scene.gripper[:2] if wrist else np.array([0.5, 0.0])
    width = WRIST_WIDTH if wrist else HEAD_WIDTH
    ahead = centre[0] + width * (0.5 - (np.arange(size) + 0.5) / size)[:, None]
    left = centre[1] + width * (0.5 - (np.arange(size) + 0.5) / size)[None, :]
    image = np.empty((size, size, 3), dtype=np.uint8)
    image[:] = TABLE
    off = np.maximum(np.abs(ahead - scene.basket[0]), np.abs(left - scene.basket[1]))
    image[off < BASKET_HALF] = BASKET
    image[off < BASKET_HALF - 0.015] = INSIDE
    for i, can in enumerate(scene.cans):
        image[_disc(ahead, left, can, RADIUS * (1.0 + can[2]))] = CANS[i % len(CANS)]
    spread = 0.012 + scene.finger / FINGER_OPEN * 0.02
    for side in (-spread, spread):
        finger = scene.gripper + np.array([0.0, side, 0.0])
        image[_disc(ahead, left, finger, 0.008 + 0.02 * finger[2])] = GRIPPER
    return image


def _disc(ahead: Float64, left: Float64, centre: Float64, radius: float) -> np.ndarray:
    inside: np.ndarray = np.hypot(ahead - centre[0], left - centre[1]) < radius
    return inside
