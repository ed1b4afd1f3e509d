"""What the tables of a run's report show, from its record."""

from __future__ import annotations

import re
from typing import Any

from structrl_ros.evaluation.statistics import Rate
from structrl_ros.evaluation.statistics import percentile
from structrl_ros.recording.run_record import RunRecord


def verdict_words(record: RunRecord) -> str:
    """Return how the run ended: 'success', 'no success' or 'unfinished'."""
    if record.outcome.success is None:
        return 'unfinished'
    return 'success' if record.outcome.success else 'no success'


def age_figures(record: RunRecord) -> dict[str, float | None]:
    """Return middle, 99th percentile and largest of the ages of the chunks, in seconds."""
    ages = [c.age_s for c in record.chunks]
    return {
        'p50': percentile(ages, 50.0),
        'p99': percentile(ages, 99.0),
        'max': max(ages, default=None),
    }


def measured_rates(record: RunRecord) -> list[dict[str, Any]]:
    """Return the rates of the policy's card with Wilson intervals."""
    rates = record.policy.measured if record.policy else ()
    return [{'label': r.label, **Rate(r.successes, r.episodes).to_json()} for r in rates]


def spans_by_subtask(record: RunRecord) -> dict[tuple[int, str], dict[str, Any]]:
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


def hold_entries(record: RunRecord) -> list[dict[str, Any]]:
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


def events_in_order(record: RunRecord) -> list[tuple[float, str, str]]:
    """Return the timeline as text: seconds, what it is about, and what happened."""
    found = [
        (p.t_s, 'Plan', f'revision {p.revision}, {len(p.subtasks)} subtasks') for p in record.plans
    ]
    for span in record.subtasks:
        words = f'{span.phrase}: {span.result} after {span.end_s - span.start_s:.2f} s'
        found.append((span.end_s, 'Subtask', f'{words}, {span.chunks} chunks'))
    for control in record.control:
        device = f' by {control.device}' if control.device else ''
        found.append(
            (control.start_s, 'Control', f'{control.who}{device} until {control.end_s:.2f} s')
        )
    for safety in record.safety:
        reason = f': {safety.reason}' if safety.reason else ''
        found.append((safety.start_s, 'Safety', f'{safety.state}{reason}'))
    return sorted(found, key=lambda event: event[0])
