"""Bags with something wrong: each fault is one clear line, and the rest is still read."""

import os
import sqlite3

import pytest
import yaml
from rosbags.interfaces import Qos
from rosbags.rosbag2 import StoragePlugin
from rosbags.rosbag2 import Writer
from typer.testing import CliRunner

from structrl_ros.cli.main import app
from structrl_ros.errors import BagError
from structrl_ros.recording.bag_format import TopicQos
from structrl_ros.recording.bag_inspection import inspect_bag
from structrl_ros.recording.bag_reader import BagReader
from structrl_ros.recording.bag_writer import BagWriter
from structrl_ros.recording.message_types import message_types

SECOND = 1_000_000_000
NOW = 1_700_000_000 * SECOND


def lines_of(path):
    return inspect_bag(BagReader(path))


def change_metadata(path, change):
    place = path / 'metadata.yaml'
    document = yaml.safe_load(place.read_text())
    change(document['rosbag2_bagfile_information'])
    place.write_text(yaml.safe_dump(document))


def clocks(path, seconds, encoders, receipt_ns=NOW):
    """Write a bag of /clock alone."""
    times = iter(range(receipt_ns, receipt_ns + 10**12, 10**6))
    with BagWriter(path, now_ns=lambda: next(times)) as bag:
        bag.add_topic('/clock', 'rosgraph_msgs/msg/Clock')
        for value in seconds:
            bag.write('/clock', encoders['clock'](int(value * SECOND)))
    return path


def test_good_run_has_nothing_wrong(tmp_path, synthetic_run):
    synthetic_run(chunks=6).write(tmp_path)
    assert lines_of(tmp_path / 'bag') == []
    result = CliRunner().invoke(app, ['bag', 'check', str(tmp_path / 'bag')])
    assert (result.exit_code, 'nothing is wrong' in result.output) == (0, True)


def test_empty_bag(tmp_path):
    BagWriter(tmp_path / 'bag').close()
    assert lines_of(tmp_path / 'bag') == ['the bag holds no message']


def test_cut_bag(tmp_path, synthetic_run):
    writer = synthetic_run(chunks=6, close=False).write(tmp_path)
    writer.flush()
    path = tmp_path / 'bag/bag_0.mcap'
    os.truncate(path, path.stat().st_size - 1)
    (line,) = (x for x in lines_of(tmp_path / 'bag') if 'cut' in x)
    assert line.startswith('the bag was cut; finish it: structrl bag repair')
    result = CliRunner().invoke(app, ['bag', 'check', str(tmp_path / 'bag')])
    assert result.exit_code == 1


def test_type_of_another_version(tmp_path, synthetic_run):
    synthetic_run(chunks=2).write(tmp_path)

    def change(about):
        for entry in about['topics_with_message_count']:
            if entry['topic_metadata']['name'] == '/plan':
                entry['topic_metadata']['type_description_hash'] = 'RIHS01_' + 64 * '7'

    change_metadata(tmp_path / 'bag', change)
    (line,) = lines_of(tmp_path / 'bag')
    assert line.startswith('structrl_msgs/msg/Plan is of another version: hash RIHS01_7777')
    pytest.importorskip('rclpy')
    from structrl_ros.nodes.replayed_topics import played_topics

    with pytest.raises(BagError, match=r'/plan in .* is another version of') as caught:
        played_topics(BagReader(tmp_path / 'bag'), 'all')
    assert '\n' not in str(caught.value)


def without_definitions(path, distribution, version):
    """Write an SQLite bag as older distributions do: no message definitions, no hashes."""
    store = message_types()
    with Writer(path, version=8, storage_plugin=StoragePlugin.SQLITE3) as bag:
        words = bag.add_connection('/words', 'std_msgs/msg/String', typestore=store)
        kind = store.types['std_msgs/msg/String']
        bag.write(words, NOW, store.serialize_cdr(kind(data='hello'), 'std_msgs/msg/String'))
    with sqlite3.connect(path / f'{path.name}.db3') as database:
        database.execute('DELETE FROM message_definitions')

    def change(about):
        about['version'] = version
        about['ros_distro'] = distribution
        for entry in about['topics_with_message_count']:
            del entry['topic_metadata']['type_description_hash']

    change_metadata(path, change)


def test_unknown_type(tmp_path):
    without_definitions(tmp_path / 'bag', 'humble', 6)
    with sqlite3.connect(tmp_path / 'bag/bag.db3') as database:
        database.execute("UPDATE topics SET type = 'our_msgs/msg/Words'")

    def change(about):
        about['topics_with_message_count'][0]['topic_metadata']['type'] = 'our_msgs/msg/Words'

    change_metadata(tmp_path / 'bag', change)
    (line,) = lines_of(tmp_path / 'bag')
    words = 'type our_msgs/msg/Words is unknown: the bag holds no definition of it'
    assert line == f'/words: {words}'
    with pytest.raises(BagError, match="no definition of 'our_msgs/msg/Words'"):
        list(BagReader(tmp_path / 'bag').messages())


def test_bag_of_another_distribution_is_read(tmp_path):
    without_definitions(tmp_path / 'bag', 'humble', 6)
    reader = BagReader(tmp_path / 'bag')
    assert [m.data for _, _, _, m in reader.messages()] == ['hello']
    assert inspect_bag(reader) == []


def test_bag_of_a_distribution_to_come_is_read_file_by_file(tmp_path, synthetic_run):
    run = synthetic_run(chunks=2)
    run.write(tmp_path)
    change_metadata(tmp_path / 'bag', lambda about: about.update(version=12))
    reader = BagReader(tmp_path / 'bag')
    assert [(m.topic, m.data) for m in reader.raw_messages()] == run.sent
    (line,) = inspect_bag(reader)
    assert line.startswith('metadata.yaml is not understood: Rosbag2 version 12')
    assert not reader.is_cut


def test_two_clocks(tmp_path, encoders):
    both = [t for k in range(10) for t in (1 + k / 10, 50 + k / 10)]
    (line,) = lines_of(clocks(tmp_path / 'bag', both, encoders))
    assert line == '/clock goes back 9 times, by up to 48.900 s: two bodies publish it'


def test_time_that_goes_back(tmp_path, encoders):
    (line,) = lines_of(clocks(tmp_path / 'bag', [1, 2, 3, 1, 2], encoders))
    assert line == '/clock: time goes back 1 times, by up to 2.000 s'


def test_stamps_of_1970(tmp_path, encoders):
    (line,) = lines_of(clocks(tmp_path / 'bag', [1, 2], encoders, receipt_ns=3 * SECOND))
    assert line == 'recorded before 2001: the clock of the recording computer was not set'
    (line,) = lines_of(clocks(tmp_path / 'other', [0, 0, 1], encoders))
    assert line == '/clock: 2 messages are stamped 0 (1970)'


def test_mixed_qos(tmp_path, encoders):
    offered: list[Qos] = [TopicQos().profile(), TopicQos(reliable=False).profile()]
    store = message_types()
    with Writer(tmp_path / 'bag', version=9, storage_plugin=StoragePlugin.MCAP) as bag:
        clock = bag.add_connection(
            '/clock', 'rosgraph_msgs/msg/Clock', typestore=store, offered_qos_profiles=offered
        )
        bag.write(clock, NOW, encoders['clock'](SECOND))
    (line,) = lines_of(tmp_path / 'bag')
    assert line == (
        '/clock: publishers offered different QoS: reliable, volatile and best effort, volatile'
    )


def test_plan_that_was_not_recorded(tmp_path, synthetic_run):
    synthetic_run(chunks=3).write(tmp_path)
    reader = BagReader(tmp_path / 'bag')
    with BagWriter(tmp_path / 'other') as bag:
        for name, summary in reader.topics.items():
            bag.add_topic(name, summary.msgtype)
        for raw in reader.raw_messages([t for t in reader.topics if t != '/plan']):
            bag.write(raw.topic, raw.data)
    (line,) = lines_of(tmp_path / 'other')
    assert line == 'no plan was recorded, but 6 messages of verdict that need it'


def test_messages_that_never_came(tmp_path, synthetic_run):
    writer = synthetic_run(chunks=2, close=False).write(tmp_path)
    writer.notes |= {'missing /reward': '7', 'offered /plan': 'best effort, volatile'}
    writer.close()
    lines = lines_of(tmp_path / 'bag')
    assert '/reward: 7 messages never came to the recorder' in lines
    assert '/plan: offered best effort, volatile, less than the contract' in lines
