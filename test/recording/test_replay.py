"""A recording gives its own numbers again: offline, and played to a live tracker."""

import dataclasses
import subprocess
import sys

import pytest
from rich.console import Console

from structrl_ros.cli.replay import changed_settings
from structrl_ros.cli.replay import play_replay
from structrl_ros.errors import BagError
from structrl_ros.errors import ParameterError
from structrl_ros.recording.bag_reader import BagReader
from structrl_ros.recording.ledger import recorded_settings
from structrl_ros.recording.playback import Playback
from structrl_ros.recording.recomputation import compare
from structrl_ros.recording.recomputation import what_if
from structrl_ros.recording.run_events import read_events
from structrl_ros.types import Reward

SECOND = 1_000_000_000


def events_of(folder):
    return read_events(folder / 'bag')


def test_recording_computes_to_itself(tmp_path, synthetic_run):
    synthetic_run().write(tmp_path)
    results = {r.kind: r for r in compare(events_of(tmp_path))}
    assert {kind: r.difference for kind, r in results.items()} == dict.fromkeys(results, '')
    assert results['reward'].compared == 24
    assert results['subtask'].compared > 4
    assert results['verdict'].compared + results['verdict'].skipped > 0


def test_changed_reward_is_found_at_its_chunk(tmp_path, synthetic_run):
    def spoil(reward):
        return (
            dataclasses.replace(reward, value=reward.value + 1e-12)
            if reward.chunk == 5
            else reward
        )

    synthetic_run(spoil=spoil).write(tmp_path)
    results = {r.kind: r for r in compare(events_of(tmp_path))}
    assert results['reward'].difference.startswith('chunk 5, value: recorded')
    assert results['subtask'].difference == ''


def test_what_if_pays_by_the_other_settings(tmp_path, synthetic_run):
    synthetic_run().write(tmp_path)
    events = events_of(tmp_path)
    own = recorded_settings(events)
    (same,) = what_if(events, own)
    (fixed,) = what_if(events, changed_settings(own, ['pacing:=fixed', 'beta:=1.0']))
    assert same.computed == same.recorded == events.of(Reward)[-1].episode_return
    assert fixed.computed == pytest.approx(4 * 0.5 + own.lambda_c)


@pytest.mark.parametrize(
    ('change', 'text'),
    [
        ('betta:=1', "unknown setting 'betta'; allowed: beta"),
        ('beta:=much', 'beta'),
        ('pacing:=slow', 'pacing'),
        ('beta', 'not of the form'),
    ],
)
def test_wrong_setting_is_one_clear_line(tmp_path, synthetic_run, change, text):
    synthetic_run().write(tmp_path)
    with pytest.raises(ParameterError, match=text):
        changed_settings(recorded_settings(events_of(tmp_path)), [change])


@pytest.fixture
def playback(tmp_path, synthetic_run):
    synthetic_run(chunks=4).write(tmp_path)
    reader = BagReader(tmp_path / 'bag')

    def make(**options):
        return Playback(reader, tuple(reader.topics), latched=('/plan', '/episode'), **options)

    return make


def test_everything_comes_once_and_in_order_at_any_rate(playback):
    slow, fast = playback(), playback(rate=10.0)
    pairs = []
    for player in (slow, fast):
        player.resume(0)
        found, now = [], 0
        while not player.is_over:
            found += [(m.topic, m.data) for m in player.due(now)]
            now += 500
        pairs.append((found, now))
    assert pairs[0][0] == pairs[1][0]
    assert pairs[0][1] == pytest.approx(10 * pairs[1][1], rel=0.2)


def test_nothing_is_due_while_paused(playback):
    player = playback()
    assert list(player.due(10 * SECOND)) == []
    player.resume(0)
    first = list(player.due(0))
    player.pause(0)
    assert len(first) >= 1
    assert list(player.due(100 * SECOND)) == []


def test_a_step_ends_with_the_next_chunk(playback):
    player = playback()
    chunks = [[m.topic for m in player.step(('/chunk_done',), 0)] for _ in range(4)]
    assert all(topics[-1] == '/chunk_done' for topics in chunks)
    assert all(topics.count('/chunk_done') == 1 for topics in chunks)
    assert player.is_paused


def test_a_seek_gives_what_is_latched_first(playback):
    player = playback()
    player.seek(1e-5, 0)
    player.resume(0)
    topics = [m.topic for m in player.due(10 * SECOND)]
    assert topics[0] in ('/plan', '/episode')
    assert topics.index('/episode') < topics.index('/chunk_done')


def test_a_loop_begins_again(playback):
    player = playback(is_looped=True)
    player.resume(0)
    first = [m.data for m in player.due(SECOND)]
    again = [m.data for m in player.due(2 * SECOND)]
    assert player.loops == 2
    assert again == first


def test_nothing_to_play_and_a_wrong_rate_are_refused(tmp_path, synthetic_run):
    synthetic_run(chunks=1).write(tmp_path)
    reader = BagReader(tmp_path / 'bag')
    with pytest.raises(BagError, match='no message of the topics to play'):
        Playback(reader, ('/progress',))
    with pytest.raises(ParameterError, match=r'rate 0\.0; allowed'):
        Playback(reader, tuple(reader.topics), rate=0.0)


@pytest.mark.ros
def test_played_recording_earns_the_same_live_to_the_last_bit(tmp_path, synthetic_run):
    pytest.importorskip('structrl_msgs', reason='needs structrl_msgs: make install')
    synthetic_run(step_ns=1_000_000).write(tmp_path)
    again = tmp_path / 'again'
    done = subprocess.run(
        [
            sys.executable,
            '-m',
            'structrl_ros.cli.main',
            'replay',
            str(tmp_path),
            f'record:={again}',
        ],
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    live = [dataclasses.astuple(r) for r in read_events(again).of(Reward)]
    recorded = [dataclasses.astuple(r) for r in events_of(tmp_path).of(Reward)]
    assert len(recorded) == 24
    assert live == recorded
    results = {r.kind: r for r in compare(read_events(again))}
    assert results['reward'].difference == ''


@pytest.mark.ros
def test_missing_bag_ends_the_player_in_one_line(tmp_path):
    with pytest.raises(BagError, match='no bag at'):
        play_replay(tmp_path / 'nowhere', {}, Console())
