"""Reward by chunk as inline SVG: what each chunk was paid, and the return so far."""

from __future__ import annotations

from collections.abc import Callable

from structrl_ros.recording.run_record import RewardEntry
from structrl_ros.recording.run_record import RunRecord
from structrl_ros.recording.svg import element
from structrl_ros.recording.svg import polyline
from structrl_ros.recording.svg import round_ticks
from structrl_ros.recording.svg import text
from structrl_ros.recording.svg import titled
from structrl_ros.recording.timeline_chart import LEFT
from structrl_ros.recording.timeline_chart import RIGHT
from structrl_ros.recording.timeline_chart import WIDTH
from structrl_ros.recording.timeline_chart import time_axis
from structrl_ros.recording.timeline_chart import time_scale

_TOP = 22.0
_PANEL = 150.0
_GAP = 30.0
HEIGHT = _TOP + 2 * _PANEL + _GAP + 36.0
#: Terms get one of so many colours, in order of their first payment.
COLOURS = 8


def term_colours(record: RunRecord) -> dict[str, int]:
    """Return the number of each term's colour."""
    names = dict.fromkeys(n for r in record.rewards for n, v in r.terms if v)
    return {name: i % COLOURS for i, name in enumerate(names)}


def reward_chart(record: RunRecord) -> str:
    """Return two panels over body time: the return, and the terms of each chunk as bars."""
    x = time_scale(record.duration_s)
    upper, lower = _TOP + _PANEL, _TOP + 2 * _PANEL + _GAP
    returns = [r.episode_return for r in record.rewards]
    sums = [_stack_range(r) for r in record.rewards]
    y_return = _scale(upper, min([0.0, *returns]), max([0.0, *returns]))
    y_value = _scale(lower, min([0.0, *(s[0] for s in sums)]), max([0.0, *(s[1] for s in sums)]))
    return element(
        'svg',
        element('title', 'Return so far, and reward terms by chunk'),
        time_axis(record.duration_s, x, _TOP, lower),
        _value_axis('return so far', y_return, upper, [0.0, *returns]),
        _value_axis('reward of the chunk', y_value, lower, [0.0, *(v for s in sums for v in s)]),
        _steps(record, x, y_return),
        *_bars(record, x, y_value),
        viewBox=f'0 0 {WIDTH:.0f} {HEIGHT:.0f}',
        role='img',
        class_='chart',
    )


def _stack_range(reward: RewardEntry) -> tuple[float, float]:
    return (
        sum(v for _, v in reward.terms if v < 0.0),
        sum(v for _, v in reward.terms if v > 0.0),
    )


def _scale(bottom: float, low: float, high: float) -> Callable[[float], float]:
    span = (high - low) or 1.0
    return lambda value: bottom - 6 - (_PANEL - 12) * (value - low) / span


def _value_axis(name: str, y: Callable[[float], float], bottom: float, values: list[float]) -> str:
    low, high = min(values), max(values)
    parts = [text(name, LEFT, bottom - _PANEL - 6, 'label')]
    for tick in round_ticks(low, high if high > low else low + 1.0, 4):
        parts.append(
            element('line', x1=LEFT, x2=WIDTH - RIGHT, y1=y(tick), y2=y(tick), class_='grid')
        )
        parts.append(text(f'{tick:g}', LEFT - 8, y(tick) + 4, 'tick', text_anchor='end'))
    return ''.join(parts)


def _steps(record: RunRecord, x: Callable[[float], float], y: Callable[[float], float]) -> str:
    points = [(x(0.0), y(0.0))]
    for reward in record.rewards:
        points.append((x(reward.t_s), points[-1][1]))
        points.append((x(reward.t_s), y(reward.episode_return)))
    points.append((x(record.duration_s), points[-1][1]))
    return polyline(points, 'return')


def _bars(
    record: RunRecord, x: Callable[[float], float], y: Callable[[float], float]
) -> list[str]:
    colours = term_colours(record)
    width = max(2.0, min(14.0, 0.7 * (WIDTH - LEFT - RIGHT) / max(1, len(record.rewards))))
    marks = []
    for reward in record.rewards:
        up = down = 0.0
        for name, amount in reward.terms:
            if not amount:
                continue
            base = up if amount > 0 else down
            top, bottom = y(max(base, base + amount)), y(min(base, base + amount))
            if amount > 0:
                up += amount
            else:
                down += amount
            left = min(x(reward.t_s) - width / 2, WIDTH - RIGHT - width)
            bar = element(
                'rect',
                x=left,
                y=top,
                width=width,
                height=max(bottom - top, 0.8),
                class_=f'bar term{colours[name]}',
            )
            marks.append(titled(bar, f'chunk {reward.chunk}, {name}: {amount:+.6g}'))
    return marks
