"""Bags: what goes in comes out, also after a cut, a kill and a full disk."""

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from mcap.reader import make_reader
from rosbags.rosbag2 import Reader

from structrl_ros.errors import BagError
from structrl_ros.errors import ParameterError
from structrl_ros.recording.bag_format import BagFormat
from structrl_ros.recording.bag_format import TopicQos
from structrl_ros.recording.bag_metadata import MISSING
from structrl_ros.recording.bag_reader import BagReader
from structrl_ros.recording.bag_repair import bag_files
from structrl_ros.recording.bag_repair import repair_bag
from structrl_ros.recording.bag_writer import BagWriter

SAFETY = 'structrl_msgs/msg/Safety'
STREAM = """
import sys, time
from pathlib import Path
from structrl_ros.recording.bag_writer import BagWriter
bag = BagWriter(Path(sys.argv[1]))
bag.add_topic('/noise', 'std_msgs/msg/ByteMultiArray')
for i in range(100_000):
    bag.write('/noise', i.to_bytes(8, 'little') * 4)
    time.sleep(0.01)
    if i == 150:
        print('go', flush=True)
"""


def read_pairs(path):
    return [(m.topic, m.data) for m in BagReader(path).raw_messages()]


def test_bytes_come_back_equal_and_in_order(tmp_path, synthetic_run):
    run = synthetic_run()
    writer = run.write(tmp_path)
    reader = BagReader(tmp_path / 'bag')
    assert [(m.topic, m.data) for m in reader.raw_messages()] == run.sent
    assert {t: s.count for t, s in reader.topics.items()} == dict(writer.counts)
    assert not reader.is_cut
    assert not list(tmp_path.rglob('.reserve'))


def test_metadata_keeps_types_hashes_and_qos(tmp_path, synthetic_run):
    synthetic_run(chunks=3).write(tmp_path)
    with Reader(tmp_path / 'bag') as bag:
        plan = next(c for c in bag.connections if c.topic == '/plan')
        assert plan.msgtype == 'structrl_msgs/msg/Plan'
        assert plan.digest.startswith('RIHS01_')
        assert plan.msgdef.data.startswith('#') or 'std_msgs/Header header' in plan.msgdef.data
        (qos,) = plan.ext.offered_qos_profiles
        assert (qos.durability.name, qos.reliability.name, qos.depth) == (
            'TRANSIENT_LOCAL',
            'RELIABLE',
            1,
        )


def test_messages_are_decoded_by_the_definitions_in_the_bag(tmp_path, synthetic_run):
    synthetic_run(chunks=3).write(tmp_path)
    chunks = [m for _, _, _, m in BagReader(tmp_path / 'bag').messages(['/action_chunk'])]
    assert [c.chunk for c in chunks] == [1, 2, 3]
    assert chunks[0].data.dtype == np.float32
    assert (chunks[0].length, chunks[0].dimension) == (8, 7)


def test_another_library_reads_the_bag(tmp_path, synthetic_run):
    run = synthetic_run()
    run.write(tmp_path)
    with (tmp_path / 'bag/bag_0.mcap').open('rb') as stream:
        found = [(c.topic, m.data) for _, c, m in make_reader(stream).iter_messages()]
    assert sorted(found) == sorted(run.sent)


@pytest.mark.parametrize('share', [0.2, 0.5, 0.8, 0.999])
def test_cut_bag_reads_as_a_prefix_and_is_repaired(tmp_path, synthetic_run, share):
    run = synthetic_run(close=False)
    writer = run.write(tmp_path)
    writer.flush()
    path = tmp_path / 'bag/bag_0.mcap'
    ends = [path.stat().st_size]
    os.truncate(path, int(ends[0] * share))
    reader = BagReader(tmp_path / 'bag')
    before = [(m.topic, m.data) for m in reader.raw_messages()]
    assert reader.is_cut
    assert before == run.sent[: len(before)]
    report = repair_bag(tmp_path / 'bag')
    after = BagReader(tmp_path / 'bag')
    assert not after.is_cut
    assert [(m.topic, m.data) for m in after.raw_messages()] == before
    assert report.messages == len(before)


def many_chunks(path, count):
    """Write a bag of `count` chunks of one message each, not closed; return the sizes."""
    writer = BagWriter(path)
    writer.add_topic('/noise', 'std_msgs/msg/ByteMultiArray')
    sizes = []
    for i in range(count):
        writer.write('/noise', bytes([i]) * 500)
        writer.flush()
        sizes.append((path / f'{path.name}_0.mcap').stat().st_size)
    return sizes


def test_a_cut_at_any_byte_costs_the_torn_chunk_only(tmp_path):
    sizes = many_chunks(tmp_path / 'whole', 4)
    data = (tmp_path / 'whole/whole_0.mcap').read_bytes()
    counts = []
    for cut in range(sizes[1], sizes[2] + 1, 13):
        bag = tmp_path / f'cut{cut}'
        bag.mkdir()
        (bag / 'cut.mcap').write_bytes(data[:cut])
        scanned = [m.data for m in BagReader(bag).raw_messages()]
        repair_bag(bag)
        assert [m.data for m in BagReader(bag).raw_messages()] == scanned
        with (bag / 'cut.mcap').open('rb') as stream:
            assert [m.data for _, _, m in make_reader(stream).iter_messages()] == scanned
        counts.append(len(scanned))
    assert counts == sorted(counts)
    assert counts[0] == 2
    assert counts[-1] == 3


def test_repair_of_a_whole_bag_changes_no_message(tmp_path, synthetic_run):
    run = synthetic_run(chunks=3)
    run.write(tmp_path)
    assert repair_bag(tmp_path / 'bag').messages == len(run.sent)
    assert read_pairs(tmp_path / 'bag') == run.sent


def test_repair_keeps_what_the_recorder_noted(tmp_path, synthetic_run):
    writer = synthetic_run(chunks=3, close=False).write(tmp_path)
    writer.notes[f'{MISSING}/plan'] = '4'
    writer.close()
    assert BagReader(tmp_path / 'bag').missing == {'/plan': 4}
    repair_bag(tmp_path / 'bag')
    assert BagReader(tmp_path / 'bag').missing == {'/plan': 4}


def test_killed_recorder_leaves_all_but_the_last_second(tmp_path):
    child = subprocess.Popen(
        [sys.executable, '-c', STREAM, str(tmp_path / 'bag')], stdout=subprocess.PIPE
    )
    assert child.stdout.readline() == b'go\n'
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    reader = BagReader(tmp_path / 'bag')
    found = [int.from_bytes(m.data[:8], 'little') for m in reader.raw_messages()]
    assert reader.is_cut
    assert len(found) >= 50
    assert found == list(range(len(found)))


def limit_file_size():
    resource.setrlimit(resource.RLIMIT_FSIZE, (3_000_000, 3_000_000))


FILL = """
import sys
from pathlib import Path
from structrl_ros.errors import BagError
from structrl_ros.errors import ParameterError
from structrl_ros.recording.bag_writer import BagWriter
bag = BagWriter(Path(sys.argv[1]))
bag.add_topic('/noise', 'std_msgs/msg/ByteMultiArray')
faults = 0
for i in range(100):
    try:
        bag.write('/noise', i.to_bytes(4, 'little') * 25_000)
    except BagError as error:
        faults += 1
        print(error)
bag.close()
print(faults, bag.counts['/noise'], bag.lost['/noise'])
"""


def run_fill(path, **options):
    done = subprocess.run(
        [sys.executable, '-c', FILL, str(path)],
        capture_output=True,
        text=True,
        check=True,
        **options,
    )
    message, figures = done.stdout.splitlines()
    faults, kept, lost = map(int, figures.split())
    return message, faults, kept, lost


def check_full(path, message, faults, kept, lost):
    found = [int.from_bytes(m.data[:4], 'little') for m in BagReader(path).raw_messages()]
    assert faults == 1
    assert message.startswith('recording stopped: ')
    assert 0 < kept < 100
    assert kept + lost <= 100
    assert found == list(range(kept))


def test_file_size_limit_stops_the_recording_once_and_keeps_what_was_written(tmp_path):
    result = run_fill(tmp_path / 'bag', preexec_fn=limit_file_size)
    check_full(tmp_path / 'bag', *result)


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 4 MB, or a skip where none can be mounted."""
    place = tmp_path / 'disk'
    place.mkdir()
    command = ['mount', '-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', str(place)]
    try:
        mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip('mounting a small disk is not allowed here')
    yield place
    subprocess.run(['umount', str(place)], check=True)


def test_full_disk_leaves_a_closed_bag(small_disk):
    message, *figures = run_fill(small_disk / 'bag')
    assert 'No space left' in message
    assert 'are safe' in message
    check_full(small_disk / 'bag', message, *figures)
    assert not BagReader(small_disk / 'bag').is_cut


def test_empty_bag_is_read_as_empty(tmp_path):
    with BagWriter(tmp_path / 'bag') as bag:
        bag.add_topic('/safety', SAFETY)
    reader = BagReader(tmp_path / 'bag')
    assert list(reader.raw_messages()) == []
    assert reader.topics['/safety'].count == 0


def test_quiet_stream_is_flushed_on_request(tmp_path):
    bag = BagWriter(tmp_path / 'bag')
    bag.add_topic('/noise', 'std_msgs/msg/ByteMultiArray')
    bag.write('/noise', b'abcd')
    time.sleep(1.05)
    bag.flush_if_due()
    assert read_pairs(tmp_path / 'bag') == [('/noise', b'abcd')]


def test_stamps_never_go_back_when_the_wall_clock_does(tmp_path):
    times = iter([30, 10, 40])
    with BagWriter(tmp_path / 'bag', now_ns=lambda: next(times)) as bag:
        bag.add_topic('/noise', 'std_msgs/msg/ByteMultiArray')
        for data in (b'a', b'b', b'c'):
            bag.write('/noise', data)
    stamps = [m.stamp_ns for m in BagReader(tmp_path / 'bag').raw_messages()]
    assert stamps == [30, 30, 40]


@pytest.mark.parametrize('make', [lambda p: None, lambda p: p.mkdir()])
def test_missing_bag_is_one_clear_line(tmp_path, make):
    path = tmp_path / 'bag'
    make(path)
    with pytest.raises(BagError, match=r'no such folder|holds 0 \.mcap'):
        BagReader(path)


def test_file_that_is_no_mcap_is_refused(tmp_path):
    (tmp_path / 'x.mcap').write_bytes(b'not a bag at all')
    with pytest.raises(BagError, match='no MCAP file'):
        BagReader(tmp_path)


def test_unknown_type_and_topic_are_refused(tmp_path):
    with BagWriter(tmp_path / 'bag') as bag:
        with pytest.raises(BagError, match='unknown message type'):
            bag.add_topic('/x', 'nobody_msgs/msg/Nothing')
        with pytest.raises(BagError, match='was not added'):
            bag.write('/x', b'')


def test_existing_bag_is_never_overwritten(tmp_path, synthetic_run):
    synthetic_run(chunks=1).write(tmp_path)
    with pytest.raises(BagError, match='exists already'):
        BagWriter(tmp_path / 'bag')


def test_message_that_does_not_fit_its_type_is_refused(tmp_path):
    with BagWriter(tmp_path / 'bag') as bag:
        bag.add_topic('/safety', SAFETY, TopicQos())
        bag.write('/safety', b'\x00\x01\x00\x00\xff')
    with pytest.raises(BagError, match=f'/safety in .* is no {SAFETY}'):
        list(BagReader(Path(tmp_path / 'bag')).messages())


def numbered(path, count, form, topic='/noise'):
    """Write `count` numbered messages of 1 kB and a latched plan that changes once."""
    times = iter(range(0, 10**12, 10**8))  # 10 a second
    writer = BagWriter(path, form=form, now_ns=lambda: next(times))
    writer.add_topic(topic, 'std_msgs/msg/ByteMultiArray')
    writer.add_topic('/plan', 'std_msgs/msg/String', TopicQos(transient_local=True, depth=1))
    writer.write('/plan', b'first plan')
    for i in range(count):
        if i == count // 2:
            writer.write('/plan', b'second plan')
        writer.write(topic, i.to_bytes(4, 'little') * 250)
    return writer


FORMS = {
    'by size': BagFormat(split_bytes=20_000),
    'by time': BagFormat(split_seconds=2.0),
    'compressed': BagFormat(split_bytes=20_000, compression='zstd'),
    'sqlite': BagFormat(split_bytes=20_000, storage='sqlite3'),
}


@pytest.mark.parametrize('form', FORMS.values(), ids=FORMS)
def test_bag_in_parts_reads_as_one(tmp_path, form):
    numbered(tmp_path / 'bag', 100, form).close()
    parts = bag_files(tmp_path / 'bag')
    assert len(parts) >= 4
    pairs = read_pairs(tmp_path / 'bag')
    numbers = [int.from_bytes(d[:4], 'little') for t, d in pairs if t == '/noise']
    assert numbers == list(range(100))
    assert [d for t, d in pairs if t == '/plan'] == [b'first plan', b'second plan']


@pytest.mark.parametrize('form', FORMS.values(), ids=FORMS)
def test_each_part_begins_with_what_is_latched(tmp_path, form):
    numbered(tmp_path / 'bag', 100, form).close()
    for part in bag_files(tmp_path / 'bag'):
        with Reader(part) as bag:
            connection, _, data = next(iter(bag.messages()))
        assert connection.topic == '/plan'
        assert data in (b'first plan', b'second plan')


def test_metadata_lists_every_part_with_its_span(tmp_path):
    numbered(tmp_path / 'bag', 100, FORMS['by time']).close()
    with Reader(tmp_path / 'bag') as bag:
        seconds = (bag.end_time - bag.start_time) / 1e9
        whole = bag.message_count
    assert seconds == pytest.approx(10.1, abs=0.1)
    counts = []
    for part in bag_files(tmp_path / 'bag'):
        with Reader(part) as bag:
            counts.append(bag.message_count)
            assert (bag.end_time - bag.start_time) / 1e9 <= 2.1
    assert sum(counts) == whole


@pytest.mark.parametrize('name', ['by size', 'compressed', 'sqlite'])
def test_killed_bag_in_parts_is_read_and_repaired(tmp_path, name):
    writer = numbered(tmp_path / 'bag', 60, FORMS[name])
    writer.flush()
    writer._part.abandon()  # what the kernel does to a killed process
    (tmp_path / 'bag/metadata.yaml').unlink()
    before = [d for t, d in read_pairs(tmp_path / 'bag') if t == '/noise']
    assert [int.from_bytes(d[:4], 'little') for d in before] == list(range(60))
    repair_bag(tmp_path / 'bag')
    reader = BagReader(tmp_path / 'bag')
    assert not reader.is_cut
    assert [m.data for m in reader.raw_messages(['/noise'])] == before
    assert [m.data for m in reader.raw_messages(['/plan'])] == [b'first plan', b'second plan']


@pytest.mark.parametrize('name', ['by size', 'compressed', 'sqlite'])
def test_part_that_metadata_does_not_list_yet_is_read_and_repaired(tmp_path, name):
    writer = numbered(tmp_path / 'bag', 60, FORMS[name])
    writer.flush()
    writer._part.abandon()
    assert (tmp_path / 'bag/metadata.yaml').exists()
    reader = BagReader(tmp_path / 'bag')
    assert reader.is_cut
    numbers = [int.from_bytes(m.data[:4], 'little') for m in reader.raw_messages(['/noise'])]
    assert numbers == list(range(60))
    repair_bag(tmp_path / 'bag')
    assert not BagReader(tmp_path / 'bag').is_cut
    assert len(list(BagReader(tmp_path / 'bag').raw_messages(['/noise']))) == 60


def test_compression_makes_a_bag_smaller(tmp_path):
    numbered(tmp_path / 'plain', 100, BagFormat()).close()
    numbered(tmp_path / 'small', 100, BagFormat(compression='zstd')).close()
    sizes = [sum(f.stat().st_size for f in bag_files(tmp_path / n)) for n in ('plain', 'small')]
    assert sizes[1] < 0.5 * sizes[0]


def test_settings_name_the_form_of_a_bag():
    form = BagFormat.of_settings('mcap', 'zstd', 1.5, 60.0)
    assert form == BagFormat(compression='zstd', split_bytes=1_500_000, split_seconds=60.0)
    with pytest.raises(ParameterError, match='of sqlite3; allowed: none'):
        BagFormat.of_settings('sqlite3', 'zstd', 0.0, 0.0)


@pytest.mark.parametrize(
    ('options', 'text'),
    [
        ({'storage': 'rosbag1'}, "storage 'rosbag1'; allowed: mcap, sqlite3"),
        ({'compression': 'lz4'}, "compression 'lz4' of mcap; allowed: none, zstd"),
        ({'storage': 'sqlite3', 'compression': 'zstd'}, 'of sqlite3; allowed: none'),
        ({'split_bytes': -1}, 'allowed: 0'),
        ({'split_seconds': float('nan')}, 'allowed: 0'),
    ],
)
def test_unknown_form_of_a_bag_is_refused_in_one_line(tmp_path, options, text):
    with pytest.raises(ParameterError, match=text):
        BagWriter(tmp_path / 'bag', form=BagFormat(**options))
    assert not (tmp_path / 'bag').exists()
