"""One demonstration in the terms of the contract, whatever file it came from, and its state."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from structrl_ros.errors import DatasetError
from structrl_ros.recording.lerobot.reader import Pictures
from structrl_ros.types import Float32
from structrl_ros.types import Float64
from structrl_ros.types import JsonObject

_POSITION = ('ee.x', 'ee.y', 'ee.z')
#: Ways to tell an orientation: quaternion xyzw, axis times angle, roll pitch yaw about fixed axes.
_TURNS = {
    'quaternion': ('ee.qx', 'ee.qy', 'ee.qz', 'ee.qw'),
    'axis-angle': ('ee.rx', 'ee.ry', 'ee.rz'),
    'fixed axes': ('ee.roll', 'ee.pitch', 'ee.yaw'),
}
#: Distance between the fingers, in metres.
OPENING = 'gripper'
#: An entry of the state that nobody wants.
IGNORED = '-'
#: Names of the fingers in joint_states where a data set has only an opening.
FINGERS = ('finger_joint1', 'finger_joint2')


@dataclass(frozen=True, slots=True, kw_only=True)
class Demonstration:
    """T steps at a fixed rate.

    Attributes:
        task: Instruction.
        state: (T, S), its entries named by the `StateLayout`.
        action: (T, D), executed.
        pictures: Camera role -> T pictures (H, W, 3).
        reward: (T,), None if there is none.
        done, truncated, success, intervention: (T,) bool.
        begin_ns: (T,), nanoseconds from the start of the episode.
        observed_ns: (T, 2 + cameras): joint_states, ee_pose, then the roles in order.
        chunk: (T,), rising numbers of the chunks.
        subtask: Phrase (or id where `origin` has plans) of each step, () if there is none.
        origin: What a bag said of the episode, {} if it came from elsewhere.
    """

    task: str
    state: Float64
    action: Float32
    pictures: Mapping[str, Pictures]
    reward: Float64 | None
    done: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    success: NDArray[np.bool_]
    intervention: NDArray[np.bool_]
    begin_ns: NDArray[np.int64]
    observed_ns: NDArray[np.int64]
    chunk: NDArray[np.int64]
    subtask: tuple[str, ...]
    origin: JsonObject


class StateLayout:
    """Which entries of a state are joints, fingers and the pose of the end effector.

    Attributes:
        joint_names: Of joint_states, the two fingers last; () if the state has none.
        has_pose: Whether the state holds the pose.
    """

    def __init__(self, names: Sequence[str]) -> None:
        """Sort the names: `ee.*`, fingers (a name with 'finger', two of them) or `gripper`.

        Raises:
            DatasetError: If they do not make a pose or a gripper.
        """
        self.names = tuple(names)
        index = {name: i for i, name in enumerate(names) if name != IGNORED}
        self._fingers = [i for n, i in index.items() if 'finger' in n]
        self._opening = index.get(OPENING)
        own = {n for n in index if n.startswith('ee.')} | {OPENING}
        self._joints = [i for n, i in index.items() if n not in own and i not in self._fingers]
        self._position = [index[n] for n in _POSITION if n in index]
        self._turn = next((k for k, ns in _TURNS.items() if all(n in index for n in ns)), '')
        self._turns = [index[n] for n in _TURNS.get(self._turn, ())]
        self.has_pose = len(self._position) == 3 and bool(self._turn)
        self.joint_names = self._sorted_names()

    def _sorted_names(self) -> tuple[str, ...]:
        told = f'the state has {", ".join(self.names)}'
        if any(n.startswith('ee.') for n in self.names) and not self.has_pose:
            ways = '; or '.join(' '.join(ns) for ns in _TURNS.values())
            raise DatasetError(f'{told}: no pose; allowed: ee.x ee.y ee.z with {ways}')
        if len(self._fingers) not in (0, 2) or (self._fingers and self._opening is not None):
            raise DatasetError(f'{told}; allowed: two fingers, or gripper')
        fingers = tuple(self.names[i] for i in self._fingers)
        if self._opening is not None:
            fingers = FINGERS
        if self._joints and not fingers:
            raise DatasetError(
                f'{told}: no gripper; name its entries by --state-names, with two fingers '
                f'({FINGERS[0]}, {FINGERS[1]}) or gripper (opening in m), {IGNORED} for the rest'
            )
        return (*(self.names[i] for i in self._joints), *fingers)

    def joints(self, row: Float64) -> Float64:
        """Return positions in the order of `joint_names`; fingers are positive when open."""
        if self._opening is not None:
            fingers = np.full(2, row[self._opening] / 2.0)
        else:
            fingers = np.abs(row[self._fingers])  # robosuite has one finger negative
        return np.concatenate([row[self._joints], fingers])

    def pose(self, row: Float64) -> Float64:
        """Return position (m) and quaternion xyzw, (7,)."""
        turn = row[self._turns]
        if self._turn == 'axis-angle':
            turn = Rotation.from_rotvec(turn).as_quat()
        elif self._turn == 'fixed axes':
            turn = Rotation.from_euler('xyz', turn).as_quat()
        return np.concatenate([row[self._position], turn])
