"""Reward by chunk as inline SVG: what each chunk was paid, and the return so far."""

from __future__ import annotations

from structrl_ros.recording.panel_chart import Panel
from structrl_ros.recording.panel_chart import panel_chart
from structrl_ros.recording.panel_chart import panel_of
from structrl_ros.recording.report_style import SERIES
from structrl_ros.recording.run_record import RewardEntry
from structrl_ros.recording.run_record import RunRecord
from structrl_ros.recording.svg import element
from structrl_ros.recording.svg import polyline
from structrl_ros.recording.svg import titled
from structrl_ros.recording.timeline_chart import LEFT
from structrl_ros.recording.timeline_chart import RIGHT
from structrl_ros.recording.timeline_chart import WIDTH
from structrl_ros.recording.timeline_chart import time_scale


def term_colours(record: RunRecord) -> dict[str, int]:
    """Return the number of each term's colour, in order of their first payment."""
    names = dict.fromkeys(n for r in record.rewards for n, v in r.terms if v)
    return {name: i % SERIES for i, name in enumerate(names)}


def reward_chart(record: RunRecord) -> str:
    """Return two panels over body time: the return, and the terms of each chunk as bars."""
    sums = [end for r in record.rewards for end in _stack_range(r)]
    returns = panel_of('return so far', 0, [r.episode_return for r in record.rewards])
    values = panel_of('reward of the chunk', 1, sums)
    return panel_chart(
        'Return so far, and reward terms by chunk; the ledger below has the numbers',
        record.duration_s,
        (returns, values),
        _steps(record, returns),
        *_bars(record, values),
    )


def _stack_range(reward: RewardEntry) -> tuple[float, float]:
    return (
        sum(v for _, v in reward.terms if v < 0.0),
        sum(v for _, v in reward.terms if v > 0.0),
    )


def _steps(record: RunRecord, panel: Panel) -> str:
    x, y = time_scale(record.duration_s), panel.y
    points = [(x(0.0), y(0.0))]
    for reward in record.rewards:
        points.append((x(reward.t_s), points[-1][1]))
        points.append((x(reward.t_s), y(reward.episode_return)))
    points.append((x(record.duration_s), points[-1][1]))
    return polyline(points, 'line term0')


def _bars(record: RunRecord, panel: Panel) -> list[str]:
    x, y = time_scale(record.duration_s), panel.y
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
