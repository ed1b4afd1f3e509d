"""Where a recorded arm was at given times: tool position, yaw and opening of the hand."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
from typing import Any

import numpy as np

from structrl_ros.control.rotations import matrix_from_quaternion
from structrl_ros.recording.bag_reader import BagReader
from structrl_ros.recording.decoding import time_ns
from structrl_ros.types import Float64

#: How far each finger of a Franka Hand opens, m.
FINGER_OPEN_M = 0.04


def recorded_arm(reader: BagReader, stamps: Sequence[int]) -> Float64:
    """Return position (m), yaw (rad) and opening (0 to 1) at each time, shape (n, 5).

    The newest message up to each time counts. Where the pose or the fingers were not recorded by
    the first one, nothing is returned, shape (0, 5).

    Raises:
        BagError: If the bag is damaged.
    """
    poses = _newest(reader, 'observation/ee_pose', stamps, _pose)
    openings = _newest(reader, 'observation/joint_states', stamps, _opening)
    if poses is None or openings is None:
        return np.zeros((0, 5))
    return np.concatenate([poses, openings], axis=1)


def _newest(
    reader: BagReader, ending: str, stamps: Sequence[int], read: Callable[[Any], list[float]]
) -> Float64 | None:
    topics = [topic for topic in reader.topics if topic.endswith(ending)]
    times, values = [], []
    for raw in reader.raw_messages(topics):
        message = reader.decode(raw)
        times.append(time_ns(message.header.stamp))
        values.append(read(message))
    order = np.argsort(times, kind='stable')
    places = np.searchsorted(np.asarray(times)[order], stamps, side='right') - 1
    if not times or (places < 0).any():
        return None
    return np.asarray(values, dtype=np.float64)[order][places]


def _pose(message: Any) -> list[float]:
    at, turn = message.pose.position, message.pose.orientation
    hand = matrix_from_quaternion(np.array([turn.x, turn.y, turn.z, turn.w]))
    return [at.x, at.y, at.z, float(np.arctan2(hand[1, 1], hand[0, 1]))]


def _opening(message: Any) -> list[float]:
    fingers = np.asarray(message.position, dtype=np.float64)[-2:]
    return [float(np.clip(fingers.sum() / (2.0 * FINGER_OPEN_M), 0.0, 1.0))]
