"""The dataclasses of `types` as serialised messages, without ROS: the reverse of `decoding`."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
from rosbags.serde import SerdeError

from structrl_ros.errors import BagError
from structrl_ros.recording.decoding import SECOND_NS
from structrl_ros.recording.message_types import message_types
from structrl_ros.types import ActionChunk
from structrl_ros.types import ChunkDone
from structrl_ros.types import Episode
from structrl_ros.types import Intervention
from structrl_ros.types import Plan
from structrl_ros.types import Reward
from structrl_ros.types import Subtask
from structrl_ros.types import SubtaskStatus
from structrl_ros.types import UInt8

#: Kinds that `encode` knows.
Encodable = Episode | Plan | SubtaskStatus | Reward | ActionChunk | ChunkDone | Intervention


def encode(value: Encodable) -> bytes:
    """Return a value as the CDR of `structrl_msgs/msg/<its class>`.

    Raises:
        BagError: If a field does not fit the message.
    """
    fields = {f: getattr(value, f) for f in value.__dataclass_fields__ if f != 'stamp_ns'}
    if isinstance(value, Plan):
        fields['subtasks'] = [_subtask(s) for s in value.subtasks]
    elif isinstance(value, Reward):
        fields['terms'] = [
            _new('structrl_msgs/msg/RewardTerm', name=n, value=v) for n, v in value.terms
        ]
    elif isinstance(value, Episode):
        fields['phase'] = int(fields.pop('ended'))
    elif isinstance(value, ActionChunk):
        actions = fields.pop('actions')
        fields['length'], fields['dimension'] = actions.shape
        fields['data'] = np.ascontiguousarray(actions, dtype=np.float32).ravel()
    elif isinstance(value, ChunkDone):
        fields['executed'] = np.ascontiguousarray(value.executed, dtype=np.float32).ravel()
    elif isinstance(value, Intervention):
        fields['action'] = np.asarray(value.action, dtype=np.float32)
    fields = {k: list(v) if isinstance(v, tuple) else v for k, v in fields.items()}
    name = f'structrl_msgs/msg/{type(value).__name__}'
    return _serialise(name, header=_header(value.stamp_ns, ''), **fields)


def encode_clock(stamp_ns: int) -> bytes:
    """Return a rosgraph_msgs/Clock."""
    return _serialise('rosgraph_msgs/msg/Clock', clock=_time(stamp_ns))


def encode_image(stamp_ns: int, pixels: UInt8, frame: str) -> bytes:
    """Return a sensor_msgs/Image of an RGB picture (H, W, 3)."""
    height, width, _ = pixels.shape
    return _serialise(
        'sensor_msgs/msg/Image',
        header=_header(stamp_ns, frame),
        height=height,
        width=width,
        encoding='rgb8',
        is_bigendian=0,
        step=3 * width,
        data=np.ascontiguousarray(pixels).ravel(),
    )


def encode_joints(
    stamp_ns: int, names: Sequence[str], positions: Sequence[float], frame: str
) -> bytes:
    """Return a sensor_msgs/JointState; velocities are not known and zero."""
    return _serialise(
        'sensor_msgs/msg/JointState',
        header=_header(stamp_ns, frame),
        name=list(names),
        position=np.asarray(positions, dtype=np.float64),
        velocity=np.zeros(len(names)),
        effort=np.zeros(0),
    )


def encode_pose(stamp_ns: int, pose: Sequence[float], frame: str) -> bytes:
    """Return a geometry_msgs/PoseStamped of position (m) and quaternion xyzw."""
    x, y, z, qx, qy, qz, qw = (float(v) for v in pose)
    point = _new('geometry_msgs/msg/Point', x=x, y=y, z=z)
    turn = _new('geometry_msgs/msg/Quaternion', x=qx, y=qy, z=qz, w=qw)
    body = _new('geometry_msgs/msg/Pose', position=point, orientation=turn)
    return _serialise('geometry_msgs/msg/PoseStamped', header=_header(stamp_ns, frame), pose=body)


def _subtask(subtask: Subtask) -> Any:
    fields = {f: getattr(subtask, f) for f in subtask.__dataclass_fields__}
    return _new('structrl_msgs/msg/Subtask', **{**fields, 'arguments': list(subtask.arguments)})


def _header(stamp_ns: int, frame: str) -> Any:
    return _new('std_msgs/msg/Header', stamp=_time(stamp_ns), frame_id=frame)


def _time(stamp_ns: int) -> Any:
    seconds, nanoseconds = divmod(int(stamp_ns), SECOND_NS)
    return _new('builtin_interfaces/msg/Time', sec=seconds, nanosec=nanoseconds)


def _new(msgtype: str, **fields: Any) -> Any:
    return message_types().types[msgtype](**fields)


def _serialise(msgtype: str, **fields: Any) -> bytes:
    try:
        return bytes(message_types().serialize_cdr(_new(msgtype, **fields), msgtype))
    except (SerdeError, struct.error, TypeError, ValueError, AttributeError) as error:
        raise BagError(f'{msgtype} cannot be written: {error}') from error
