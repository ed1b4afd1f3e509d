"""`structrl replay --check`: runs of every body compute to themselves, spoiled ones do not."""

import subprocess
import sys
from dataclasses import replace

import pytest

pytest.importorskip('structrl_msgs', reason='needs structrl_msgs: make install')

from rich.console import Console

from structrl_ros.cli.replay import check_replay
from structrl_ros.recording.bag_reader import BagReader
from structrl_ros.recording.bag_writer import BagWriter
from structrl_ros.recording.message_types import message_types
from structrl_ros.recording.recomputation import compare
from structrl_ros.recording.run_events import read_events
from structrl_ros.types import Plan
from structrl_ros.types import Reward
from structrl_ros.types import Verdict

pytestmark = pytest.mark.ros

#: Words of `structrl demo` for a run of each body.
RUNS = {
    'kinematic': ['--body', 'kinematic', '--lockstep'],
    'twin': ['--body', 'twin', '--lockstep'],
    'twin in real time': ['--body', 'twin'],
    'tabletop': ['--body', 'tabletop', '--lockstep'],
    'libero': ['--body', 'libero', '--task', 'spatial/0', '--lockstep'],
    'franka-sim in real time': ['--body', 'franka-sim'],
}
SLOW = [pytest.mark.slow, pytest.mark.timeout(900)]
MARKS = {
    'kinematic': [],
    'twin': SLOW,
    'twin in real time': SLOW,
    'tabletop': [*SLOW, pytest.mark.sim],
    'libero': [*SLOW, pytest.mark.sim],
    'franka-sim in real time': [pytest.mark.hardware_sim, pytest.mark.timeout(900)],
}


def demo(folder, words):
    command = [sys.executable, '-m', 'structrl_ros.cli.main', 'demo', '--run-dir', str(folder)]
    done = subprocess.run(
        [*command, *words], capture_output=True, text=True, timeout=800, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope='module')
def kinematic_run(tmp_path_factory):
    return demo(tmp_path_factory.mktemp('kinematic') / 'run', RUNS['kinematic'])


def spoiled(source, target, topic, change):
    """Copy a bag, with `change` done to the decoded messages of a topic."""
    reader, store = BagReader(source), message_types()
    with BagWriter(target) as bag:
        for name, summary in reader.topics.items():
            bag.add_topic(name, summary.msgtype)
        for number, raw in enumerate(reader.raw_messages()):
            data = raw.data
            if raw.topic == topic:
                message = store.deserialize_cdr(data, raw.msgtype)
                change(number, message)
                data = bytes(store.serialize_cdr(message, raw.msgtype))
            bag.write(raw.topic, data)


@pytest.mark.parametrize('body', [pytest.param(b, marks=MARKS[b]) for b in RUNS])
def test_run_of_a_body_computes_to_itself_to_the_last_bit(body, tmp_path, request):
    if body == 'kinematic':
        folder = request.getfixturevalue('kinematic_run')
    else:
        folder = demo(tmp_path / 'run', RUNS[body])
    results = {r.kind: r for r in compare(read_events(folder / 'bag'))}
    assert {k: r.difference for k, r in results.items()} == dict.fromkeys(results, '')
    for kind, topic in (('reward', '/reward'), ('subtask', '/subtask'), ('verdict', '/verdict')):
        result = results[kind]
        assert result.compared + result.skipped == BagReader(folder / 'bag').topics[topic].count
        assert result.compared > 3
        if 'real time' not in body:
            assert result.skipped == 0, result.why
    assert check_replay(folder, Console()) == 0


@pytest.mark.parametrize('is_reversed', [False, True])
def test_order_in_which_the_recorder_heard_the_topics_changes_nothing(
    kinematic_run, tmp_path, is_reversed
):
    reader = BagReader(kinematic_run / 'bag')
    with BagWriter(tmp_path / 'bag') as bag:
        for name, summary in reader.topics.items():
            bag.add_topic(name, summary.msgtype)
        for name in sorted(reader.topics, reverse=is_reversed):
            for raw in reader.raw_messages([name]):
                bag.write(name, raw.data)
    results = {r.kind: r for r in compare(read_events(tmp_path / 'bag'))}
    assert {k: r.difference for k, r in results.items()} == dict.fromkeys(results, '')
    assert results['reward'].compared == reader.topics['/reward'].count


@pytest.mark.slow
def test_brain_on_a_recorded_run_decides_as_it_did_live(kinematic_run, tmp_path):
    command = [sys.executable, '-m', 'structrl_ros.cli.main', 'replay', str(kinematic_run)]
    done = subprocess.run(
        [*command, '--brain', f'record:={tmp_path / "bag"}'],
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    live, again = read_events(kinematic_run / 'bag'), read_events(tmp_path / 'bag')
    for kind in (Plan, Reward):
        assert again.of(kind) == live.of(kind)
    told = [[replace(v, latency=0.0) for v in e.of(Verdict)] for e in (live, again)]
    assert told[0] == told[1]
    assert check_replay(tmp_path, Console()) == 0


def flip_verdict(number, message):
    message.done = not message.done


def pay_one_bit_more(number, message):
    if message.chunk == 3:
        message.value += 2.0**-40


def pursue_nothing(number, message):
    message.current = 'juggle(bottle)'


@pytest.mark.parametrize(
    ('topic', 'change', 'kind', 'words'),
    [
        ('/reward', pay_one_bit_more, 'reward', 'chunk 3, value: recorded'),
        ('/subtask', pursue_nothing, 'subtask', "current 'juggle(bottle)' recorded, not computed"),
        ('/verdict', flip_verdict, 'verdict', 'recorded done True, computed False'),
    ],
    ids=['reward', 'subtask', 'verdict'],
)
def test_spoiled_recording_shows_its_first_difference(
    kinematic_run, tmp_path, topic, change, kind, words
):
    spoiled(kinematic_run / 'bag', tmp_path / 'bag', topic, change)
    results = {r.kind: r.difference for r in compare(read_events(tmp_path / 'bag'))}
    assert words in results[kind]
    console = Console(record=True, width=300)
    assert check_replay(tmp_path, console) == 1
    assert words in console.export_text()
