"""Where a recorded arm was at given times, from messages out of order."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace as Fields

import numpy as np
import pytest

from structrl_ros.recording import recorded_arm as module
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


@pytest.fixture
def bag(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[Fields]]:
    """Messages by topic, which the reader of every bag then holds."""
    messages: dict[str, list[Fields]] = {}
    reader = Fields(
        topics=messages,
        raw_messages=lambda topics: [m for topic in topics for m in messages[topic]],
        decode=lambda message: message,
    )
    monkeypatch.setattr(module, 'BagReader', lambda path: reader)
    return messages


def test_the_newest_message_up_to_each_time_counts(bag: dict[str, list[Fields]]) -> None:
    bag['/observation/ee_pose'] = [pose(3, 0.3), pose(1, 0.1), pose(2, 0.2)]
    bag['/observation/joint_states'] = [joints(1, 0.04), joints(2, 0.01)]
    found = recorded_arm(Path('bag'), [SECOND, 5 * SECOND // 2, 9 * SECOND])
    assert found[:, 0].tolist() == [0.1, 0.2, 0.3]
    assert found[:, 4].tolist() == [1.0, 0.25, 0.25]


def test_nothing_is_told_where_a_topic_is_missing_or_begins_too_late(
    bag: dict[str, list[Fields]],
) -> None:
    bag['/observation/ee_pose'] = [pose(2, 0.2)]
    assert recorded_arm(Path('bag'), [3 * SECOND]).shape == (0, 5)
    bag['/observation/joint_states'] = [joints(2, 0.04)]
    assert recorded_arm(Path('bag'), [3 * SECOND]).shape == (1, 5)
    assert recorded_arm(Path('bag'), [SECOND]).shape == (0, 5)
