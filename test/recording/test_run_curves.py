"""What runs along a report's time: seams, who is in control, progress, videos."""

import io
import sys
from dataclasses import replace

import numpy as np
import pytest

from structrl_ros.recording.control_spans import control_spans
from structrl_ros.recording.film import Picture
from structrl_ros.recording.film_clip import make_clip
from structrl_ros.recording.motion_entry import motion_entry
from structrl_ros.recording.report import render_report
from structrl_ros.recording.report import write_report
from structrl_ros.recording.run_builder import build_record
from structrl_ros.recording.run_curves import ControlSpan
from structrl_ros.recording.run_events import Arrival
from structrl_ros.recording.run_events import RunEvents
from structrl_ros.recording.run_events import read_events
from structrl_ros.recording.run_record import ChunkEntry
from structrl_ros.recording.run_record import ExecutedEntry
from structrl_ros.recording.run_record import LedgerCheck
from structrl_ros.recording.seam_chart import thinned
from structrl_ros.types import ActionChunk
from structrl_ros.types import ChunkDone

SECOND = 1_000_000_000
NOT_RUN = LedgerCheck(None, 0, 'not asked for')


def record_of(path):
    return build_record(read_events(path / 'bag'), run='a run', ledger=NOT_RUN)


def events_of(chunks, period_s=0.1, space='ee_delta_pose'):
    """Return events of chunks, given as (end in seconds, rows)."""
    found = RunEvents()
    for number, (end_s, rows) in enumerate(chunks, 1):
        rows = np.asarray(rows, dtype=np.float32)
        end_ns = round(end_s * SECOND)
        sent = ActionChunk(end_ns, 1, number, 'policy', space, period_s, rows)
        done = ChunkDone(end_ns, 1, number, len(rows), False, False, False, rows)
        found.arrivals += [Arrival(0, sent), Arrival(0, done)]
    return found


def rows(*speeds):
    """Return rows that move along x only; 1 is 0.05 m a step."""
    return [[speed, 0, 0, 0, 0, 0, 1] for speed in speeds]


def test_step_at_a_seam_gives_the_acceleration_and_jerk_of_the_actions():
    motion = motion_entry(events_of([(0.3, rows(0.2, 0.2, 0.2)), (0.6, rows(0.6, 0.6, 0.6))]), 0)
    (seam,) = motion.seams
    # 0.4 of 0.05 m a step of 0.1 s is 0.2 m/s more in 0.1 s: 2 m/s^2; from 0 in 0.1 s: 20 m/s^3.
    assert seam.chunk == 2
    assert seam.t_s == pytest.approx(0.4)
    assert seam.acceleration == pytest.approx(2.0, rel=1e-6)
    assert seam.jerk == pytest.approx(20.0, rel=1e-6)
    assert seam.turn == 0.0
    acceleration, jerk, _ = motion.figures
    assert (acceleration.seams.count, acceleration.inside.count) == (1, 4)
    assert acceleration.inside.largest == pytest.approx(0.0, abs=1e-6)
    assert jerk.inside.largest == pytest.approx(0.0, abs=1e-4)


def test_jerk_of_a_seam_is_the_larger_of_the_two_that_it_enters():
    motion = motion_entry(events_of([(0.3, rows(0.0, 0.0, 0.0)), (0.6, rows(0.1, 0.0, 0.0))]), 0)
    assert motion.seams[0].jerk == pytest.approx(10.0, rel=1e-6)


def test_switch_after_a_rest_is_no_seam():
    motion = motion_entry(events_of([(0.2, rows(0.1, 0.1)), (0.9, rows(0.9, 0.9))]), 0)
    assert motion.seams == ()
    assert motion.rests == 1
    assert len(motion.t_s) == 2


def test_motion_of_another_action_space_is_not_guessed():
    assert motion_entry(events_of([(0.2, rows(0.1, 0.1))], space='joint_position'), 0) is None
    assert motion_entry(RunEvents(), 0) is None


def test_thinning_keeps_the_largest_value():
    points = [(float(i), 0.0) for i in range(10_000)]
    points[7777] = (7777.0, 5.0)
    found = thinned(points, 100)
    assert len(found) == 100
    assert (7777.0, 5.0) in found


def test_takeover_stands_between_the_stretches_of_the_policy(tmp_path, synthetic_run):
    synthetic_run(is_rich=True).write(tmp_path)
    record = record_of(tmp_path)
    assert [(c.who, c.device) for c in record.control] == [
        ('policy', ''),
        ('operator', 'pad'),
        ('policy', ''),
    ]
    takeover = record.takeovers[0]
    assert (takeover.start_s, takeover.end_s) == pytest.approx((2.4, 2.8))
    page = render_report(record, {})
    assert 'operator by pad, 2.40 to 2.80 s' in page
    assert 'operator by pad until 2.80 s' in page


def test_takeover_without_a_release_lasts_to_the_end(tmp_path, synthetic_run):
    run = synthetic_run(is_rich=True)
    put = run._put
    run._put = lambda t, v: None if getattr(v, 'active', True) is False else put(t, v)
    run.write(tmp_path)
    record = record_of(tmp_path)
    assert record.takeovers[0].end_s == pytest.approx(record.duration_s)
    assert record.control[-1].who == 'operator'


def test_another_source_of_chunks_begins_a_new_stretch():
    executed = [
        ExecutedEntry(0.4 * i, 0.4 * (i + 1), i + 1, 8, False, False, False) for i in range(4)
    ]
    sent = [
        ChunkEntry(0.4 * i, i, 'policy' if i < 2 else 'teleop', 8, 0.05, 0.0) for i in range(4)
    ]
    assert control_spans(executed, sent, ()) == (
        ControlSpan(0.0, 0.8, 'policy'),
        ControlSpan(0.8, pytest.approx(1.6), 'teleop'),
    )


def test_share_of_subtasks_done_rises_to_one(tmp_path, synthetic_run):
    synthetic_run().write(tmp_path)
    done = record_of(tmp_path).done
    assert [d.share for d in done] == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert [d.t_s for d in done[1:]] == pytest.approx([2.0, 4.4, 6.4, 8.8])


def test_progress_model_is_shown_and_answers_that_are_not_valid_are_marked(
    tmp_path, synthetic_run
):
    synthetic_run(is_rich=True).write(tmp_path)
    record = record_of(tmp_path)
    assert len(record.progress) == 24
    assert record.progress[-1].potential == 1.0
    page = render_report(record, {})
    assert page.count('class="invalid"') == 1
    assert '24 answers, 1 of them not valid' in page
    assert 'No progress model ran' in render_report(replace(record, progress=()), {})


def noise(count, side):
    random = np.random.default_rng(0)
    return [
        Picture(0.1 * i, random.integers(0, 255, (side, side, 3), dtype=np.uint8))
        for i in range(count)
    ]


def test_clip_holds_every_picture_at_its_time():
    av = pytest.importorskip('av')
    clip = make_clip('head', noise(12, 64))
    assert (clip.width, clip.height, clip.duration_s) == (64, 64, pytest.approx(1.1))
    with av.open(io.BytesIO(clip.webm)) as container:
        times = [frame.time for frame in container.decode(video=0)]
    assert times == pytest.approx([0.1 * i for i in range(12)], abs=2e-3)
    assert clip.data_url.startswith('data:video/webm;base64,')


def test_clip_is_made_coarser_until_it_fits_and_left_out_if_it_cannot():
    pytest.importorskip('av')
    pictures = noise(10, 320)
    free = make_clip('head', pictures)
    small = make_clip('head', pictures, most_bytes=len(free.webm) // 4)
    assert len(small.webm) <= len(free.webm) // 4
    assert small.width < free.width
    assert make_clip('head', pictures, most_bytes=200) is None
    assert make_clip('head', pictures[:1]) is None


def test_sizes_of_clips_are_even_and_never_larger_than_the_picture():
    pytest.importorskip('av')
    picture = Picture(0.0, np.zeros((97, 131, 3), dtype=np.uint8))
    clip = make_clip('head', [picture, replace(picture, t_s=0.5)])
    assert clip.width % 2 == clip.height % 2 == 0
    assert abs(clip.width - 131) <= 1
    assert abs(clip.height - 97) <= 1


def test_report_without_pyav_keeps_the_stills_and_says_so(tmp_path, synthetic_run, monkeypatch):
    monkeypatch.setitem(sys.modules, 'av', None)  # as if it were not installed
    synthetic_run(is_rich=True).write(tmp_path)
    page = write_report(tmp_path).read_text()
    assert 'PyAV is not installed' in page
    assert page.count('<img ') == 12
    assert '<video' not in page
    assert '<script>' not in page
