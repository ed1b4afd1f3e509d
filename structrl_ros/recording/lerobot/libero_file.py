"""LIBERO's human demonstrations (HDF5, one file a task) as a bag.

The layout is that of LIBERO's own recorder: `data/demo_<n>` with `actions` (T, 7), `rewards`,
`dones`, and `obs` with `joint_states` (T, 7), `gripper_states` (T, 2), `ee_states` (T, 6; position
and axis times angle) and pictures that stand on their heads. The actions are robosuite's deltas in
[-1, 1] with the gripper last (-1 open): those of `ee_delta_pose`.

`ee_states` mix the place of the grip site with the orientation of the hand's body, both in the
world's frame. The contract wants the grip site in the base's frame, whose place is that of the
MuJoCo model that each demonstration keeps (`model_file`).
"""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from structrl_ros.errors import DatasetError
from structrl_ros.errors import ParameterError
from structrl_ros.recording.lerobot.demonstration import Demonstration
from structrl_ros.recording.lerobot.demonstration import StateLayout
from structrl_ros.recording.lerobot.importing import ImportReport
from structrl_ros.recording.lerobot.importing import Source
from structrl_ros.recording.lerobot.importing import write_bag
from structrl_ros.types import Float64
from structrl_ros.types import UInt8

#: The grip site of robosuite's Panda gripper as its hand's body sees it.
_HAND_TO_SITE = Rotation.from_euler('z', -90.0, degrees=True)
#: Camera role -> pictures in `obs`.
_CAMERAS = {'head': 'agentview_rgb', 'left_wrist': 'eye_in_hand_rgb'}
_STATE = (
    *(f'joint{i}' for i in range(1, 8)),
    'finger_joint1',
    'finger_joint2',
    *('ee.x', 'ee.y', 'ee.z', 'ee.rx', 'ee.ry', 'ee.rz'),
)


def import_libero_file(
    path: Path, out: Path, *, rate_hz: float = 20.0, chunk_length: int = 8
) -> ImportReport:
    """Write the demonstrations of a file as a bag; one whose last reward is paid is a success.

    Args:
        path: HDF5 file.
        out: Folder of the bag; it must not exist.
        rate_hz: Control rate; LIBERO's is 20 Hz.
        chunk_length: Steps of a chunk.

    Raises:
        DatasetError: If the file is missing, cut or of another layout.
        BagError: If the bag exists or the disk refuses.
        ParameterError: If the rate is not allowed.
    """
    if not 0.0 < rate_hz <= 1000.0:
        raise ParameterError(f'rate {rate_hz:g} Hz; allowed: above 0, up to 1000')
    if not path.is_file():
        raise DatasetError(f'{path} is missing')
    try:
        with h5py.File(path, 'r') as file:
            demonstrations = _demonstrations(file)
            roles = tuple(r for r, n in _CAMERAS.items() if n in demonstrations[0]['obs'])
            source = Source(
                body='libero',
                period_ns=round(1e9 / rate_hz),
                action_space='ee_delta_pose',
                layout=StateLayout(_STATE),
                roles=roles,
            )
            task = _instruction(file, path)
            found = _read(demonstrations, source, task, chunk_length)
            return write_bag(out, source, found)
    except (OSError, KeyError, ValueError, ElementTree.ParseError) as error:
        reason = str(error).strip('\'"')
        raise DatasetError(f'{path} is cut or no LIBERO file: {reason}') from None


def _demonstrations(file: Any) -> list[Any]:
    names = [n for n in file['data'] if n.startswith('demo_')]
    if not names:
        raise DatasetError(f'{file.filename} holds no demonstration; allowed: data/demo_0 and on')
    return [file['data'][n] for n in sorted(names, key=lambda n: int(n.removeprefix('demo_')))]


def _instruction(file: Any, path: Path) -> str:
    """Return the sentence that the file tells, else the one that its name is made of."""
    try:
        told = json.loads(file['data'].attrs['problem_info'])['language_instruction']
    except (KeyError, ValueError, TypeError):
        return path.stem.removesuffix('_demo').replace('_', ' ')
    return ''.join(told) if isinstance(told, list) else str(told)


def _read(groups: list[Any], source: Source, task: str, chunk: int) -> Iterator[Demonstration]:
    for group in groups:
        seen = group['obs']
        parts = [seen[n][()] for n in ('joint_states', 'gripper_states', 'ee_states')]
        state = np.concatenate(parts, axis=1).astype(np.float64)
        state[:, 9:] = _in_base(state[:, 9:], str(group.attrs['model_file']))
        action = group['actions'][()].astype(np.float32)
        length = len(action)
        if state.shape != (length, len(_STATE)) or action.shape != (length, 7) or not length:
            raise DatasetError(
                f'{group.name} has states {state.shape} and actions {action.shape}; '
                f'allowed: (T, {len(_STATE)}) and (T, 7)'
            )
        begin = np.arange(length, dtype=np.int64) * source.period_ns
        reward = group['rewards'][()].astype(np.float64)
        none = np.zeros(length, dtype=bool)
        last = np.arange(length) == length - 1
        success = last & (reward > 0.0)
        yield Demonstration(
            task=task,
            state=state,
            action=action,
            pictures={r: _Upright(seen, _CAMERAS[r]) for r in source.roles},
            reward=reward,
            done=last,
            truncated=last & ~success,
            success=success,
            intervention=none,
            begin_ns=begin,
            observed_ns=np.repeat(begin[:, None], 2 + len(source.roles), axis=1),
            chunk=1 + np.arange(length) // chunk,
            subtask=(),
            origin={},
        )


def _in_base(poses: Float64, model: str) -> Float64:
    """Return the grip site in the frame of the arm's base, of `ee_states` (T, 6)."""
    body = ElementTree.fromstring(model).find(".//body[@name='robot0_base']")
    if body is None:
        raise ValueError('model_file has no body robot0_base')
    place = np.array(body.get('pos', '0 0 0').split(), dtype=np.float64)
    w, x, y, z = (float(n) for n in body.get('quat', '1 0 0 0').split())
    inverse = Rotation.from_quat([x, y, z, w]).inv()
    turns = inverse * Rotation.from_rotvec(poses[:, 3:]) * _HAND_TO_SITE
    return np.concatenate([inverse.apply(poses[:, :3] - place), turns.as_rotvec()], axis=1)


@dataclass(frozen=True, slots=True)
class _Upright:
    """Pictures of a camera, turned upright."""

    seen: Any
    name: str

    def __call__(self) -> Iterator[UInt8]:
        rows: NDArray[Any] = self.seen[self.name]
        for i in range(len(rows)):
            yield np.ascontiguousarray(rows[i][::-1])
