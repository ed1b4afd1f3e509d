"""Charts of experiments as SVG: every seed of every arm, and success in training."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence

from structrl_ros.recording.report_style import SERIES
from structrl_ros.recording.report_style import palette_rules
from structrl_ros.recording.svg import element
from structrl_ros.recording.svg import polyline
from structrl_ros.recording.svg import round_ticks
from structrl_ros.recording.svg import text
from structrl_ros.recording.svg import titled
from structrl_ros.types import JsonObject

WIDTH = 760.0
_LEFT, _RIGHT, _TOP, _ROW = 190.0, 26.0, 8.0, 30.0
_CURVE_HEIGHT = 220.0
#: Style of a chart that stands alone, in light and dark; reports have their own.
STYLE = (
    f'{palette_rules("svg")}'
    'svg { background: var(--card); font-family: system-ui, sans-serif; }\n'
)


def chart_rules() -> str:
    """Return the CSS rules of the charts, over the colours of a page."""
    colours = ''.join(
        f'.arm{i} .dot {{ fill: var(--t{i}); }} .arm{i} .bar, .arm{i} .curve, .arm{i}.curve '
        f'{{ stroke: var(--t{i}); }}\n'
        for i in range(SERIES)
    )
    return (
        '.chart text { fill: var(--ink); font-size: 12px; }\n'
        '.chart .tick { fill: var(--soft); font-size: 11px; }\n'
        '.chart .heading { font-size: 13px; font-weight: 600; }\n'
        '.chart .grid { stroke: var(--line); stroke-width: 1; }\n'
        '.chart .dot { opacity: .55; }\n'
        '.chart .bar { stroke-width: 2.5; }\n'
        '.chart .mean { stroke: var(--ink); stroke-width: 2.5; }\n'
        '.chart .curve { fill: none; stroke-width: 2; }\n' + colours
    )


def seeds_chart(experiment: JsonObject) -> str:
    """Return a row an arm: a dot a seed, the mean, and its 95 % interval (first measure)."""
    height = _seeds_height(experiment)
    return element(
        'svg',
        _seeds_rows(experiment),
        viewBox=f'0 0 {WIDTH:.0f} {height:.0f}',
        role='img',
        class_='chart',
        aria_label=f'{_measure(experiment)[1]} of every seed, by arm',
    )


def curves_chart(experiment: JsonObject) -> str:
    """Return success in training by iteration, a line an arm; '' if no arm practised."""
    arms = [(i, arm) for i, arm in enumerate(experiment['arms']) if len(arm['curve']) > 1]
    if not arms:
        return ''
    longest = max(len(arm['curve']) for _, arm in arms)
    bottom = _CURVE_HEIGHT - 36.0
    span = bottom - _TOP

    def x(iteration: float) -> float:
        return 46.0 + (WIDTH - 46.0 - _RIGHT) * iteration / max(longest - 1, 1)

    def y(value: float) -> float:
        return bottom - span * value

    parts = []
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(_line(46.0, y(tick), WIDTH - _RIGHT, y(tick), 'grid'))
        parts.append(text(f'{tick:g}', 40.0, y(tick) + 4, 'tick', text_anchor='end'))
    parts += [
        text(f'{tick:g}', x(tick), bottom + 16, 'tick', text_anchor='middle')
        for tick in round_ticks(0.0, longest - 1.0, 8)
    ]
    parts.append(text('iteration', WIDTH - _RIGHT, bottom + 31, 'tick', text_anchor='end'))
    for number, arm in arms:
        points = [(x(float(i)), y(v)) for i, v in enumerate(arm['curve'])]
        parts.append(titled(polyline(points, f'curve arm{number % SERIES}'), arm['name']))
    return element(
        'svg',
        *parts,
        viewBox=f'0 0 {WIDTH:.0f} {_CURVE_HEIGHT:.0f}',
        role='img',
        class_='chart',
        aria_label='success in training by iteration',
    )


def overview(experiments: Sequence[JsonObject]) -> str:
    """Return one SVG document that stands alone: the rows of every experiment."""
    parts, at = [], 0.0
    for experiment in experiments:
        head = text(
            f'{experiment["title"]}: {experiment["verdict"]["state"]}', 12.0, 24.0, 'heading'
        )
        body = element('g', _seeds_rows(experiment), transform='translate(0 34)')
        parts.append(element('g', head, body, transform=f'translate(0 {at:.0f})'))
        at += _seeds_height(experiment) + 44.0
    style = element('style', STYLE + chart_rules())
    return element(
        'svg',
        style,
        element('rect', width=WIDTH, height=at, fill='var(--card)'),
        *parts,
        xmlns='http://www.w3.org/2000/svg',
        viewBox=f'0 0 {WIDTH:.0f} {at:.0f}',
        width=WIDTH,
        height=at,
        class_='chart',
    )


def _seeds_height(experiment: JsonObject) -> float:
    return _TOP + _ROW * len(experiment['arms']) + 40.0


def _measure(experiment: JsonObject) -> tuple[str, str]:
    """Return the name and the words of what is plotted."""
    name: str = next(iter(experiment['measures']))
    return name, experiment['measures'][name]


def _seeds_rows(experiment: JsonObject) -> str:
    measure, words = _measure(experiment)
    bottom = _TOP + _ROW * len(experiment['arms'])

    def x(value: float) -> float:
        return _LEFT + (WIDTH - _LEFT - _RIGHT) * min(max(value, 0.0), 1.0)

    parts = []
    for tick in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0):
        parts.append(_line(x(tick), _TOP, x(tick), bottom, 'grid'))
        parts.append(text(f'{tick:g}', x(tick), bottom + 16, 'tick', text_anchor='middle'))
    parts.append(text(words, WIDTH - _RIGHT, bottom + 32, 'tick', text_anchor='end'))
    for number, arm in enumerate(experiment['arms']):
        middle = _TOP + _ROW * (number + 0.5)
        parts.append(text(arm['name'], _LEFT - 12, middle + 4, 'label', text_anchor='end'))
        parts.append(_arm_row(arm['measures'][measure], number, middle, x))
    return ''.join(parts)


def _arm_row(found: JsonObject, number: int, middle: float, x: Callable[[float], float]) -> str:
    parts = []
    if found['low'] is not None:
        parts.append(_line(x(found['low']), middle, x(found['high']), middle, 'bar'))
    parts += [element('circle', cx=x(v), cy=middle, r=5.0, class_='dot') for v in found['values']]
    parts.append(_line(x(found['mean']), middle - 9, x(found['mean']), middle + 9, 'mean'))
    seeds = ', '.join(f'{v:.3f}' for v in found['values'])
    group = element('g', *parts, class_=f'arm{number % SERIES}')
    return titled(group, f'mean {found["mean"]:.3f}; seeds {seeds}')


def _line(x1: float, y1: float, x2: float, y2: float, class_: str) -> str:
    return element('line', x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)
