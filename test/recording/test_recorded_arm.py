"""Where a recorded arm was at given times, from messages out of order."""

from __future__ import annotations

from types import SimpleNamespace as Fields
from typing import Any

import numpy as np

from structrl_ros.recording.recorded_arm import recorded_arm

SECOND = 1_000_000_000


def header(stamp_s: int) -> Fields:
    return Fields(stamp=Fields(sec=stamp_s, nanosec=0))


def pose(stamp_s: int, x: float, yaw: float = 0.0) -> Fields:
    """A hand that looks down and is turned by a yaw: half a turn about x after that about z."""
    turn = Fields(x=np.cos(yaw / 2), y=np.sin(yaw / 2), z=0.0, w=0.0)
    at = Fields(x=x, y=0.0, z=0.1)
    return Fields(header=header(stamp_s), pose=Fields(position=at, orientation=turn))


def joints(stamp_s: int, finger: float) -> Fields:
    return Fields(header=header(stamp_s), position=[0.0] * 7 + [finger, finger])


def reader(**messages: list[Fields]) -> Any:
    """Return what reads these messages, by the last word of their topic."""
    by_topic = {f'/observation/{name}': found for name, found in messages.items()}
    return Fields(
        topics=by_topic,
        raw_messages=lambda topics: [m for topic in topics for m in by_topic[topic]],
        decode=lambda message: message,
    )


def test_the_newest_message_up_to_each_time_counts() -> None:
    bag = reader(
        ee_pose=[pose(3, 0.3), pose(1, 0.1), pose(2, 0.2)],
        joint_states=[joints(1, 0.04), joints(2, 0.01)],
    )
    found = recorded_arm(bag, [SECOND, 5 * SECOND // 2, 9 * SECOND])
    assert found[:, 0].tolist() == [0.1, 0.2, 0.3]
    assert found[:, 4].tolist() == [1.0, 0.25, 0.25]


def test_nothing_is_told_where_a_topic_is_missing_or_begins_too_late() -> None:
    poses, fingers = [pose(2, 0.2)], [joints(2, 0.04)]
    assert recorded_arm(reader(ee_pose=poses), [3 * SECOND]).shape == (0, 5)
    whole = reader(ee_pose=poses, joint_states=fingers)
    assert recorded_arm(whole, [3 * SECOND]).shape == (1, 5)
    assert recorded_arm(whole, [SECOND]).shape == (0, 5)
