"""The state vector of a tabletop world: one layout for all tasks, built from the view alone.

Everything is relative to the tool centre point, twice: r / 0.3 m for the way and tanh(r / 3 cm)
for the last centimetres. Flags make it Markov: what was open once is known, time is not in it.
"""

from __future__ import annotations

import numpy as np

from structrl_ros.sim.tabletop.geometry import wrap
from structrl_ros.sim.tabletop.task_data import FIXTURE_SLOTS
from structrl_ros.sim.tabletop.task_data import OBJECT_SLOTS
from structrl_ros.sim.tabletop.task_data import PREDICATE_SLOTS
from structrl_ros.sim.tabletop.task_data import TASK_SLOTS
from structrl_ros.sim.tabletop.task_data import Task
from structrl_ros.sim.tabletop.view import WorldView
from structrl_ros.types import Float32
from structrl_ros.types import Float64

FAR_M = 0.3
NEAR_M = 0.03
#: Middle of the workspace, metres, and a usual speed, m/s.
MIDDLE = np.array([0.45, 0.0, 0.15])
SPEED = 0.5

_AXES = ('x', 'y', 'z')
_ARM = ('tcp_x', 'tcp_y', 'tcp_z', 'speed_x', 'speed_y', 'speed_z', 'yaw', 'opening')
_POINT = tuple(f'{reach}_{axis}' for reach in ('far', 'near') for axis in _AXES)
_FIXTURE = (
    *(f'handle_{p}' for p in _POINT),
    *(f'place_{p}' for p in _POINT),
    'yaw_error',
    'joint',
    'reached',
)
_OBJECT = (*_POINT, 'yaw_error', 'held')

#: Names of the entries, in order.
FEATURE_NAMES: tuple[str, ...] = (
    *_ARM,
    *(f'fixture_{i}_{name}' for i in range(FIXTURE_SLOTS) for name in _FIXTURE),
    *(f'object_{i}_{name}' for i in range(OBJECT_SLOTS) for name in _OBJECT),
    *(f'true_{i}' for i in range(PREDICATE_SLOTS)),
    *(f'task_{i}' for i in range(TASK_SLOTS)),
)
#: How many there are: F.
FEATURES = len(FEATURE_NAMES)

_FIRST_FIXTURE = len(_ARM)
_FIRST_OBJECT = _FIRST_FIXTURE + FIXTURE_SLOTS * len(_FIXTURE)
_FIRST_TRUTH = _FIRST_OBJECT + OBJECT_SLOTS * len(_OBJECT)
_FIRST_TASK = _FIRST_TRUTH + PREDICATE_SLOTS


def features(view: WorldView, task: Task) -> Float32:
    """Return the state vectors, shape (B, F); entries of slots that the task has not are zero."""
    vector = np.zeros((len(view.tcp), FEATURES), dtype=np.float32)
    vector[:, 0:3] = (view.tcp - MIDDLE) / FAR_M
    vector[:, 3:6] = view.velocity / SPEED
    vector[:, 6] = view.yaw
    vector[:, 7] = view.opening
    for slot, fixture in enumerate(task.fixtures):
        at = _FIRST_FIXTURE + slot * len(_FIXTURE)
        if fixture.handle is not None:
            _write_point(vector, at, view.handles[:, slot] - view.tcp)
        if fixture.region is not None:
            _write_point(vector, at + 6, view.places[:, slot] - view.tcp)
        if fixture.handle is not None or fixture.kind == 'peg':
            period = np.pi / 2.0 if fixture.kind == 'peg' else np.pi
            vector[:, at + 12] = wrap(view.handle_yaws[:, slot] - view.yaw, period)
        if fixture.joint is not None:
            vector[:, at + 13] = view.joints[:, slot] / fixture.joint.limit
            vector[:, at + 14] = view.reached[:, slot]
    for slot, thing in enumerate(task.objects):
        at = _FIRST_OBJECT + slot * len(_OBJECT)
        _write_point(vector, at, view.objects[:, slot] - view.tcp)
        if thing.symmetry:
            error = view.object_yaws[:, slot] - view.yaw
            vector[:, at + 6] = wrap(error, 2.0 * np.pi / thing.symmetry)
        vector[:, at + 7] = view.held[:, slot]
    vector[:, _FIRST_TRUTH : _FIRST_TRUTH + view.truth.shape[1]] = view.truth
    vector[:, _FIRST_TASK + task.index] = 1.0
    return vector


def _write_point(vector: Float32, at: int, off: Float64) -> None:
    """Write a point relative to the gripper as far and near part, six entries from `at`."""
    vector[:, at : at + 3] = off / FAR_M
    vector[:, at + 3 : at + 6] = np.tanh(off / NEAR_M)
