"""State and dynamics of the kinematic world: a point gripper, cans, a basket, a table.

Lengths in metres in the base frame: x ahead, y left, z up, the table top at z = 0. Everything is a
closed formula of state and action, so a step takes microseconds and two runs are equal bit by bit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from structrl_ros.errors import SimulationError
from structrl_ros.types import Float32
from structrl_ros.types import Float64

#: Displacement of an action entry of 1 in one step, and the share of it that the arm follows.
TRANSLATION_M = 0.05
ROTATION_RAD = 0.5
FOLLOWING = 0.9
#: Reach of the gripper.
REACH_LOW = np.array([0.1, -0.5, 0.02])
REACH_HIGH = np.array([0.9, 0.5, 0.6])
HOME = np.array([0.45, 0.0, 0.30])
#: Cans.
RADIUS = 0.03
HALF_HEIGHT = 0.05
FALL_PER_STEP = 0.05
#: Fingers: each from 0 to FINGER_OPEN; they grip a can whose centre is this near.
FINGER_OPEN = 0.04
FINGER_PER_STEP = 0.01
GRIP_SIDE = 0.015
GRIP_HEIGHT = 0.03
#: Basket.
BASKET_HALF = 0.11
BASKET_RIM = 0.12
BASKET_FLOOR = 0.01


@dataclass(slots=True)
class Scene:
    """What moves.

    `held` is the index of the gripped can or -1, `command` the last sign of the gripper.
    """

    gripper: Float64
    rotation: Float64
    velocity: Float64
    finger: float
    command: float
    held: int
    cans: Float64
    basket: Float64

    def pack(self) -> Float64:
        """Return everything as one vector, shape (14 + 3 N,)."""
        fingers = np.array([self.finger, self.command, self.held], dtype=np.float64)
        arm = (self.gripper, self.rotation, self.velocity, fingers)
        return np.concatenate([*arm, self.basket, self.cans.ravel()])

    def unpack(self, vector: Float64) -> None:
        """Take everything from a vector of `pack`.

        Raises:
            SimulationError: If its size is another or a number is not finite.
        """
        size = self.pack().size
        if vector.shape != (size,) or not np.isfinite(vector).all():
            raise SimulationError(
                f'state of shape {vector.shape}; allowed: {size} finite numbers of this task'
            )
        self.gripper = vector[0:3].copy()
        self.rotation = vector[3:6].copy()
        self.velocity = vector[6:9].copy()
        self.finger, self.command, self.held = float(vector[9]), float(vector[10]), int(vector[11])
        self.basket = vector[12:14].copy()
        self.cans = vector[14:].reshape(-1, 3).copy()

    def is_in_basket(self, can: int) -> bool:
        """Return whether a can lies in the basket: inside, below the rim, not in the fingers."""
        inside = np.abs(self.cans[can, :2] - self.basket) < BASKET_HALF - RADIUS
        return bool(inside.all() and self.cans[can, 2] < BASKET_RIM and can != self.held)

    def step(self, action: Float32) -> None:
        """Advance by one control period with an `ee_delta_pose` action of shape (7,)."""
        wish = np.clip(action[:6].astype(np.float64), -1.0, 1.0)
        before = self.gripper
        moved = before + FOLLOWING * TRANSLATION_M * wish[:3]
        self.gripper = np.clip(moved, REACH_LOW, REACH_HIGH)
        self.rotation = self.rotation + FOLLOWING * ROTATION_RAD * wish[3:]
        self.velocity = (self.gripper - before) * 20.0
        if self.held >= 0:
            self.cans[self.held] += self.gripper - before
        self._move_fingers(float(np.sign(action[6])))
        for i in range(len(self.cans)):
            if i != self.held:
                self.cans[i, 2] = max(self._support(i), self.cans[i, 2] - FALL_PER_STEP)

    def _move_fingers(self, command: float) -> None:
        self.command = command
        if command < 0.0:
            self.finger = min(FINGER_OPEN, self.finger + FINGER_PER_STEP)
            self.held = -1
        elif command > 0.0:
            between = self._between()
            stop = RADIUS if between >= 0 and self.finger >= RADIUS else 0.0
            self.finger = max(stop, self.finger - FINGER_PER_STEP)
            if between >= 0 and self.finger == RADIUS:
                self.held = between

    def _between(self) -> int:
        """Return the can between the fingers, -1 if none."""
        off = self.cans - self.gripper
        near = np.hypot(off[:, 0], off[:, 1]) < GRIP_SIDE
        near &= np.abs(off[:, 2]) < GRIP_HEIGHT
        return int(np.argmax(near)) if near.any() else -1

    def _support(self, can: int) -> float:
        """Return the height at which a can's centre comes to rest."""
        inside = np.abs(self.cans[can, :2] - self.basket) < BASKET_HALF
        return HALF_HEIGHT + (BASKET_FLOOR if inside.all() else 0.0)


def place_scene(cans: int, seed: int, initial_state: int) -> Scene:
    """Return a scene: the basket's pose is a function of the seed, the cans' of the initial state.

    Raises:
        SimulationError: If the initial state is not 0 to 49 or the seed negative.
    """
    if not 0 <= initial_state < 50:
        raise SimulationError(f'initial state {initial_state}; allowed: 0 to 49')
    if seed < 0:
        raise SimulationError(f'seed {seed}; allowed: 0 or more')
    basket = np.array([0.5, 0.28]) + np.random.default_rng([1, seed]).uniform(-0.02, 0.02, 2)
    rng = np.random.default_rng([2, initial_state])
    slots = np.linspace(-0.28, 0.02, cans + 1)[:cans]
    places = np.column_stack([rng.uniform(0.35, 0.65, cans), slots + rng.uniform(0.0, 0.08, cans)])
    positions = np.column_stack([places, np.full(cans, HALF_HEIGHT)])
    return Scene(
        gripper=HOME.copy(),
        rotation=np.zeros(3),
        velocity=np.zeros(3),
        finger=FINGER_OPEN,
        command=-1.0,
        held=-1,
        cans=positions,
        basket=basket,
    )
