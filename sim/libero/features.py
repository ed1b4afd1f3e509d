"""The state vector of a LIBERO scene: one layout for all tasks, from the simulator's state alone.

The arm, then up to `THINGS` things that the goal names in the order of its conjuncts (objects,
fixtures, regions), then what is true of the published predicates now, then the number of the task
within its suite. Places are in the frame of the robot's base, relative to the hand.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from structrl_ros.sim.libero.predicates import GoalPredicates
from structrl_ros.sim.libero.scene import LiberoScene
from structrl_ros.types import Float32
from structrl_ros.types import Float64
from structrl_ros.types import Proprioception

THINGS = 6
PREDICATES = 8
TASKS = 10
#: Middle of the workspace in the base frame, metres; scales in metres, rad/s and metres.
MIDDLE = np.array([0.5, 0.0, 0.2])
FAR_M, NEAR_M, SPEED, FINGER_M = 0.3, 0.03, 2.0, 0.04

_TURN = ('xx', 'xy', 'xz', 'yx', 'yy', 'yz')
_ARM = (
    *(f'hand_{axis}' for axis in 'xyz'),
    *(f'hand_turn_{axis}' for axis in _TURN),
    *(f'finger_{i}' for i in (1, 2)),
    *(f'joint_{i}' for i in range(1, 8)),
    *(f'joint_speed_{i}' for i in range(1, 8)),
)
_THING = (
    *(f'{reach}_{axis}' for reach in ('far', 'near') for axis in 'xyz'),
    *(f'turn_{axis}' for axis in _TURN),
    'joint',
    'is_there',
)

#: Names of the entries, in order.
FEATURE_NAMES: tuple[str, ...] = (
    *_ARM,
    *(f'thing_{i}_{name}' for i in range(THINGS) for name in _THING),
    *(f'true_{i}' for i in range(PREDICATES)),
    *(f'task_{i}' for i in range(TASKS)),
)


class StateFeatures:
    """Reads the state vector off a placed scene."""

    def __init__(self, scene: LiberoScene, predicates: GoalPredicates) -> None:
        """Find the things of the goal in the model."""
        self._data, self._predicates = scene.data, predicates
        self._task = scene.task.number % TASKS
        self._base = scene.model.body(scene.robot.robot_model.root_body).id
        goal = scene.environment.parsed_problem['goal_state']
        names = dict.fromkeys(name for conjunct in goal for name in conjunct[1:])
        self._things = [_reader(scene, name) for name in list(names)[:THINGS]]
        self._joints = [_joint(scene, name) for name in list(names)[:THINGS]]

    def read(self, arm: Proprioception) -> Float32:
        """Return the state vector, shape (F,), of the scene as it is now."""
        vector = np.zeros(len(FEATURE_NAMES), dtype=np.float32)
        data, hand = self._data, arm.ee_pose[:3]
        base = data.xmat[self._base].reshape(3, 3)
        vector[: len(_ARM)] = np.concatenate(
            [
                (hand - MIDDLE) / FAR_M,
                _columns(_matrix(arm.ee_pose[3:])),
                arm.gripper / FINGER_M,
                arm.joint_positions,
                arm.joint_velocities / SPEED,
            ]
        )
        at = len(_ARM)
        for read, joint in zip(self._things, self._joints, strict=True):
            place, turn = read()
            off = base.T @ (place - data.xpos[self._base]) - hand
            value = 0.0 if joint is None else float(data.qpos[joint])
            entries = (off / FAR_M, np.tanh(off / NEAR_M), _columns(base.T @ turn), [value, 1.0])
            vector[at : at + len(_THING)] = np.concatenate(entries)
            at += len(_THING)
        at = len(_ARM) + THINGS * len(_THING)
        values, _ = self._predicates.evaluate()
        vector[at : at + min(len(values), PREDICATES)] = values[:PREDICATES]
        vector[at + PREDICATES + self._task] = 1.0
        return vector


def _reader(scene: LiberoScene, name: str) -> Callable[[], tuple[Float64, Float64]]:
    """Return what gives place and orientation of an object, fixture or region, world frame."""
    data, environment = scene.data, scene.environment
    if name in environment.object_sites_dict:
        site = scene.model.site(name).id
        return lambda: (data.site_xpos[site], data.site_xmat[site].reshape(3, 3))
    body = environment.obj_body_id[name]
    return lambda: (data.xpos[body], data.xmat[body].reshape(3, 3))


def _joint(scene: LiberoScene, name: str) -> int | None:
    """Return the place in qpos of the joint that a goal thing is about, None if it has none."""
    environment: Any = scene.environment
    if name in environment.object_sites_dict:
        joints = list(getattr(environment.object_sites_dict[name], 'joints', None) or ())
    elif name in environment.fixtures_dict:
        joints = list(environment.get_object(name).joints)
    else:
        joints = []
    return int(scene.model.joint(joints[0]).qposadr[0]) if joints else None


def _columns(matrix: Float64) -> Float64:
    """Return the first two columns of a rotation: six numbers without a jump."""
    columns: Float64 = matrix[:, :2].T.ravel()
    return columns


def _matrix(quat_xyzw: Float64) -> Float64:
    x, y, z, w = quat_xyzw
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )
