"""run.json and report.html: right numbers, sums that hold, sound and self-contained HTML."""

import itertools
import json
import math
from collections import Counter
from dataclasses import replace

import pytest

from structrl_ros.errors import BagError
from structrl_ros.evaluation.statistics import wilson_interval
from structrl_ros.recording.film import read_pictures
from structrl_ros.recording.film import to_frames
from structrl_ros.recording.ledger import check_ledger
from structrl_ros.recording.report import render_report
from structrl_ros.recording.report import write_report
from structrl_ros.recording.run_builder import build_record
from structrl_ros.recording.run_events import read_events
from structrl_ros.recording.run_record import Outcome
from structrl_ros.recording.svg import round_ticks

SECOND = 1_000_000_000


def record_of(path):
    events = read_events(path / 'bag')
    _, ledger = check_ledger(events.of_episode(events.main_episode()))
    return build_record(events, run='a run', ledger=ledger)


def test_record_holds_the_numbers_of_the_run(tmp_path, synthetic_run):
    synthetic_run().write(tmp_path)
    record = record_of(tmp_path)
    assert record.outcome == Outcome(True, 'success', 'episode')
    assert record.duration_s == pytest.approx(9.6)
    episode = record.episode
    assert (episode.task, episode.seed, episode.initial_state) == ('libero_10/0', 7, 3)
    assert [e.chunk for e in record.executed] == list(range(1, 25))
    assert [c.age_s for c in record.chunks] == [0.0] * 24
    assert {c.length for c in record.chunks} == {8}
    assert record.replans == 0


def test_monitor_rate_and_period_are_in_body_time(tmp_path, synthetic_run):
    synthetic_run().write(tmp_path)
    monitor = record_of(tmp_path).monitor
    assert monitor.verdicts == 44
    assert monitor.period.rate_hz == pytest.approx(5.0)
    assert monitor.period.p99_s == pytest.approx(0.2)
    assert (monitor.held.dropped, monitor.held.period_p99_s) == (1, 0.205)
    assert monitor.latency_p99_s == pytest.approx(0.004, rel=1e-6)


def test_chunk_begins_its_steps_before_its_end(tmp_path, synthetic_run):
    synthetic_run(chunk_s=0.6, chunks=3).write(tmp_path)
    executed = record_of(tmp_path).executed
    assert [(e.start_s, e.t_s) for e in executed] == [
        pytest.approx((0.6 * k - 0.4, 0.6 * k)) for k in (1, 2, 3)
    ]


def test_subtask_spans_tile_the_run_and_end_in_done(tmp_path, synthetic_run):
    synthetic_run().write(tmp_path)
    spans = record_of(tmp_path).subtasks
    assert [s.id for s in spans] == ['s1', 's2', 's3', 's4']
    assert {s.result for s in spans} == {'done'}
    assert [s.chunks for s in spans] == [5, 6, 5, 6]
    assert [s.start_s for s in spans[1:]] == [s.end_s for s in spans[:-1]]


def test_safety_spans_and_faults_are_kept_with_their_reason(tmp_path, synthetic_run):
    synthetic_run().write(tmp_path)
    record = record_of(tmp_path)
    assert [s.state for s in record.safety] == ['ok', 'hold', 'ok']
    hold = record.safety[1]
    assert (hold.start_s, hold.end_s) == pytest.approx((3.6, 4.0))
    assert hold.reason == 'no chunk for 0.11 s'
    (fault,) = record.faults
    assert (fault.level, fault.message, fault.count) == (
        'warning',
        'chunk 8 holds NaN: rejected',
        1,
    )


def test_figures_of_the_body_come_from_its_diagnostics(tmp_path, synthetic_run):
    synthetic_run().write(tmp_path)
    body = record_of(tmp_path).body
    assert (body.rejected_chunks, body.real_time_factor_p50) == (1, 0.98)


def test_rates_of_the_policy_card_stand_in_the_report_with_intervals(tmp_path, synthetic_run):
    synthetic_run().write(tmp_path)
    policy = record_of(tmp_path).policy
    assert [(r.label, r.successes, r.episodes) for r in policy.measured] == [
        ('before', 26, 100),
        ('after', 83, 100),
    ]
    page = write_report(tmp_path).read_text()
    low, high = wilson_interval(83, 100)
    assert f'{low:.3f}' in page
    assert f'{high:.3f}' in page
    assert 'structrl train ppo' in page


def test_terms_sum_to_the_return_to_the_last_bit(tmp_path, synthetic_run, parse_html):
    synthetic_run().write(tmp_path)
    record = record_of(tmp_path)
    assert record.sum_of_terms == record.episode_return
    assert record.episode_return == pytest.approx(
        2.0 + sum(0.6 / (1 + t / d) for t, d in ((5, 4), (6, 6), (5, 5), (6, 6)))
    )
    html = parse_html(render_report(record, {}))
    chunks = {}
    for chunk, amount in html.paid:
        chunks[chunk] = chunks.get(chunk, 0.0) + amount
    assert sum(chunks.values()) == html.total == record.episode_return
    assert len(html.paid) == 5


def test_report_says_so_when_the_terms_do_not_sum(tmp_path, synthetic_run):
    synthetic_run().write(tmp_path)
    record = replace(record_of(tmp_path), episode_return=9.0)
    assert 'The terms do not sum to the return' in render_report(record, {})


def test_run_json_and_report_hold_the_same_numbers(tmp_path, synthetic_run, parse_html):
    synthetic_run().write(tmp_path)
    text = write_report(tmp_path).read_text()
    found = json.loads((tmp_path / 'run.json').read_text())
    assert found['episode_return'] == parse_html(text).total
    assert found['rewards'][4]['terms'][0][1] == parse_html(text).paid[0][1]
    assert found['monitor']['period']['rate_hz'] == pytest.approx(5.0)
    assert f'{found["monitor"]["period"]["rate_hz"]:.2f}' in text


def test_report_is_sound_html_without_links_to_elsewhere(tmp_path, synthetic_run, parse_html):
    synthetic_run().write(tmp_path)
    html = parse_html(write_report(tmp_path).read_text())
    assert [i for i, n in Counter(html.ids).items() if n > 1] == []
    assert set(html.uses) <= set(html.ids)
    assert {link[1:] for link in html.links if link.startswith('#')} <= {*html.ids}
    for link in html.links:
        assert link.startswith(('data:', '#')) or link in ('run.json', 'trace.json'), link
    assert len(html.images) == 12
    for image in html.images:
        assert image['alt']
        assert int(image['width']) > 0


def test_text_of_a_planner_cannot_break_the_page(tmp_path, synthetic_run, parse_html):
    evil = '</script><img src=x onerror=alert(1)> & "quotes"'
    synthetic_run(instruction=evil).write(tmp_path)
    text = write_report(tmp_path).read_text()
    assert '<img src=x' not in text
    assert '&lt;soup&gt; &amp; then the sauce' in text
    parse_html(text)


def test_film_is_spread_over_the_run(tmp_path, synthetic_run):
    synthetic_run(is_rich=True).write(tmp_path)
    pictures = read_pictures(tmp_path / 'bag', SECOND, SECOND + 96 * SECOND // 10, 48)
    assert list(pictures) == ['head', 'left_wrist']
    frames = to_frames(pictures['head'], 12)
    times = [f.t_s for f in frames]
    assert len(times) == 12
    assert (times[0], times[-1]) == (0.0, 9.6)
    assert max(b - a for a, b in itertools.pairwise(times)) <= 1.3
    assert frames[0].jpeg.startswith(b'\xff\xd8')
    assert (frames[0].width, frames[0].height) == (128, 96)


def test_cut_recording_is_reported_as_unfinished(tmp_path, synthetic_run):
    run = synthetic_run(close=False, chunks=6)
    run.write(tmp_path).flush()
    path = tmp_path / 'bag/bag_0.mcap'
    with path.open('r+b') as stream:
        stream.truncate(path.stat().st_size - 10)
    events = read_events(tmp_path / 'bag')
    assert events.is_cut
    text = write_report(tmp_path).read_text()
    assert 'read up to the cut' in text
    assert json.loads((tmp_path / 'run.json').read_text())['bag_is_cut'] is True


def test_run_without_end_has_no_outcome(tmp_path, synthetic_run):
    run = synthetic_run(chunks=4)
    put = run._put
    run._put = lambda t, v: None if getattr(v, 'ended', False) else put(t, v)
    run.write(tmp_path)
    record = record_of(tmp_path)
    assert record.outcome.success is None
    assert 'unfinished' in render_report(record, {})


def test_result_of_the_task_goes_before_the_end_of_the_episode(tmp_path, synthetic_run):
    synthetic_run(success=False).write(tmp_path)
    told = Outcome(False, 'attempts of grasp tomato sauce are used up', 'task')
    text = write_report(tmp_path, outcome=told).read_text()
    assert told.reason in text
    assert json.loads((tmp_path / 'run.json').read_text())['outcome']['told_by'] == 'task'


def test_bag_without_an_episode_is_refused_in_one_line(tmp_path, synthetic_run):
    run = synthetic_run()
    run._play = lambda: None
    run.write(tmp_path)
    with pytest.raises(BagError, match='no episode'):
        write_report(tmp_path)


def test_numbers_that_json_does_not_know_become_null(tmp_path, synthetic_run):
    synthetic_run(chunks=2).write(tmp_path)
    record = replace(record_of(tmp_path), wall_s=math.nan)
    assert record.to_json()['wall_s'] is None
    assert json.loads(json.dumps(record.to_json(), allow_nan=False))['duration_s'] > 0


def test_round_ticks_are_round_and_inside():
    assert round_ticks(0.0, 9.6, 10) == [float(i) for i in range(10)]
    assert round_ticks(0.0, 0.0) == [0.0]
    ticks = round_ticks(-0.37, 2.9, 4)
    assert all(-0.37 <= t <= 2.9 and math.isclose(t, round(t, 1)) for t in ticks)
    assert 0.0 in ticks
