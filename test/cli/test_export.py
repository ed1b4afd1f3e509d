"""`structrl export` and `structrl import`: from a bag to a data set, and to a bag that plays."""

import builtins

import numpy as np
import pytest
from typer.testing import CliRunner

from structrl_ros.cli.main import app
from structrl_ros.errors import BagError
from structrl_ros.errors import DatasetError
from structrl_ros.errors import ParameterError
from structrl_ros.recording.bag_reader import BagReader
from structrl_ros.recording.lerobot.layout import Feature
from structrl_ros.recording.lerobot.writer import DatasetWriter

STATE = ('joint1', 'joint2', 'gripper', 'ee.x', 'ee.y', 'ee.z', 'ee.roll', 'ee.pitch', 'ee.yaw')
TELL = [
    '--map',
    'head=observation.images.top',
    '--action-space',
    'ee_delta_pose',
    '--gripper',
    '0,1',
]


def call(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


@pytest.fixture
def dataset(tmp_path):
    """A small data set as somebody else has it."""
    root = tmp_path / 'theirs'
    root.mkdir()
    features = {
        'observation.state': Feature('float32', (9,), STATE),
        'action': Feature('float32', (7,)),
        'observation.images.top': Feature('image', (16, 20, 3)),
    }
    writer = DatasetWriter(root, features, fps=20, robot='panda', codec='av1')
    state = np.linspace(0.0, 0.08, 20 * 9, dtype=np.float32).reshape(20, 9)
    action = np.zeros((20, 7), dtype=np.float32)
    pictures = [np.full((16, 20, 3), i, dtype=np.uint8) for i in range(20)]
    columns = {'observation.state': state, 'action': action}
    writer.add_episode('pick the cube', columns, {'observation.images.top': pictures}, {})
    writer.close({})
    return root


def test_data_set_becomes_a_bag_and_the_bag_a_data_set(dataset, tmp_path):
    bag, again = tmp_path / 'bag', tmp_path / 'again'
    result = call('import', 'lerobot', dataset, '--out', bag, *TELL)
    assert result.exit_code == 0, result.exception
    assert '1 episode, 20 steps, cameras: head' in result.output
    result = call('export', 'lerobot', bag, '--out', again, '--images')
    assert result.exit_code == 0, result.exception
    assert '1 episode (0 with success), 20 frames, cameras: head' in result.output
    assert (again / 'meta/info.json').is_file()
    assert 'license' in (again / 'README.md').read_text()


@pytest.mark.ros
def test_imported_bag_holds_what_the_replayer_plays(dataset, tmp_path):
    from rclpy.serialization import deserialize_message

    from structrl_ros.nodes.replayed_topics import played_topics
    from structrl_ros.wire.chunk_codecs import action_chunk_from_message
    from structrl_ros.wire.qos import message_type

    assert call('import', 'lerobot', dataset, '--out', tmp_path / 'bag', *TELL).exit_code == 0
    reader = BagReader(tmp_path / 'bag')
    played = played_topics(reader, 'all')
    assert set(played) == set(reader.topics)
    decoded = {
        raw.topic: deserialize_message(raw.data, message_type(played[raw.topic]))
        for raw in reader.raw_messages()
    }
    assert action_chunk_from_message(decoded['/action_chunk']).actions[0, 6] == -1.0
    assert decoded['/observation/joint_states'].name[-2:] == ['finger_joint1', 'finger_joint2']


@pytest.mark.parametrize(
    ('words', 'kind', 'line'),
    [
        (['export', 'lerobot', 'none', '--out', 'x'], BagError, 'no bag at none'),
        (
            ['export', 'lerobot', 'x', '--out', 'y', '--stale', 'no'],
            ParameterError,
            'refuse, fill',
        ),
        (['import', 'lerobot', 'none', '--out', 'x'], DatasetError, 'no dataset: none/meta/info'),
        (['import', 'lerobot', 'x', '--out', 'y', '--map', 'z'], ParameterError, 'NAME=FEATURE'),
        (
            ['import', 'lerobot', 'x', '--out', 'y', '--gripper', '1'],
            ParameterError,
            'OPEN,CLOSED',
        ),
        (['import', 'libero', 'none.hdf5', '--out', 'x'], DatasetError, 'none.hdf5 is missing'),
    ],
)
def test_a_mistake_is_one_clear_line(words, kind, line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = call(*words)
    assert result.exit_code == 1
    assert isinstance(result.exception, kind)
    assert line in str(result.exception)
    assert '\n' not in str(result.exception)


def test_missing_library_is_named_with_what_to_install(monkeypatch, tmp_path):
    whole = builtins.__import__

    def without(name, *arguments, **options):
        if name.startswith('structrl_ros.recording.lerobot.export'):
            raise ModuleNotFoundError("No module named 'pyarrow'", name='pyarrow')
        return whole(name, *arguments, **options)

    monkeypatch.setattr(builtins, '__import__', without)
    result = call('export', 'lerobot', tmp_path, '--out', tmp_path / 'x')
    assert 'pyarrow is missing: pip install -r requirements/export.txt' in str(result.exception)
