"""The kinematic body with a state vector; importable by the processes of a pool."""

import os
import signal
import time

import numpy as np

from structrl_ros.sim.kinematic.body import KinematicBody

MOST_CANS = 2
FEATURE_NAMES = (
    *(f'{part}_{axis}' for part in ('gripper', 'rotation', 'velocity') for axis in 'xyz'),
    *('finger', 'command', 'held', 'basket_x', 'basket_y', 'cans'),
    *(f'can_{number}_{axis}' for number in range(MOST_CANS) for axis in 'xyz'),
)


class KinematicStateBody(KinematicBody):
    """Tells its whole state, padded to two cans."""

    feature_names = FEATURE_NAMES
    predicate_slots = 2 * MOST_CANS

    def features(self):
        state = self.scene.pack()
        told = np.zeros(len(FEATURE_NAMES), np.float32)
        told[:14] = state[:14]
        told[14] = len(self.cans)
        told[15 : 15 + 3 * len(self.cans)] = state[14:]
        return told


class DyingBody(KinematicStateBody):
    """Kills its process at the step that its horizon names."""

    def __init__(self, *, last_step, **options):
        super().__init__(**options)
        self.left = last_step

    def step(self, action):
        self.left -= 1
        if self.left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(10)
        return super().step(action)
