"""Recorded messages to dataclasses: field by field, and clear refusals."""

from types import SimpleNamespace

import numpy as np
import pytest

from structrl_ros.errors import BagError
from structrl_ros.recording.decoding import decode
from structrl_ros.recording.decoding import decode_image
from structrl_ros.recording.message_types import message_types
from structrl_ros.types import ActionChunk
from structrl_ros.types import ChunkDone
from structrl_ros.types import Episode
from structrl_ros.types import Intervention
from structrl_ros.types import Plan
from structrl_ros.types import Predicates
from structrl_ros.types import Progress
from structrl_ros.types import Reward
from structrl_ros.types import Safety
from structrl_ros.types import SafetyState
from structrl_ros.types import SimulatorState
from structrl_ros.types import Subtask
from structrl_ros.types import SubtaskStatus
from structrl_ros.types import Verdict

ROWS = np.arange(14, dtype=np.float32).reshape(2, 7)
STAMP = 12_345_678_901
VALUES = [
    Plan(STAMP, 2, 'do it', (Subtask('s1', 'grasp a', 'grasp', ('a',), 3),), 'why', 'rules'),
    Verdict(STAMP, 2, 1, 's2', True, 0.5, 0.25, 'predicates', stop=True),
    Predicates(STAMP, 3, 4, 32, ('a', 'b'), (True, False), True),
    SubtaskStatus(STAMP, 3, 4, 2, 's1', ('s0',), ('s1',), ('s2', 's3')),
    Reward(STAMP, 3, 4, 0.1 + 0.2, (('s1', 0.1), ('success', 0.2)), 1.3, True, False),
    Progress(STAMP, 3, 9, 0.1, -0.2, 0.3, True, 0.4, 0.5, 0.25, True),
    Episode(STAMP, 3, True, 'libero', 'libero_10/0', 'do it', 2**63, 5, True, 'success', ('a',)),
    Intervention(STAMP, 3, True, 'spacemouse', ROWS[0]),
    Safety(STAMP, SafetyState.HOLD, 'no chunk'),
    ActionChunk(STAMP, 3, 4, 'expert', 'ee_delta_pose', 0.05, ROWS),
    ChunkDone(STAMP, 3, 4, 2, False, True, False, ROWS),
    SimulatorState(STAMP, 3, 4, 32, 'libero_10/0', 7, 1, np.arange(5.0)),
]


@pytest.mark.parametrize('value', VALUES, ids=lambda v: type(v).__name__)
def test_every_message_comes_back_as_its_dataclass(value, encoders):
    msgtype = f'structrl_msgs/msg/{type(value).__name__}'
    back = decode(msgtype, message_types().deserialize_cdr(encoders['message'](value), msgtype))
    assert type(back) is type(value)
    for name in value.__dataclass_fields__:
        expected, found = getattr(value, name), getattr(back, name)
        if isinstance(expected, np.ndarray):
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found, expected)
        else:
            assert found == expected, name
            assert not isinstance(found, np.generic), name


def test_unknown_type_is_refused():
    with pytest.raises(BagError, match='no dataclass'):
        decode('std_msgs/msg/String', SimpleNamespace(data='x'))


def test_chunk_of_wrong_size_is_refused(encoders):
    msgtype = 'structrl_msgs/msg/ActionChunk'
    message = message_types().deserialize_cdr(encoders['message'](VALUES[9]), msgtype)
    message.data = message.data[:-1]
    with pytest.raises(BagError, match='breaks the contract'):
        decode(msgtype, message)


def image(encoding, channels, padding=0):
    step = 2 * channels + padding
    data = np.arange(3 * step, dtype=np.uint8)
    fields = {'height': 3, 'width': 2, 'step': step, 'encoding': encoding, 'data': data}
    return SimpleNamespace(**fields, is_bigendian=0)


def test_rows_with_padding_are_cropped():
    pixels = decode_image(image('rgb8', 3, padding=2))
    assert pixels.shape == (3, 2, 3)
    assert pixels[1].ravel().tolist() == [8, 9, 10, 11, 12, 13]


def test_bgr_is_turned_and_grey_is_spread():
    assert decode_image(image('bgr8', 3))[0, 0].tolist() == [2, 1, 0]
    assert decode_image(image('bgra8', 4))[0, 1].tolist() == [6, 5, 4]
    assert decode_image(image('mono8', 1))[0, 1].tolist() == [1, 1, 1]


def test_unknown_encoding_and_short_data_are_refused():
    with pytest.raises(BagError, match='hsv8'):
        decode_image(image('hsv8', 3))
    short = image('rgb8', 3)
    short.data = short.data[:5]
    with pytest.raises(BagError, match='has 5 bytes'):
        decode_image(short)
