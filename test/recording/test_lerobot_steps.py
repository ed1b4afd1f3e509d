"""Steps of an episode from bare events: pauses, chunks without a step, a clock that goes back."""

import numpy as np
import pytest

from structrl_ros.errors import BagError
from structrl_ros.errors import DatasetError
from structrl_ros.recording.lerobot.signals import Signals
from structrl_ros.recording.lerobot.signals import Track
from structrl_ros.recording.lerobot.steps import Extraction
from structrl_ros.recording.lerobot.steps import episode_steps
from structrl_ros.recording.lerobot.videos import VideoWriter
from structrl_ros.recording.run_events import Arrival
from structrl_ros.recording.run_events import RunEvents
from structrl_ros.types import ActionChunk
from structrl_ros.types import ChunkDone
from structrl_ros.types import Episode
from structrl_ros.types import Reward

MS = 1_000_000
HOW = Extraction(period_ns=50 * MS, roles=())


def done(chunk, end_ms, steps, *, success=False):
    rows = np.full((steps, 7), chunk, dtype=np.float32)
    return ChunkDone(end_ms * MS, 1, chunk, steps, success, False, success, rows)


def paid(chunk, value):
    return Reward(0, 1, chunk, value, (), value, False, False)


def episode(*values):
    start = Episode(1000 * MS, 1, False, 'arm', 'task', 'do it', 0, 0)
    return RunEvents([Arrival(0, value) for value in (start, *values)])


def signals():
    stamps = np.arange(1000 * MS, 9000 * MS, 10 * MS)
    joints = Track('/observation/joint_states', ('f1', 'f2'), stamps, np.zeros((len(stamps), 2)))
    pose = Track('/observation/ee_pose', tuple('xyzabcd'), stamps, np.ones((len(stamps), 7)))
    return Signals(joints, pose, {})


def test_time_between_chunks_is_a_pause_and_no_frame():
    found = episode_steps(episode(done(1, 1100, 2), done(2, 1600, 3)), signals(), HOW)
    assert (found.steps.begin // MS).tolist() == [1000, 1050, 1450, 1500, 1550]
    assert found.pauses == 1
    assert found.pause_s == pytest.approx(0.35)


def test_what_a_chunk_without_steps_brought_is_on_the_step_before():
    events = episode(done(1, 1100, 2), paid(1, 0.5), done(2, 1300, 0, success=True), paid(2, 2.0))
    found = episode_steps(events, signals(), HOW)
    assert found.steps.reward.tolist() == [0.0, 2.5]
    assert found.steps.terminated.tolist() == found.steps.success.tolist() == [False, True]
    assert found.notes == ('chunk 2 has no step: what it brought is on the step before',)


def test_newest_chunk_that_reaches_a_step_tells_who_acted():
    rows = np.zeros((4, 7), dtype=np.float32)
    sent = [
        ActionChunk(1000 * MS, 1, 1, 'policy', 'ee_delta_pose', 0.05, rows),
        ActionChunk(1100 * MS, 1, 1, 'teleop', 'ee_delta_pose', 0.05, rows[:2]),
    ]
    found = episode_steps(episode(*sent, done(1, 1300, 6)), signals(), HOW)
    assert found.steps.actor.tolist() == [0, 0, 1, 1, -1, -1]
    assert found.steps.intervention.tolist() == [False, False, True, True, False, False]


def test_clock_that_goes_back_is_refused():
    with pytest.raises(BagError, match=r'chunk 2 ended at 1\.050 s, not after 1\.100 s'):
        episode_steps(episode(done(1, 1100, 2), done(2, 1050, 1)), signals(), HOW)


def test_episode_without_a_step_is_none():
    assert episode_steps(episode(done(1, 1100, 0)), signals(), HOW) is None


def test_step_before_the_first_observation_is_refused():
    late = signals()
    late = Signals(
        late.joints, Track('/pose', ('x',), late.pose.stamps + 60 * MS, late.pose.values), {}
    )
    with pytest.raises(BagError, match=r'no /pose before its step at 1\.000 s'):
        episode_steps(episode(done(1, 1100, 2)), late, HOW)


def test_odd_sides_are_refused_in_a_video(tmp_path):
    video = VideoWriter(tmp_path, 'observation.images.head', 20, 'av1')
    with pytest.raises(
        DatasetError, match=r'is 65 x 64; allowed in a video: even sides; --images'
    ):
        video.add(np.zeros((64, 65, 3), dtype=np.uint8))
