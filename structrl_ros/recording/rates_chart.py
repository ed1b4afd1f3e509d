"""Rates and differences with their intervals as inline SVG: a row a task, a mark a policy."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence

from structrl_ros.evaluation.paired import PairedComparison
from structrl_ros.evaluation.statistics import Rate
from structrl_ros.recording.report_style import SERIES
from structrl_ros.recording.svg import element
from structrl_ros.recording.svg import round_ticks
from structrl_ros.recording.svg import text
from structrl_ros.recording.svg import titled

_WIDTH, _LEFT, _RIGHT, _TOP = 900.0, 230.0, 26.0, 8.0
_LINE, _SPACE = 20.0, 12.0
#: Characters of a task's name that have room.
_NAME = 34


def rates_chart(rows: Mapping[str, Sequence[Rate]], labels: Sequence[str]) -> str:
    """Return success by task with Wilson's intervals.

    Args:
        rows: Task to one rate a policy; a rate without episodes has no mark.
        labels: Names of the policies, in the same order.
    """
    height = _LINE * len(labels) + _SPACE

    def x(value: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * value

    parts = [_names(list(rows), height)]
    for place, (task, rates) in enumerate(rows.items()):
        for number, rate in enumerate(rates):
            if rate.value is None:
                continue
            y = _TOP + place * height + (_SPACE + _LINE) / 2 + number * _LINE
            words = (
                f'{labels[number]}, {task}: {rate.count} of {rate.n}, '
                f'{rate.value:.1%} [{rate.interval[0]:.1%}, {rate.interval[1]:.1%}]'
            )
            parts.append(titled(_mark(rate.value, rate.interval, x, y, number), words))
    ticks = [(t, f'{t:.0%}') for t in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)]
    return _chart('Success rate by task, 95 % intervals', parts, ticks, x, height * len(rows))


def differences_chart(rows: Mapping[str, PairedComparison], label_a: str, label_b: str) -> str:
    """Return the difference of success by task with its bootstrap interval, B less A."""
    ends = [e for found in rows.values() for e in found.interval]
    reach = max(0.1, *(abs(e) for e in ends), *(abs(f.difference) for f in rows.values()))
    height = _LINE + _SPACE

    def x(value: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * (value / reach + 1.0) / 2.0

    bottom = _TOP + height * len(rows)
    zero = element('line', x1=x(0.0), x2=x(0.0), y1=_TOP, y2=bottom, class_='zero')
    parts = [_names(list(rows), height), zero]
    for place, (task, found) in enumerate(rows.items()):
        low, high = found.interval
        y = _TOP + place * height + height / 2
        words = f'{task}: {found.difference:+.1%} [{low:+.1%}, {high:+.1%}], p {found.p_value:.3g}'
        parts.append(titled(_mark(found.difference, found.interval, x, y, 2), words))
    ticks = [(t, f'{t:+.0%}' if t else '0') for t in round_ticks(-reach, reach, 8)]
    title = f'Success of {label_b} less that of {label_a}, by task'
    return _chart(title, parts, ticks, x, height * len(rows))


def _names(names: Sequence[str], height: float) -> str:
    parts = []
    for place, name in enumerate(names):
        short = name if len(name) <= _NAME else name[: _NAME - 1] + '…'
        y = _TOP + place * height + height / 2 + 4
        parts.append(titled(text(short, _LEFT - 14, y, 'label', text_anchor='end'), name))
        if place:
            y = _TOP + place * height
            parts.append(element('line', x1=0.0, x2=_WIDTH - _RIGHT, y1=y, y2=y, class_='grid'))
    return ''.join(parts)


def _mark(
    value: float,
    interval: tuple[float, float],
    x: Callable[[float], float],
    y: float,
    number: int,
) -> str:
    """Return an interval with its value: a disc, a square or a diamond, in turn."""
    low, high = (x(end) for end in interval)
    at, class_ = x(value), f'bar term{number % SERIES}'
    line = element('line', x1=low, x2=high, y1=y, y2=y, class_=f'line term{number % SERIES}')
    shapes = (
        element('circle', cx=at, cy=y, r=5.5, class_=class_),
        element('rect', x=at - 5, y=y - 5, width=10, height=10, class_=class_),
        element(
            'path', d=f'M{at:.2f} {y - 6.5:.2f} l6.5 6.5 l-6.5 6.5 l-6.5 -6.5 z', class_=class_
        ),
    )
    return line + shapes[number % len(shapes)]


def _chart(
    title: str,
    parts: Sequence[str],
    ticks: Sequence[tuple[float, str]],
    x: Callable[[float], float],
    height: float,
) -> str:
    bottom = _TOP + height
    axis = []
    for value, words in ticks:
        at = x(value)
        axis.append(element('line', x1=at, x2=at, y1=_TOP, y2=bottom, class_='grid'))
        axis.append(text(words, at, bottom + 16, 'tick', text_anchor='middle'))
    return element(
        'svg',
        element('title', title),
        *axis,
        *parts,
        viewBox=f'0 0 {_WIDTH:.0f} {bottom + 24:.0f}',
        role='img',
        class_='chart',
        aria_label=f'{title}; the table below has the numbers',
    )
