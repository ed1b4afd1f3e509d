"""Progress over a run as inline SVG: subtasks done, and what the progress model said."""

from __future__ import annotations

from structrl_ros.recording.panel_chart import Panel
from structrl_ros.recording.panel_chart import panel_chart
from structrl_ros.recording.run_record import RunRecord
from structrl_ros.recording.svg import element
from structrl_ros.recording.svg import polyline
from structrl_ros.recording.svg import titled
from structrl_ros.recording.timeline_chart import time_scale

#: Hops of the model with the class of their lines; the legend of the page names them.
HOPS = (
    ('hop_forward', 'forward', 'line term1'),
    ('hop_backward', 'backward', 'line term2 dashed'),
    ('hop_incremental', 'incremental', 'line term4 dotted'),
)


def progress_chart(record: RunRecord) -> str:
    """Return the share of subtasks done over time, with the potential where a model gave one."""
    done = Panel('share of subtasks done', 0, 0.0, 1.0)
    title = 'Share of subtasks done'
    if not record.progress:
        return panel_chart(title, record.duration_s, (done,), _done(record, done))
    low = -1.0 if any(p.potential < 0.0 for p in record.progress) else 0.0
    potential = Panel('potential of the progress model', 1, low, 1.0)
    hops = Panel('hops', 2, -1.0, 1.0)
    return panel_chart(
        f'{title}, potential and hops of the progress model',
        record.duration_s,
        (done, potential, hops),
        _done(record, done),
        *_lines(record, potential, hops),
        *_invalid(record, potential),
    )


def _done(record: RunRecord, panel: Panel) -> str:
    x, y = time_scale(record.duration_s), panel.y
    points = [(x(0.0), y(0.0))]
    for entry in record.done:
        points.append((x(entry.t_s), points[-1][1]))
        points.append((x(entry.t_s), y(entry.share)))
    points.append((x(record.duration_s), points[-1][1]))
    return polyline(points, 'line term0')


def _lines(record: RunRecord, potential: Panel, hops: Panel) -> list[str]:
    x = time_scale(record.duration_s)
    valid = [p for p in record.progress if p.valid]
    lines = [polyline([(x(p.t_s), potential.y(p.potential)) for p in valid], 'line term0')]
    for field, name, class_ in HOPS:
        told = [p for p in valid if getattr(p, field) is not None]
        points = [(x(p.t_s), hops.y(getattr(p, field))) for p in told]
        if points:
            lines.append(titled(polyline(points, class_), f'{name} hop'))
    return lines


def _invalid(record: RunRecord, panel: Panel) -> list[str]:
    """Mark answers that were not used."""
    x = time_scale(record.duration_s)
    marks = []
    for entry in record.progress:
        if not entry.valid:
            at, y = x(entry.t_s), panel.y(panel.low)
            mark = element(
                'path', d=f'M{at - 4:.2f} {y - 9:.2f} l8 8 m0 -8 l-8 8', class_='invalid'
            )
            marks.append(titled(mark, f'step {entry.step}: no valid answer'))
    return marks
