"""The report of a run: run.json, trace.json and one self-contained report.html."""

from __future__ import annotations

import json
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from structrl_ros.errors import BagError
from structrl_ros.recording.film import Frame
from structrl_ros.recording.film import read_pictures
from structrl_ros.recording.film import to_frames
from structrl_ros.recording.film_clip import Clip
from structrl_ros.recording.film_clip import can_encode
from structrl_ros.recording.film_clip import make_clip
from structrl_ros.recording.ledger import check_ledger
from structrl_ros.recording.progress_chart import HOPS
from structrl_ros.recording.progress_chart import progress_chart
from structrl_ros.recording.report_figures import age_figures
from structrl_ros.recording.report_figures import events_in_order
from structrl_ros.recording.report_figures import hold_entries
from structrl_ros.recording.report_figures import measured_rates
from structrl_ros.recording.report_figures import spans_by_subtask
from structrl_ros.recording.report_figures import verdict_words
from structrl_ros.recording.report_pages import render_page
from structrl_ros.recording.reward_chart import reward_chart
from structrl_ros.recording.reward_chart import term_colours
from structrl_ros.recording.run_builder import build_record
from structrl_ros.recording.run_events import read_events
from structrl_ros.recording.run_record import Outcome
from structrl_ros.recording.run_record import RunRecord
from structrl_ros.recording.seam_chart import seam_chart
from structrl_ros.recording.timeline_chart import timeline_chart
from structrl_ros.subtasks.tracker import TrackerSettings
from structrl_ros.types import Episode

#: Most pictures of a camera in its video and a second, and how many the strip shows.
FILM_PICTURES = 600
FILM_RATE_HZ = 10.0
STRIP_FRAMES = 12
#: What a monitor is meant to hold where the planner does not say: REVER's 5 Hz.
MONITOR_RATE_HZ = 5.0


def write_report(
    run_dir: Path,
    *,
    outcome: Outcome | None = None,
    settings: TrackerSettings | None = None,
) -> Path:
    """Write run.json, trace.json and report.html of a run from its bag.

    Args:
        run_dir: Folder that holds `bag/`.
        outcome: How the task ended by its action result; None takes the episode's own end.
        settings: What the tracker ran with; None takes what it said on /diagnostics.

    Returns:
        Path of report.html.

    Raises:
        BagError: If there is no bag, it holds no episode, or a file cannot be written.
    """
    bag = run_dir / 'bag'
    events = read_events(bag)
    number = events.main_episode()
    mine = events.of_episode(number)
    trace, ledger = check_ledger(mine, settings)
    record = build_record(events, run=run_dir.resolve().name, ledger=ledger, told=outcome)
    frames, clips = read_film(bag, mine.of(Episode)[0].stamp_ns, record.duration_s)
    path = run_dir / 'report.html'
    try:
        _write_json(run_dir / 'run.json', record.to_json())
        _write_json(run_dir / 'trace.json', trace)
        path.write_text(render_report(record, frames, clips), 'utf-8')
    except OSError as error:
        raise BagError(f'cannot write the report of {run_dir}: {error}') from error
    return path


def read_film(
    bag: Path, start_ns: int, duration_s: float
) -> tuple[dict[str, list[Frame]], list[Clip]]:
    """Return the strips of all cameras, and their videos where PyAV can make them.

    Raises:
        BagError: If the bag or a picture is damaged.
    """
    count = max(STRIP_FRAMES, min(FILM_PICTURES, round(duration_s * FILM_RATE_HZ)))
    pictures = read_pictures(bag, start_ns, start_ns + round(duration_s * 1e9), count)
    strips = {role: to_frames(mine, STRIP_FRAMES) for role, mine in pictures.items()}
    if not can_encode():
        return strips, []
    clips = (make_clip(role, mine) for role, mine in pictures.items())
    return strips, [clip for clip in clips if clip is not None]


def render_report(
    record: RunRecord, strips: Mapping[str, Sequence[Frame]], clips: Sequence[Clip] = ()
) -> str:
    """Return the HTML of a report; it needs no network and no other file.

    Args:
        record: What the report says.
        strips: Camera's role to frames; one camera's is shown.
        clips: Videos, one a camera.
    """
    return render_page(
        'report_run.html',
        record=record,
        verdict=verdict_words(record),
        timeline=Markup(timeline_chart(record)),
        happened=events_in_order(record),
        progress=Markup(progress_chart(record)),
        hops=HOPS,
        rewards=Markup(reward_chart(record)),
        seams=Markup(seam_chart(record.motion, record.duration_s)) if record.motion else '',
        colours=term_colours(record),
        paid=[r for r in record.rewards if any(v for _, v in r.terms)],
        unpaid=sum(1 for r in record.rewards if not any(v for _, v in r.terms)),
        sums_agree=record.sum_of_terms == record.episode_return,
        role=next(iter(strips), ''),
        strip=next(iter(strips.values()), []),
        clips=clips,
        ages=age_figures(record),
        measured=measured_rates(record),
        sources=sorted({c.source for c in record.chunks}),
        steps=sum(e.executed_steps for e in record.executed),
        spans=spans_by_subtask(record),
        holds=hold_entries(record),
        wanted_hz=record.monitor.held.wanted_hz if record.monitor.held else MONITOR_RATE_HZ,
    )


def _write_json(path: Path, document: Any) -> None:
    text = json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False)
    part = path.with_name(path.name + '.tmp')
    part.write_text(text + '\n', 'utf-8')
    part.replace(path)
