"""The report of a run: run.json, trace.json and one self-contained report.html."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment
from jinja2 import PackageLoader
from jinja2 import StrictUndefined
from markupsafe import Markup

from structrl_ros.errors import BagError
from structrl_ros.evaluation.statistics import percentile
from structrl_ros.evaluation.statistics import wilson_interval
from structrl_ros.recording.film import Frame
from structrl_ros.recording.film import film_frames
from structrl_ros.recording.ledger import check_ledger
from structrl_ros.recording.reward_chart import reward_chart
from structrl_ros.recording.reward_chart import term_colours
from structrl_ros.recording.run_builder import build_record
from structrl_ros.recording.run_events import read_events
from structrl_ros.recording.run_record import Outcome
from structrl_ros.recording.run_record import RunRecord
from structrl_ros.recording.timeline_chart import timeline_chart
from structrl_ros.subtasks.tracker import TrackerSettings
from structrl_ros.types import Episode

#: Frames in the player, and how many of them the strip shows.
FILM_FRAMES = 48
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
    start_ns = mine.of(Episode)[0].stamp_ns
    end_ns = start_ns + round(record.duration_s * 1e9)
    frames = film_frames(bag, start_ns, end_ns, FILM_FRAMES)
    path = run_dir / 'report.html'
    try:
        _write_json(run_dir / 'run.json', record.to_json())
        _write_json(run_dir / 'trace.json', trace)
        path.write_text(render_report(record, frames), 'utf-8')
    except OSError as error:
        raise BagError(f'cannot write the report of {run_dir}: {error}') from error
    return path


def render_report(record: RunRecord, frames: Sequence[Frame]) -> str:
    """Return the HTML of a report; it needs no network and no other file."""
    environment = Environment(
        loader=PackageLoader('structrl_ros.recording', '.'),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(ms=_milliseconds, seconds=_seconds, number=_number)
    template = environment.get_template('report_template.html')
    film = [{'t': round(f.t_s, 3), 'url': f.data_url} for f in frames]
    return template.render(
        record=record,
        verdict=_verdict(record),
        timeline=Markup(timeline_chart(record)),
        rewards=Markup(reward_chart(record)),
        colours=term_colours(record),
        paid=[r for r in record.rewards if any(v for _, v in r.terms)],
        unpaid=sum(1 for r in record.rewards if not any(v for _, v in r.terms)),
        sums_agree=record.sum_of_terms == record.episode_return,
        strip=_strip(frames),
        size=(frames[0].width, frames[0].height) if frames else (0, 0),
        film=Markup(json.dumps(film).replace('<', '\\u003c')),
        ages=_ages(record),
        measured=_measured(record),
        sources=sorted({c.source for c in record.chunks}),
        steps=sum(e.executed_steps for e in record.executed),
        spans=_spans_by_subtask(record),
        holds=_holds(record),
        wanted_hz=record.monitor.held.wanted_hz if record.monitor.held else MONITOR_RATE_HZ,
    )


def _write_json(path: Path, document: Any) -> None:
    text = json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False)
    part = path.with_name(path.name + '.tmp')
    part.write_text(text + '\n', 'utf-8')
    part.replace(path)


def _verdict(record: RunRecord) -> str:
    if record.outcome.success is None:
        return 'unfinished'
    return 'success' if record.outcome.success else 'no success'


def _strip(frames: Sequence[Frame]) -> list[Frame]:
    if len(frames) <= STRIP_FRAMES:
        return list(frames)
    last = len(frames) - 1
    return [frames[round(i * last / (STRIP_FRAMES - 1))] for i in range(STRIP_FRAMES)]


def _ages(record: RunRecord) -> dict[str, float | None]:
    ages = [c.age_s for c in record.chunks]
    return {
        'p50': percentile(ages, 50.0),
        'p99': percentile(ages, 99.0),
        'max': max(ages, default=None),
    }


def _measured(record: RunRecord) -> list[dict[str, Any]]:
    """Return the rates of the policy's card with Wilson intervals."""
    rates = record.policy.measured if record.policy else ()
    return [
        {
            'label': r.label,
            'rate': r.successes / r.episodes if r.episodes else None,
            'interval': wilson_interval(r.successes, r.episodes),
            'episodes': r.episodes,
        }
        for r in rates
    ]


def _spans_by_subtask(record: RunRecord) -> dict[tuple[int, str], dict[str, Any]]:
    """Return time, chunks and last result of each subtask of each revision."""
    found: dict[tuple[int, str], dict[str, Any]] = {}
    for span in record.subtasks:
        entry = found.setdefault(
            (span.revision, span.id), {'seconds': 0.0, 'chunks': 0, 'start_s': span.start_s}
        )
        entry['seconds'] += span.end_s - span.start_s
        entry['chunks'] += span.chunks
        entry['result'] = span.result
    return found


def _holds(record: RunRecord) -> list[dict[str, Any]]:
    """Return the times without motion, those that differ in numbers only as one entry."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for span in record.safety:
        if span.state == 'ok':
            continue
        key = (span.state, re.sub(r'\d+(\.\d+)?', '#', span.reason))
        seconds = span.end_s - span.start_s
        entry = found.setdefault(
            key,
            {
                'state': span.state,
                'reason': span.reason,
                'first_s': span.start_s,
                'times': 0,
                'seconds': 0.0,
                'longest_s': 0.0,
            },
        )
        entry['times'] += 1
        entry['seconds'] += seconds
        entry['longest_s'] = max(entry['longest_s'], seconds)
    return list(found.values())


def _milliseconds(seconds: float | None) -> str:
    return '-' if seconds is None else f'{seconds * 1e3:.1f}'


def _seconds(seconds: float | None) -> str:
    return '-' if seconds is None else f'{seconds:.2f}'


def _number(value: float | None, digits: int = 6) -> str:
    return '-' if value is None else f'{value:.{digits}f}'
