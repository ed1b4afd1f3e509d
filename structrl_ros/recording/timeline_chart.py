"""The timeline of a run as inline SVG: subtasks, chunks, verdicts, control, safety."""

from __future__ import annotations

from collections.abc import Callable

from structrl_ros.recording.run_record import RunRecord
from structrl_ros.recording.run_record import SubtaskSpan
from structrl_ros.recording.svg import element
from structrl_ros.recording.svg import round_ticks
from structrl_ros.recording.svg import text
from structrl_ros.recording.svg import titled

WIDTH = 960.0
LEFT = 84.0
RIGHT = 12.0
_LANE = 34.0
_TOP = 8.0
_LANES = ('Subtask', 'Chunk', 'Verdict', 'Control', 'Safety')
_BOTTOM = _TOP + len(_LANES) * _LANE
HEIGHT = _BOTTOM + 34.0


def time_scale(duration_s: float) -> Callable[[float], float]:
    """Return the map from seconds to x, the same in every chart of a report."""
    span = max(duration_s, 1e-9)
    return lambda t_s: LEFT + (WIDTH - LEFT - RIGHT) * min(max(t_s / span, 0.0), 1.0)


def timeline_chart(record: RunRecord) -> str:
    """Return the chart; each mark carries its numbers as a tooltip."""
    x = time_scale(record.duration_s)
    parts = [_frame(record, x)]
    parts += [_subtask(span, i, x) for i, span in enumerate(record.subtasks)]
    parts += _chunks(record, x)
    parts += _verdicts(record, x)
    parts += _control(record, x)
    parts += _safety(record, x)
    cursor = element('line', id='cursor', x1=LEFT, x2=LEFT, y1=_TOP, y2=_BOTTOM, class_='cursor')
    return element(
        'svg',
        element('title', 'Timeline of subtasks, chunks, verdicts, control and safety states'),
        *parts,
        cursor,
        viewBox=f'0 0 {WIDTH:.0f} {HEIGHT:.0f}',
        role='img',
        aria_label='Timeline of the run; the table below it has the same as text',
        class_='chart',
        id='timeline',
        data_left=str(LEFT),
        data_right=str(WIDTH - RIGHT),
        data_duration=str(record.duration_s),
    )


def time_axis(duration_s: float, x: Callable[[float], float], top: float, bottom: float) -> str:
    """Return grid lines and labels of the time axis."""
    parts = []
    for t in round_ticks(0.0, duration_s, 10):
        parts.append(element('line', x1=x(t), x2=x(t), y1=top, y2=bottom, class_='grid'))
        parts.append(text(f'{t:g}', x(t), bottom + 14, 'tick', text_anchor='middle'))
    middle = x(duration_s / 2.0)
    parts.append(text('body time (s)', middle, bottom + 29, 'tick', text_anchor='middle'))
    return ''.join(parts)


def _frame(record: RunRecord, x: Callable[[float], float]) -> str:
    names = [
        text(name, LEFT - 10, _middle(i) + 4, 'label', text_anchor='end')
        for i, name in enumerate(_LANES)
    ]
    return time_axis(record.duration_s, x, _TOP, _BOTTOM) + ''.join(names)


def _middle(lane: int) -> float:
    return _TOP + (lane + 0.5) * _LANE


def _subtask(span: SubtaskSpan, number: int, x: Callable[[float], float]) -> str:
    left, right = x(span.start_s), x(span.end_s)
    width = max(right - left - 1.0, 1.5)
    y = _middle(0)
    shade = 'even' if number % 2 else 'odd'
    bar = element(
        'rect',
        x=left,
        y=y - 12,
        width=width,
        height=24,
        rx=4,
        class_=f'span {shade} {span.result}',
    )
    room = int((width - 8) / 6.3)
    words = span.phrase if len(span.phrase) <= room else span.phrase[: max(0, room - 1)] + '…'
    label = text(words, left + 5, y + 4, 'inside') if room >= 4 else ''
    seconds = span.end_s - span.start_s
    return titled(
        bar + label,
        f'{span.phrase}: {span.start_s:.2f} to {span.end_s:.2f} s ({seconds:.2f} s, '
        f'{span.chunks} chunks), {span.result}, plan {span.revision}',
    )


def _chunks(record: RunRecord, x: Callable[[float], float]) -> list[str]:
    y = _middle(1)
    marks = []
    for entry in record.executed:
        left, right = x(entry.start_s), x(entry.t_s)
        shade = 'even' if entry.chunk % 2 else 'odd'
        bar = element(
            'rect',
            x=left,
            y=y - 8,
            width=max(right - left - 0.6, 0.8),
            height=16,
            class_=f'chunk {shade}',
        )
        words = f'chunk {entry.chunk}: {entry.executed_steps} steps, ended at {entry.t_s:.2f} s'
        marks.append(titled(bar, words))
    return marks


def _verdicts(record: RunRecord, x: Callable[[float], float]) -> list[str]:
    y = _middle(2)
    marks = []
    for v in record.verdicts:
        at = x(v.t_s)
        words = (
            f'{v.subtask_id} {"done" if v.done else "stopped" if v.stop else "not yet"} at '
            f'{v.t_s:.2f} s, confidence {v.confidence:.2f}, {v.latency_s * 1e3:.0f} ms'
        )
        if v.done:
            mark = element('circle', cx=at, cy=y, r=6, class_='verdict done') + element(
                'path', d=f'M{at - 3:.2f} {y:.2f} l2.2 2.4 l3.8 -4.4', class_='check'
            )
        elif v.stop:
            mark = element('rect', x=at - 5, y=y - 5, width=10, height=10, class_='verdict stop')
        else:
            mark = element('line', x1=at, x2=at, y1=y - 5, y2=y + 5, class_='verdict open')
        marks.append(titled(mark, words))
    return marks


def _control(record: RunRecord, x: Callable[[float], float]) -> list[str]:
    marks = []
    for span in record.control:
        device = f' by {span.device}' if span.device else ''
        words = f'{span.who}{device}, {span.start_s:.2f} to {span.end_s:.2f} s'
        marks.append(
            _bar(x(span.start_s), x(span.end_s), 3, f'control {span.who}', span.who, words)
        )
    return marks


def _safety(record: RunRecord, x: Callable[[float], float]) -> list[str]:
    marks = []
    for span in record.safety:
        reason = f': {span.reason}' if span.reason else ''
        words = f'{span.state}{reason}, {span.start_s:.2f} to {span.end_s:.2f} s'
        left, right = x(span.start_s), x(span.end_s)
        marks.append(_bar(left, right, 4, f'safety {span.state}', span.state, words))
    return marks


def _bar(left: float, right: float, lane: int, class_: str, name: str, words: str) -> str:
    y = _middle(lane)
    width = max(right - left, 1.5)
    bar = element('rect', x=left, y=y - 7, width=width, height=14, class_=class_)
    is_named = width > 9.0 + 6.3 * len(name)
    return titled(bar + (text(name, left + 5, y + 4, 'inside') if is_named else ''), words)
