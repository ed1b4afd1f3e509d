"""Every codec gives back, bit for bit, what it was given, through the serialised message too."""

from __future__ import annotations

from dataclasses import fields
from dataclasses import is_dataclass
from typing import Any

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='needs the ROS 2 wheels: make install')

from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as stn
from rclpy.serialization import deserialize_message
from rclpy.serialization import serialize_message

from structrl_ros import types
from structrl_ros.wire import body_codecs
from structrl_ros.wire import chunk_codecs
from structrl_ros.wire import image_codecs
from structrl_ros.wire import plan_codecs
from structrl_ros.wire import proprioception_codecs
from structrl_ros.wire import reward_codecs
from structrl_ros.wire import stamps
from structrl_ros.wire import task_codecs

pytestmark = pytest.mark.ros

TEXT = st.text(st.characters(codec='utf-8', exclude_characters='\0'), max_size=20)
NAMES = st.lists(TEXT, max_size=4, unique=True).map(tuple)
STAMP = st.integers(0, 2**31 * 10**9 - 1)
U16 = st.integers(0, 2**16 - 1)
U32 = st.integers(0, 2**32 - 1)
U64 = st.integers(0, 2**64 - 1)
I32 = st.integers(-(2**31), 2**31 - 1)
FLAG = st.booleans()
REAL = st.floats(allow_nan=False, allow_infinity=False)
UNIT32 = st.floats(0.0, 1.0, width=32)
SIGNED_UNIT = st.floats(-1.0, 1.0)
SECONDS32 = st.floats(0.0, 1e6, width=32)
PERIOD = st.floats(1e-6, 10.0)
FLOAT32 = st.floats(allow_nan=False, allow_infinity=False, width=32)

SUBTASK = st.builds(types.Subtask, TEXT, TEXT, TEXT, NAMES, U16)


def matrix(rows: Any) -> Any:
    shape = st.tuples(rows, st.integers(1, 8))
    return shape.flatmap(lambda s: stn.arrays(np.float32, s, elements=FLOAT32))


def predicates(names: tuple[str, ...]) -> Any:
    values = st.tuples(*(FLAG for _ in names))
    return st.builds(types.Predicates, STAMP, U32, U32, U32, st.just(names), values, FLAG)


def chunk_done(executed: Any) -> Any:
    steps = st.just(executed.shape[0])
    flags = (FLAG, FLAG, FLAG)
    return st.builds(types.ChunkDone, STAMP, U32, U32, steps, *flags, st.just(executed))


CASES = {
    'Subtask': (plan_codecs.subtask_to_message, plan_codecs.subtask_from_message, SUBTASK),
    'Plan': (
        plan_codecs.plan_to_message,
        plan_codecs.plan_from_message,
        st.builds(
            types.Plan, STAMP, U32, TEXT, st.lists(SUBTASK, max_size=3).map(tuple), TEXT, TEXT
        ),
    ),
    'Verdict': (
        plan_codecs.verdict_to_message,
        plan_codecs.verdict_from_message,
        st.builds(types.Verdict, STAMP, U32, U16, TEXT, FLAG, UNIT32, SECONDS32, TEXT, FLAG),
    ),
    'SubtaskStatus': (
        plan_codecs.subtask_status_to_message,
        plan_codecs.subtask_status_from_message,
        st.builds(types.SubtaskStatus, STAMP, U32, U32, U32, TEXT, NAMES, NAMES, NAMES),
    ),
    'ActionChunk': (
        chunk_codecs.action_chunk_to_message,
        chunk_codecs.action_chunk_from_message,
        st.builds(
            types.ActionChunk,
            *(STAMP, U32, U32, st.sampled_from(types.SOURCES), TEXT, PERIOD),
            matrix(st.integers(1, 16)),
        ),
    ),
    'ChunkDone': (
        chunk_codecs.chunk_done_to_message,
        chunk_codecs.chunk_done_from_message,
        matrix(st.integers(1, 16)).flatmap(chunk_done),
    ),
    'Intervention': (
        chunk_codecs.intervention_to_message,
        chunk_codecs.intervention_from_message,
        st.builds(
            types.Intervention,
            *(STAMP, U32, FLAG, TEXT),
            stn.arrays(np.float32, st.integers(0, 8), elements=FLOAT32),
        ),
    ),
    'Predicates': (
        reward_codecs.predicates_to_message,
        reward_codecs.predicates_from_message,
        NAMES.flatmap(predicates),
    ),
    'Reward': (
        reward_codecs.reward_to_message,
        reward_codecs.reward_from_message,
        st.builds(
            types.Reward,
            *(STAMP, U32, U32, REAL),
            st.lists(st.tuples(TEXT, REAL), max_size=4).map(tuple),
            *(REAL, FLAG, FLAG),
        ),
    ),
    'Progress': (
        reward_codecs.progress_to_message,
        reward_codecs.progress_from_message,
        st.builds(
            types.Progress,
            *(STAMP, U32, U32, SIGNED_UNIT, SIGNED_UNIT, SIGNED_UNIT, FLAG),
            *(SIGNED_UNIT, REAL, SECONDS32, FLAG),
        ),
    ),
    'Episode': (
        body_codecs.episode_to_message,
        body_codecs.episode_from_message,
        st.builds(
            types.Episode,
            *(STAMP, U32, FLAG, TEXT, TEXT, TEXT, U64, I32, FLAG, TEXT, NAMES),
        ),
    ),
    'Safety': (
        body_codecs.safety_to_message,
        body_codecs.safety_from_message,
        st.builds(types.Safety, STAMP, st.sampled_from(types.SafetyState), TEXT),
    ),
    'SimulatorState': (
        body_codecs.simulator_state_to_message,
        body_codecs.simulator_state_from_message,
        st.builds(
            types.SimulatorState,
            *(STAMP, U32, U32, U32, TEXT, U64, I32),
            stn.arrays(np.float64, st.integers(0, 40), elements=REAL),
        ),
    ),
}


def assert_bit_equal(got: Any, want: Any) -> None:
    assert type(got) is type(want)
    if is_dataclass(want):
        for field in fields(want):
            assert_bit_equal(getattr(got, field.name), getattr(want, field.name))
    elif isinstance(want, np.ndarray):
        assert got.dtype == want.dtype
        assert got.shape == want.shape
        assert got.tobytes() == want.tobytes()
    elif isinstance(want, float):
        assert got.hex() == want.hex()
    elif isinstance(want, tuple):
        assert len(got) == len(want)
        for mine, theirs in zip(got, want, strict=True):
            assert_bit_equal(mine, theirs)
    else:
        assert got == want


def over_the_wire(message: Any) -> Any:
    return deserialize_message(serialize_message(message), type(message))


@pytest.mark.parametrize('name', CASES)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_codec_gives_back_what_it_was_given(name: str, data: Any) -> None:
    encode, decode, strategy = CASES[name]
    value = data.draw(strategy)
    message = encode(value)
    assert type(message).__name__ == name
    assert_bit_equal(decode(message), value)
    assert_bit_equal(decode(over_the_wire(message)), value)


def test_every_message_dataclass_has_a_codec() -> None:
    messages = {
        name
        for name, kind in vars(types).items()
        if is_dataclass(kind) and 'stamp_ns' in {f.name for f in fields(kind)}
    }
    assert messages - set(CASES) == {'Proprioception', 'Observation'}


@settings(max_examples=40, deadline=None)
@given(data=st.data(), with_wrench=FLAG)
def test_proprioception_survives_its_three_messages(data: Any, with_wrench: bool) -> None:
    names = data.draw(NAMES)
    vector = lambda size: data.draw(stn.arrays(np.float64, size, elements=REAL))  # noqa: E731
    axis = data.draw(stn.arrays(np.float64, 4, elements=st.floats(0.1, 1.0)))
    pose = np.concatenate([vector(3), axis / np.linalg.norm(axis)])
    state = types.Proprioception(
        stamp_ns=data.draw(STAMP),
        joint_names=names,
        joint_positions=vector(len(names)),
        joint_velocities=vector(len(names)),
        ee_pose=pose,
        gripper=vector(2),
        wrench=vector(6) if with_wrench else None,
    )
    sent = proprioception_codecs.proprioception_to_messages(state)
    parts = [sent.joint_states, sent.ee_pose, sent.wrench]
    received = [None if part is None else over_the_wire(part) for part in parts]
    assert_bit_equal(proprioception_codecs.proprioception_from_messages(*received), state)


@settings(max_examples=25, deadline=None)
@given(
    stamp_ns=STAMP,
    image=st.tuples(st.integers(1, 9), st.integers(1, 9), st.just(3)).flatmap(
        lambda shape: stn.arrays(np.uint8, shape)
    ),
)
def test_image_survives_its_message(stamp_ns: int, image: Any) -> None:
    message = over_the_wire(image_codecs.image_to_message(image, stamp_ns, 'head_optical'))
    assert message.header.frame_id == 'head_optical'
    got_stamp, got = image_codecs.image_from_message(message)
    assert got_stamp == stamp_ns
    assert_bit_equal(got, image)


@given(stamp_ns=STAMP)
def test_stamps_keep_every_nanosecond(stamp_ns: int) -> None:
    assert stamps.time_from_message(stamps.time_to_message(stamp_ns)) == stamp_ns
    assert stamps.clock_from_message(stamps.clock_to_message(stamp_ns)) == stamp_ns


@given(task=TEXT, seed=U64, initial_state=I32)
def test_reset_request_gives_back_its_arguments(task: str, seed: int, initial_state: int) -> None:
    request = over_the_wire(body_codecs.reset_to_request(task, seed, initial_state))
    assert body_codecs.reset_from_request(request) == (task, seed, initial_state)


@given(instruction=TEXT, time_limit=st.floats(0.0, 1e6))
def test_task_goal_gives_back_its_arguments(instruction: str, time_limit: float) -> None:
    goal = over_the_wire(task_codecs.task_to_goal(instruction, time_limit))
    assert task_codecs.task_from_goal(goal) == (instruction, time_limit)


def test_health_gives_back_its_values() -> None:
    message = task_codecs.health_to_message(
        5, 'planner_node: monitor', task_codecs.HealthLevel.WARN, '2.8 Hz', {'rate_hz': 2.8}
    )
    assert task_codecs.health_from_message(over_the_wire(message)) == [
        ('planner_node: monitor', task_codecs.HealthLevel.WARN, '2.8 Hz', {'rate_hz': '2.8'})
    ]


def test_task_result_carries_the_plan() -> None:
    plan = types.Plan(7, 2, 'tidy up', (types.Subtask('a', 'b', 'pick', ('mug',), 0),))
    result = task_codecs.task_result(False, 'no time left', plan, episode_return=0.5, replans=1)
    received = over_the_wire(result)
    assert plan_codecs.plan_from_message(received.plan) == plan
    assert (received.success, received.reason, received.replans) == (False, 'no time left', 1)
    feedback = over_the_wire(task_codecs.task_feedback('a', 0, 1, episode_return=0.25))
    assert (feedback.current, feedback.total, feedback.episode_return) == ('a', 1, 0.25)
