"""Messages of anybody: whatever is in their fields, a decoder gives a value or one clear line."""

import importlib
import math
import random

import pytest

pytest.importorskip('rclpy', reason='needs the ROS 2 wheels: make install')
pytest.importorskip('structrl_msgs', reason='needs structrl_msgs: make install')

from structrl_ros.errors import MessageError
from structrl_ros.wire import body_codecs
from structrl_ros.wire import chunk_codecs
from structrl_ros.wire import image_codecs
from structrl_ros.wire import plan_codecs
from structrl_ros.wire import reward_codecs
from structrl_ros.wire import task_codecs
from structrl_ros.wire import topics
from structrl_ros.wire.proprioception_codecs import proprioception_from_messages
from structrl_ros.wire.qos import message_type

pytestmark = pytest.mark.ros

TURNS = 300
REALS = (0.0, -0.0, 1.0, -1.0, 1e30, -1e30, math.nan, math.inf, -math.inf)
WORDS = (
    '',
    'x',
    'a' * 5000,
    'grasp(cup)',
    '\u202e\n',
    'ee_delta_pose',
    'rgb8',
    'policy',
    'expert',
)
DECODERS = {
    'episode': body_codecs.episode_from_message,
    'safety': body_codecs.safety_from_message,
    'privileged/state': body_codecs.simulator_state_from_message,
    'action_chunk': chunk_codecs.action_chunk_from_message,
    'chunk_done': chunk_codecs.chunk_done_from_message,
    'intervention': chunk_codecs.intervention_from_message,
    'observation/head/image': image_codecs.image_from_message,
    'observation/head/camera_info': image_codecs.intrinsics_from_message,
    'plan': plan_codecs.plan_from_message,
    'verdict': plan_codecs.verdict_from_message,
    'subtask': plan_codecs.subtask_status_from_message,
    'predicates': reward_codecs.predicates_from_message,
    'reward': reward_codecs.reward_from_message,
    'progress': reward_codecs.progress_from_message,
    '/diagnostics': task_codecs.health_from_message,
}


def integer(kind, rng):
    signed, bits = not kind.startswith('u'), int(kind.lstrip('uint'))
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    return rng.choice((0, 1, 2, 3, 7, low, high, rng.randint(low, min(high, 300))))


def scalar(kind, rng):
    if kind in ('float', 'double'):
        return rng.choice(REALS if kind == 'double' else REALS[:4] + REALS[6:])
    if kind == 'boolean':
        return rng.random() < 0.5
    if kind in ('octet', 'uint8', 'int8', 'byte', 'char'):
        return bytes([rng.randint(0, 255)]) if kind == 'octet' else integer('uint8', rng)
    if kind.startswith(('int', 'uint')):
        return integer(kind, rng)
    if kind.startswith('string'):
        return rng.choice(WORDS)
    package, _, name = kind.partition('/')
    return filled(getattr(importlib.import_module(f'{package}.msg'), name), rng)


def filled(kind, rng):
    """Return a message with something in every field."""
    message = kind()
    for name, text in kind.get_fields_and_field_types().items():
        if text.startswith('sequence<'):
            inner = text[len('sequence<') : -1].split(',')[0].strip()
            value = [scalar(inner, rng) for _ in range(rng.choice((0, 1, 2, 3, 14, 24)))]
        elif text.endswith(']'):
            inner, count = text[:-1].split('[')
            value = [scalar(inner, rng) for _ in range(int(count))]
        else:
            value = scalar(text, rng)
        setattr(message, name, value)
    return message


@pytest.mark.parametrize('topic', sorted(DECODERS))
def test_whatever_a_message_holds_it_is_a_value_or_one_line(topic):
    rng, refused = random.Random(topic), 0
    for _ in range(TURNS):
        message = filled(message_type(topic), rng)
        try:
            DECODERS[topic](message)
        except MessageError as error:
            refused += 1
            assert '\n' not in str(error)
            assert len(str(error)) < 510
    assert refused > 0 or topic == '/diagnostics', "whose levels are anybody's"


def test_whatever_an_arm_says_it_is_a_state_or_one_line():
    rng, refused = random.Random(0), 0
    for _ in range(TURNS):
        parts = (filled(message_type(t), rng) for t in (topics.JOINT_STATES, topics.EE_POSE))
        try:
            proprioception_from_messages(*parts)
        except MessageError as error:
            refused += 1
            assert '\n' not in str(error)
    assert refused > 0
