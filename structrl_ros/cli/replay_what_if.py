"""`structrl replay --what-if`: other rewards, or another monitor, on a recording."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from structrl_ros.cli.replay import bag_folder
from structrl_ros.cli.replay import changed_settings
from structrl_ros.recording.ledger import recorded_settings
from structrl_ros.recording.monitor_what_if import monitor_named
from structrl_ros.recording.monitor_what_if import step_times
from structrl_ros.recording.monitor_what_if import with_monitor
from structrl_ros.recording.recomputation import EpisodeReturn
from structrl_ros.recording.recomputation import what_if
from structrl_ros.recording.run_events import RunEvents
from structrl_ros.recording.run_events import read_events
from structrl_ros.recording.what_if_chart import write_chart
from structrl_ros.subtasks.tracker import TrackerSettings

_SECOND = 1e9


def try_replay(
    path: Path,
    changes: Sequence[str],
    console: Console,
    *,
    monitor: str = '',
    plot: Path | None = None,
) -> int:
    """Print, and draw, what the episodes of a bag would have earned.

    Args:
        path: Of the bag or its run.
        changes: `beta:=1.0` and the like, fields of `TrackerParameters`.
        console: Where to print.
        monitor: Name of a monitor to ask in the place of the recorded one, or ''.
        plot: File of the plot (.svg, .png, .pdf), or None.

    Raises:
        ParameterError: If a setting or monitor is unknown or not allowed.
        BagError: If there is no bag or it breaks the contract.
    """
    events = tried = read_events(bag_folder(path))
    settings = changed_settings(recorded_settings(events) or TrackerSettings(), changes)
    if monitor:
        tried = with_monitor(events, monitor_named(monitor), lockstep=settings.lockstep)
        console.print(_steps(events, tried))
    entries = what_if(tried, settings)
    console.print(_returns(entries))
    if plot is not None:
        words = [*changes, *([f'monitor:={monitor}'] if monitor else [])]
        write_chart(plot, entries, f'what if {", ".join(words) or "nothing were changed"}')
        console.print(f'plot: {plot}', markup=False, highlight=False)
    return 0


def _returns(entries: Sequence[EpisodeReturn]) -> Table:
    table = Table('episode')
    for column in ('recorded return', 'computed return', 'difference'):
        table.add_column(column, justify='right')
    table.add_column('payments', overflow='fold')
    for entry in entries:
        paid = ', '.join(f'{name} {value:.3f}' for name, value in entry.payments)
        figures = (entry.recorded, entry.computed, entry.computed - entry.recorded)
        table.add_row(str(entry.episode), *(f'{f:.6f}' for f in figures), paid or '-')
    return table


def _steps(recorded: RunEvents, tried: RunEvents) -> Table:
    table = Table('plan', 'step')
    for column in ('recorded done, s', 'computed done, s', 'later by, s'):
        table.add_column(column, justify='right')
    for step in step_times(recorded, tried):
        both = step.recorded_ns is not None and step.computed_ns is not None
        later = (step.computed_ns - step.recorded_ns) / _SECOND if both else None  # type: ignore[operator]
        table.add_row(
            str(step.revision),
            step.subtask_id,
            _seconds(step.recorded_ns),
            _seconds(step.computed_ns),
            '-' if later is None else f'{later:+.3f}',
        )
    return table


def _seconds(stamp_ns: int | None) -> str:
    return 'never' if stamp_ns is None else f'{stamp_ns / _SECOND:.3f}'
