"""Panels of values over body time, one above the other: axes and scales that charts share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from structrl_ros.recording.svg import element
from structrl_ros.recording.svg import round_ticks
from structrl_ros.recording.svg import text
from structrl_ros.recording.timeline_chart import LEFT
from structrl_ros.recording.timeline_chart import RIGHT
from structrl_ros.recording.timeline_chart import WIDTH
from structrl_ros.recording.timeline_chart import time_axis
from structrl_ros.recording.timeline_chart import time_scale

TOP = 22.0
PANEL = 150.0
GAP = 30.0


@dataclass(frozen=True, slots=True)
class Panel:
    """A panel of a chart, the `place`-th from the top, whose values are in [low, high]."""

    name: str
    place: int
    low: float
    high: float

    @property
    def bottom(self) -> float:
        """Lower edge in the chart's units."""
        return TOP + (self.place + 1) * PANEL + self.place * GAP

    def y(self, value: float) -> float:
        """Return the height of a value."""
        span = (self.high - self.low) or 1.0
        return self.bottom - 6 - (PANEL - 12) * (value - self.low) / span

    def axis(self) -> str:
        """Return the name, grid lines and ticks."""
        parts = [text(self.name, LEFT, self.bottom - PANEL - 6, 'label')]
        high = self.high if self.high > self.low else self.low + 1.0
        for tick in round_ticks(self.low, high, 4):
            y = self.y(tick)
            parts.append(element('line', x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y, class_='grid'))
            parts.append(text(f'{tick:g}', LEFT - 8, y + 4, 'tick', text_anchor='end'))
        return ''.join(parts)


def panel_of(name: str, place: int, values: Sequence[float]) -> Panel:
    """Return a panel that shows the values and 0."""
    return Panel(name, place, min(0.0, *values, 0.0), max(0.0, *values, 0.0))


def panel_chart(title: str, duration_s: float, panels: Sequence[Panel], *marks: str) -> str:
    """Return the chart: the axes of its panels, the axis of time, and the marks."""
    bottom = panels[-1].bottom
    return element(
        'svg',
        element('title', title),
        time_axis(duration_s, time_scale(duration_s), TOP, bottom),
        *(panel.axis() for panel in panels),
        *marks,
        viewBox=f'0 0 {WIDTH:.0f} {bottom + 36.0:.0f}',
        role='img',
        class_='chart',
        aria_label=title,
    )
