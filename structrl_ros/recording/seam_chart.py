"""Seams of a run as inline SVG: acceleration and jerk as commanded, with the chunk switches."""

from __future__ import annotations

from collections.abc import Sequence

from structrl_ros.recording.panel_chart import Panel
from structrl_ros.recording.panel_chart import panel_chart
from structrl_ros.recording.panel_chart import panel_of
from structrl_ros.recording.run_curves import MotionEntry
from structrl_ros.recording.svg import element
from structrl_ros.recording.svg import polyline
from structrl_ros.recording.svg import titled
from structrl_ros.recording.timeline_chart import time_scale

#: Most points of a line; of more, each keeps the largest of its neighbours.
MOST_POINTS = 1200


def seam_chart(motion: MotionEntry, duration_s: float) -> str:
    """Return two panels over body time: acceleration and jerk, a disc a seam."""
    known = [j for j in motion.jerk if j is not None]
    peaks = [s.jerk for s in motion.seams if s.jerk is not None]
    acceleration = panel_of('acceleration (m/s²)', 0, motion.acceleration)
    jerk = panel_of('jerk (m/s³)', 1, [*known, *peaks])
    return panel_chart(
        'Commanded acceleration and jerk; discs mark the switches between chunks',
        duration_s,
        (acceleration, jerk),
        _line(motion.t_s, motion.acceleration, acceleration, motion.period_s, duration_s),
        _line(motion.t_s, motion.jerk, jerk, motion.period_s, duration_s),
        *_discs(motion, acceleration, jerk, duration_s),
    )


def thinned(
    points: Sequence[tuple[float, float]], most: int = MOST_POINTS
) -> list[tuple[float, float]]:
    """Return at most `most` points: of each group of neighbours the one with the largest value."""
    size = -(-len(points) // most)
    if size <= 1:
        return list(points)
    groups = (points[i : i + size] for i in range(0, len(points), size))
    return [max(group, key=lambda p: p[1]) for group in groups]


def _line(
    t_s: Sequence[float],
    values: Sequence[float | None],
    panel: Panel,
    period_s: float,
    duration_s: float,
) -> str:
    """Return the curve, interrupted where the body rested."""
    x = time_scale(duration_s)
    parts: list[list[tuple[float, float]]] = [[]]
    last_s = None
    for time_s, value in zip(t_s, values, strict=True):
        if last_s is not None and time_s - last_s > 1.5 * period_s:
            parts.append([])
        if value is not None:
            parts[-1].append((time_s, value))
        last_s = time_s
    most = max(2, MOST_POINTS // len(parts))
    return ''.join(
        polyline([(x(t), panel.y(v)) for t, v in thinned(part, most)], 'line term0')
        for part in parts
        if part
    )


def _discs(motion: MotionEntry, acceleration: Panel, jerk: Panel, duration_s: float) -> list[str]:
    x = time_scale(duration_s)
    marks = []
    for seam in motion.seams:
        at = x(seam.t_s)
        discs = [
            element('circle', cx=at, cy=panel.y(value), r=3.2, class_='seam')
            for panel, value in ((acceleration, seam.acceleration), (jerk, seam.jerk))
            if value is not None
        ]
        known = '' if seam.jerk is None else f', jerk {seam.jerk:.1f} m/s³'
        words = f'switch to chunk {seam.chunk} at {seam.t_s:.2f} s: {seam.acceleration:.2f} m/s²'
        marks.append(titled(''.join(discs), words + known))
    return marks
