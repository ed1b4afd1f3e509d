"""What breaks the contract is refused with one line that names message and field."""

from __future__ import annotations

import array
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='needs the ROS 2 wheels: make install')

from geometry_msgs.msg import PoseStamped
from sensor_msgs.msg import Image
from sensor_msgs.msg import JointState

from structrl_ros import types
from structrl_ros.errors import MessageError
from structrl_ros.wire import body_codecs
from structrl_ros.wire import chunk_codecs
from structrl_ros.wire import image_codecs
from structrl_ros.wire import plan_codecs
from structrl_ros.wire import proprioception_codecs
from structrl_ros.wire import reward_codecs
from structrl_ros.wire import stamps
from structrl_ros.wire import task_codecs

pytestmark = pytest.mark.ros

CHUNK = types.ActionChunk(1, 1, 1, 'policy', 'ee_delta_pose', 0.05, np.zeros((2, 7), np.float32))
DONE = types.ChunkDone(1, 1, 1, 2, False, False, False, np.zeros((2, 7), np.float32))
VERDICT = types.Verdict(1, 1, 0, 'a', True, 0.5, 0.1, 'rules')
PREDICATES = types.Predicates(1, 1, 1, 10, ('a', 'b'), (True, False), False)
PROGRESS = types.Progress(1, 1, 1, 0.0, 0.0, 0.0, False, 0.0, 0.0, 0.0, True)
REWARD = types.Reward(1, 1, 1, 0.0, (('gate', 0.0),), 0.0, False, False)
PLAN = types.Plan(1, 1, 'tidy', (types.Subtask('a', 'b', 'pick', (), 0),))
STATE = types.Proprioception(
    stamp_ns=1,
    joint_names=('j1',),
    joint_positions=np.zeros(1),
    joint_velocities=np.zeros(1),
    ee_pose=np.array([0.0, 0, 0, 0, 0, 0, 1]),
    gripper=np.zeros(2),
)
SIMULATOR = types.SimulatorState(1, 1, 1, 1, 'libero_10/0', 0, 0, np.zeros(3))


def actions_with(value: float) -> types.Float32:
    actions = np.zeros((2, 7), np.float32)
    actions[1, 3] = value
    return actions


@pytest.mark.parametrize(
    ('encode', 'value', 'line'),
    [
        (
            chunk_codecs.action_chunk_to_message,
            replace(CHUNK, actions=actions_with(np.nan)),
            'ActionChunk.actions[10] is nan; allowed: finite numbers',
        ),
        (
            chunk_codecs.action_chunk_to_message,
            replace(CHUNK, actions=np.zeros(7, np.float32)),
            'ActionChunk.actions has shape (7,); allowed: (K, D) with K, D >= 1',
        ),
        (
            chunk_codecs.action_chunk_to_message,
            replace(CHUNK, step_period=-0.05),
            'ActionChunk.step_period is -0.05 s; allowed: positive seconds',
        ),
        (
            chunk_codecs.action_chunk_to_message,
            replace(CHUNK, source='robot'),
            "ActionChunk.source is 'robot'; allowed: policy, teleop, expert, replay",
        ),
        (
            chunk_codecs.action_chunk_to_message,
            replace(CHUNK, chunk=-1),
            'ActionChunk.chunk is -1; allowed: integers 0 to 4294967295',
        ),
        (
            chunk_codecs.chunk_done_to_message,
            replace(DONE, executed_steps=3),
            'ChunkDone.executed has shape (2, 7); allowed: (3, D)',
        ),
        (
            chunk_codecs.intervention_to_message,
            types.Intervention(1, 1, True, 'spacemouse', np.full(7, np.inf, np.float32)),
            'Intervention.action[0] is inf; allowed: finite numbers',
        ),
        (
            plan_codecs.verdict_to_message,
            replace(VERDICT, confidence=1.5),
            'Verdict.confidence is 1.5; allowed: 0 to 1',
        ),
        (
            plan_codecs.verdict_to_message,
            replace(VERDICT, latency=-0.1),
            'Verdict.latency is -0.1 s; allowed: zero or positive seconds',
        ),
        (
            plan_codecs.plan_to_message,
            replace(PLAN, subtasks=PLAN.subtasks * 2000),
            'Plan.subtasks has 2000 entries; allowed: at most 1024',
        ),
        (
            plan_codecs.plan_to_message,
            replace(PLAN, reasoning='x' * 70_000),
            'Plan.reasoning has 70000 characters; allowed: at most 65536',
        ),
        (
            plan_codecs.plan_to_message,
            replace(PLAN, instruction='a\0b'),
            'Plan.instruction holds a NUL character; allowed: text without NUL',
        ),
        (
            plan_codecs.plan_to_message,
            replace(PLAN, stamp_ns=-1),
            'stamp is -1 ns; allowed: 0 to 2147483647 s',
        ),
        (
            reward_codecs.predicates_to_message,
            replace(PREDICATES, values=(True,)),
            'Predicates.values has 1 entries; allowed: one a name, 2',
        ),
        (
            reward_codecs.predicates_to_message,
            replace(PREDICATES, names=('a', 'a')),
            "Predicates.names holds 'a' twice; allowed: each name once",
        ),
        (
            reward_codecs.progress_to_message,
            replace(PROGRESS, hop_forward=-1.5),
            'Progress.hop_forward is -1.5; allowed: -1 to 1',
        ),
        (
            reward_codecs.reward_to_message,
            replace(REWARD, terms=(('gate', float('nan')),)),
            'Reward.terms[gate] is nan; allowed: finite numbers',
        ),
        (
            body_codecs.simulator_state_to_message,
            replace(SIMULATOR, state=np.array([0.0, np.nan])),
            'SimulatorState.state[1] is nan; allowed: finite numbers',
        ),
        (
            proprioception_codecs.proprioception_to_messages,
            replace(STATE, ee_pose=np.full(7, np.nan)),
            'PoseStamped.pose[0] is nan; allowed: finite numbers',
        ),
        (
            proprioception_codecs.proprioception_to_messages,
            replace(STATE, ee_pose=np.zeros(7)),
            'PoseStamped.orientation has length 0.0000; allowed: unit quaternions (xyzw)',
        ),
        (
            proprioception_codecs.proprioception_to_messages,
            replace(STATE, joint_positions=np.zeros(2)),
            'JointState.position has shape (2,); allowed: (1,)',
        ),
        (
            task_codecs.task_to_goal,
            types.JsonObject(),
            'ExecuteTask.instruction is dict; allowed: str',
        ),
    ],
)
def test_encoding_refuses_with_one_line(encode: Any, value: Any, line: str) -> None:
    with pytest.raises(MessageError) as error:
        encode(value)
    assert str(error.value) == line


def received_chunk(**fields: Any) -> Any:
    message = chunk_codecs.action_chunk_to_message(CHUNK)
    for name, value in fields.items():
        setattr(message, name, value)
    return message


@pytest.mark.parametrize(
    ('fields', 'line'),
    [
        (
            {'data': array.array('f', [0.0] * 13)},
            'ActionChunk.data has 13 values; allowed: length x dimension = 2 x 7 = 14, at least 1',
        ),
        (
            {'data': array.array('f'), 'length': 0},
            'ActionChunk.data has 0 values; allowed: length x dimension = 0 x 7 = 0, at least 1',
        ),
        (
            {'data': array.array('f', [float('-inf')] * 14)},
            'ActionChunk.data[0] is -inf; allowed: finite numbers',
        ),
        (
            {'data': array.array('f', bytes(4 * (2**20 + 1)))},
            'ActionChunk.data has 1048577 entries; allowed: at most 1048576',
        ),
        (
            {'step_period': float('nan')},
            'ActionChunk.step_period is nan; allowed: finite numbers',
        ),
        ({'step_period': 0.0}, 'ActionChunk.step_period is 0.0 s; allowed: positive seconds'),
        ({'source': ''}, "ActionChunk.source is ''; allowed: policy, teleop, expert, replay"),
    ],
)
def test_a_received_chunk_is_checked(fields: dict[str, Any], line: str) -> None:
    with pytest.raises(MessageError) as error:
        chunk_codecs.action_chunk_from_message(received_chunk(**fields))
    assert str(error.value) == line


def test_received_messages_of_other_kinds_are_checked() -> None:
    done = chunk_codecs.chunk_done_to_message(DONE)
    done.executed_steps = 3
    with pytest.raises(MessageError, match='multiple of executed_steps = 3'):
        chunk_codecs.chunk_done_from_message(done)
    episode = body_codecs.episode_to_message(types.Episode(1, 1, False, 'b', 't', 'i', 0, 0))
    episode.phase = 7
    with pytest.raises(MessageError, match=r'Episode\.phase is 7'):
        body_codecs.episode_from_message(episode)
    safety = body_codecs.safety_to_message(types.Safety(1, types.SafetyState.OK, ''))
    safety.state = 9
    with pytest.raises(MessageError, match=r'Safety\.state is 9; allowed: 0 \(ok\), 1 \(hold\)'):
        body_codecs.safety_from_message(safety)
    safety.header.stamp.sec = -5
    with pytest.raises(MessageError, match='stamp is sec -5'):
        stamps.stamp_from_header(safety.header)


def test_a_chunk_that_ran_no_step_has_no_rows() -> None:
    none = replace(DONE, executed_steps=0, executed=np.zeros((0, 7), np.float32))
    got = chunk_codecs.chunk_done_from_message(chunk_codecs.chunk_done_to_message(none))
    assert got.executed_steps == 0
    assert got.executed.shape == (0, 0)


def test_a_lone_joint_state_without_fingers_is_refused() -> None:
    message = JointState(name=['j1'], position=[0.0], velocity=[0.0])
    with pytest.raises(MessageError, match=r'JointState\.name has 1 entries; allowed: 2 or more'):
        proprioception_codecs.proprioception_from_messages(message, PoseStamped())


@pytest.mark.parametrize(
    ('velocity', 'line'),
    [
        ([0.0] * 8, 'JointState.velocity has shape (8,); allowed: (9,)'),
        ([0.0] * 8 + [np.nan], 'JointState.velocity[8] is nan; allowed: finite numbers'),
    ],
)
def test_joints_are_as_many_as_the_robot_has_and_finite(velocity: list[float], line: str) -> None:
    message = JointState(position=[0.1] * 9, velocity=velocity)
    with pytest.raises(MessageError) as error:
        proprioception_codecs.joints_from_message(message, 9)
    assert str(error.value) == line


def test_the_stamp_of_proprioception_is_the_oldest_of_its_messages() -> None:
    sent = proprioception_codecs.proprioception_to_messages(STATE)
    sent.joint_states.header.stamp.sec = 5
    got = proprioception_codecs.proprioception_from_messages(sent.joint_states, sent.ee_pose)
    assert got.stamp_ns == 1


@pytest.mark.parametrize(
    ('encoding', 'pixel', 'want'),
    [
        ('rgb8', (10, 20, 30), (10, 20, 30)),
        ('bgr8', (10, 20, 30), (30, 20, 10)),
        ('8UC3', (10, 20, 30), (30, 20, 10)),
        ('mono8', (10,), (10, 10, 10)),
        ('8UC1', (10,), (10, 10, 10)),
    ],
)
def test_images_of_other_encodings_with_padded_rows_are_read(
    encoding: str, pixel: tuple[int, ...], want: tuple[int, ...]
) -> None:
    row = bytes(pixel) * 4 + b'\xff\xff\xff'
    message = Image(height=2, width=4, step=len(row), encoding=encoding)
    message.data = array.array('B', row * 2)
    _, image = image_codecs.image_from_message(message)
    assert image.shape == (2, 4, 3)
    assert (image == np.array(want, np.uint8)).all()


@pytest.mark.parametrize(
    ('fields', 'line'),
    [
        ({'encoding': 'hsv8'}, "Image.encoding is 'hsv8'; allowed: rgb8, bgr8, 8UC3, mono8"),
        ({'step': 11}, 'Image.step is 11; allowed: at least 12'),
        ({'height': 3}, 'Image.data has 24 bytes; allowed: height x step = 36'),
        ({'width': 0}, 'Image is 0 x 2; allowed: sides 1 to 8192'),
    ],
)
def test_broken_images_are_refused(fields: dict[str, Any], line: str) -> None:
    message = image_codecs.image_to_message(np.zeros((2, 4, 3), np.uint8), 1)
    for name, value in fields.items():
        setattr(message, name, value)
    with pytest.raises(MessageError) as error:
        image_codecs.image_from_message(message)
    assert str(error.value).startswith(line)


@pytest.mark.parametrize('shape', [(4, 4), (4, 4, 4), (0, 4, 3), (9000, 1, 3)])
def test_arrays_that_are_no_rgb_image_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(MessageError, match=r'Image\.data has shape'):
        image_codecs.image_to_message(np.zeros(shape, np.uint8), 1)


def test_float_images_are_refused() -> None:
    with pytest.raises(MessageError, match=r'Image\.data is float32; allowed: uint8'):
        image_codecs.image_to_message(np.zeros((2, 2, 3), np.float32), 1)  # type: ignore[arg-type]


def test_camera_info_of_a_right_angle_view_has_focal_length_of_half_the_height() -> None:
    info = image_codecs.camera_info_to_message(1, 'head_optical', 320, 200, np.pi / 2)
    assert info.k[0] == pytest.approx(100.0)
    assert (info.k[2], info.k[5]) == (159.5, 99.5)
    with pytest.raises(MessageError, match='field of view is 0'):
        image_codecs.camera_info_to_message(1, 'head_optical', 320, 200, 0.0)
