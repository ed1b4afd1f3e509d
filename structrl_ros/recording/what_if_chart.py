"""The plot of a what-if: the return of each episode as recorded, and as it would have been."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from structrl_ros.errors import BagError
from structrl_ros.recording.recomputation import EpisodeReturn
from structrl_ros.types import Reward

#: Rows of a chart: more episodes are left out, and it says so.
MOST_EPISODES = 12
_SECOND = 1e9


def write_chart(path: Path, entries: Sequence[EpisodeReturn], title: str) -> None:
    """Write a chart as SVG, PNG or PDF by the ending of the name.

    Raises:
        BagError: If there is nothing to draw, or the file cannot be written.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    if not entries:
        raise BagError('no rewards to draw')
    shown = entries[:MOST_EPISODES]
    figure = Figure(figsize=(8.0, 1.0 + 2.4 * len(shown)), layout='constrained')
    rows = figure.subplots(len(shown), 1, squeeze=False)[:, 0]
    for axes, entry in zip(rows, shown, strict=True):
        start_ns = entry.computed_rewards[0].stamp_ns
        for rewards, label, style in (
            (entry.recorded_rewards, 'recorded', {'color': '#555555', 'linewidth': 3.0}),
            (entry.computed_rewards, 'what if', {'color': '#c2410c', 'linewidth': 1.6}),
        ):
            axes.step(*_curve(rewards, start_ns), where='post', label=label, **style)
        axes.set_ylabel(f'return, episode {entry.episode}')
        axes.grid(alpha=0.3)
    rows[0].legend(loc='upper left')
    rows[-1].set_xlabel('seconds after the first chunk')
    left_out = len(entries) - len(shown)
    figure.suptitle(title + (f' ({left_out} more episodes)' if left_out else ''))
    try:
        with rc_context({'svg.fonttype': 'none'}):  # text stays text
            figure.savefig(path)
    except (OSError, ValueError) as error:
        raise BagError(f'{path} cannot be written: {error}') from error


def _curve(rewards: Sequence[Reward], start_ns: int) -> tuple[list[float], list[float]]:
    times = [(r.stamp_ns - start_ns) / _SECOND for r in rewards]
    return times, [r.episode_return for r in rewards]
