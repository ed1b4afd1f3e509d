"""The curves of `structrl bench planner` as one SVG that stands alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from structrl_ros.recording.report_style import SERIES
from structrl_ros.recording.svg import element
from structrl_ros.recording.svg import polyline
from structrl_ros.recording.svg import round_ticks
from structrl_ros.recording.svg import text
from structrl_ros.recording.svg import titled
from structrl_ros.training.experiments.charts import STYLE
from structrl_ros.training.experiments.charts import WIDTH
from structrl_ros.training.experiments.charts import chart_rules

_HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 300.0, 52.0, 26.0, 34.0, 256.0

#: Name of a measurement, and its words.
HEADINGS = (
    ('reward', 'mean reward on held-out tasks, likeliest answers'),
    ('sampled/reward', 'mean reward on held-out tasks, one answer drawn each'),
)


def planner_chart(seeds: Sequence[dict[str, Any]]) -> str:
    """Return the mean reward on held-out tasks by update, a line a seed, in two panels."""
    panels = [
        element('g', _panel(seeds, name, words), transform=f'translate(0 {number * _HEIGHT:.0f})')
        for number, (name, words) in enumerate(HEADINGS)
    ]
    height = _HEIGHT * len(panels)
    return element(
        'svg',
        element('style', STYLE + chart_rules()),
        element('rect', width=WIDTH, height=height, fill='var(--card)'),
        *panels,
        xmlns='http://www.w3.org/2000/svg',
        viewBox=f'0 0 {WIDTH:.0f} {height:.0f}',
        width=WIDTH,
        height=height,
        class_='chart',
    )


def _panel(seeds: Sequence[dict[str, Any]], name: str, words: str) -> str:
    last = max((line['update'] for seed in seeds for line in seed['curve']), default=1) or 1

    def x(update: float) -> float:
        return _LEFT + (WIDTH - _LEFT - _RIGHT) * update / last

    def y(value: float) -> float:
        return _BOTTOM - (_BOTTOM - _TOP) * min(max(value, 0.0), 1.0)

    parts = [text(words, 12.0, 20.0, 'heading')]
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        ends = {'x1': _LEFT, 'x2': WIDTH - _RIGHT, 'y1': y(tick), 'y2': y(tick)}
        parts.append(element('line', class_='grid', **ends))
        parts.append(text(f'{tick:g}', _LEFT - 6, y(tick) + 4, 'tick', text_anchor='end'))
    parts += [
        text(f'{tick:g}', x(tick), _BOTTOM + 16, 'tick', text_anchor='middle')
        for tick in round_ticks(0.0, float(last), 8)
    ]
    parts.append(text('update', WIDTH - _RIGHT, _BOTTOM + 32, 'tick', text_anchor='end'))
    for number, seed in enumerate(seeds):
        points = [(x(line['update']), y(line[name])) for line in seed['curve']]
        curve = polyline(points, f'curve arm{number % SERIES}')
        parts.append(titled(curve, f'seed {seed["seed"]}'))
    return ''.join(parts)
