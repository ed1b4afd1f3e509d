"""Small charts of two distributions over each other, as inline SVG."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from structrl_ros.recording.mismatch_pictures import LEVELS
from structrl_ros.recording.mismatch_pictures import luma_shares
from structrl_ros.recording.svg import element
from structrl_ros.recording.svg import polyline
from structrl_ros.recording.svg import round_ticks
from structrl_ros.recording.svg import text
from structrl_ros.types import Float64
from structrl_ros.types import UInt8

WIDTH, HEIGHT = 320.0, 150.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 34.0, 10.0, 10.0, 30.0
#: Points of a curve.
POINTS = 200

Points = list[tuple[float, float]]


def share_chart(name: str, unit: str, sim: Float64, real: Float64) -> str:
    """Return the share of values up to each value (empirical distribution) of two samples."""
    both = np.concatenate([sim, real])
    low, high = float(both.min()), float(both.max())
    if high <= low:
        low, high = low - 0.5, high + 0.5
    at = np.linspace(low, high, POINTS)
    curves = [
        list(zip(at, np.searchsorted(np.sort(v), at, side='right') / len(v), strict=True))
        for v in (sim, real)
    ]
    return _chart(f'{name}: share of values up to', unit, (low, high), 1.0, curves)


def light_chart(role: str, sim: Sequence[UInt8], real: Sequence[UInt8]) -> str:
    """Return the histograms of luma of two sets of pictures, in steps of eight levels."""
    step = 8
    shares = [luma_shares(pictures).reshape(-1, step).sum(axis=1) for pictures in (sim, real)]
    levels = np.arange(0, LEVELS, step) + step / 2.0
    curves = [list(zip(levels, share, strict=True)) for share in shares]
    top = max(float(share.max()) for share in shares)
    return _chart(f'Luma of {role}: share of pixels', 'levels', (0.0, LEVELS - 1.0), top, curves)


def _chart(
    title: str, unit: str, span: tuple[float, float], top: float, curves: Sequence[Points]
) -> str:
    low, high = span

    def x(value: float) -> float:
        return _LEFT + (WIDTH - _LEFT - _RIGHT) * (value - low) / (high - low)

    def y(share: float) -> float:
        return HEIGHT - _BOTTOM - (HEIGHT - _BOTTOM - _TOP) * share / top

    parts = [element('title', f'{title}, in {unit}')]
    for share in round_ticks(0.0, top, 3):
        parts.append(
            element('line', x1=_LEFT, x2=WIDTH - _RIGHT, y1=y(share), y2=y(share), class_='grid')
        )
        parts.append(text(f'{share:g}', _LEFT - 5.0, y(share) + 4.0, 'tick', text_anchor='end'))
    foot = HEIGHT - _BOTTOM + 15.0
    parts += [
        text(f'{value:g}', x(value), foot, 'tick', text_anchor='middle')
        for value in round_ticks(low, high, 4)
    ]
    for curve, style in zip(curves, ('line term0', 'line term1 dashed'), strict=True):
        parts.append(polyline([(x(a), y(b)) for a, b in curve], style))
    parts.append(text(unit, WIDTH - _RIGHT, HEIGHT - 3.0, 'tick', text_anchor='end'))
    return element(
        'svg',
        *parts,
        viewBox=f'0 0 {WIDTH:.0f} {HEIGHT:.0f}',
        role='img',
        aria_label=title,
        class_='chart small-chart',
    )
