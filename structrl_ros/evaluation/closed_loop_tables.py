"""The results of the closed-loop suite as Markdown, in the form of REVER's Table I and Fig. 8."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from structrl_ros.evaluation.closed_loop import CAUSES
from structrl_ros.evaluation.closed_loop_results import ALL

NO_PLANNER = 'none'


def markdown_tables(document: Mapping[str, Any]) -> str:
    """Return a table of success and one of causes.

    Args:
        document: results.json of a run: 'rows' of `closed_loop_results.summary_to_json`.
    """
    rows = document['rows']
    planners = list(dict.fromkeys(row['planner'] for row in rows))
    names = list(dict.fromkeys(row['instruction'] for row in rows if row['instruction'] != ALL))
    found = {(row['planner'], row['instruction']): row for row in rows}
    heads = ['instruction']
    for planner in planners:
        heads.append(f'{planner}: overall')
        if planner != NO_PLANNER:
            heads.append('steps')
    lines = [_line(heads), _line(['---'] * len(heads))]
    for name in (*names, ALL):
        cells = [name]
        for planner in planners:
            row = found.get((planner, name))
            cells.append('' if row is None else _rate(row['success']))
            if planner != NO_PLANNER:
                cells.append('' if row is None else _share(row['step_success']))
        lines.append(_line(cells))
    lines += ['', _line(['planner', 'failures', 'right plans', *CAUSES])]
    lines.append(_line(['---'] * (3 + len(CAUSES))))
    for planner in planners:
        row = found[planner, ALL]
        if planner == NO_PLANNER:
            continue
        failures = row['success']['n'] - row['success']['count']
        causes = [str(row['causes'].get(cause, 0)) for cause in CAUSES]
        lines.append(_line([planner, str(failures), _rate(row['right_plans']), *causes]))
    return '\n'.join(lines)


def _line(cells: list[str]) -> str:
    return f'| {" | ".join(cells)} |'


def _rate(entry: Mapping[str, Any]) -> str:
    """Return '4/5 [0.38, 0.96]'."""
    low, high = entry['interval']
    return f'{entry["count"]}/{entry["n"]} [{low:.2f}, {high:.2f}]'


def _share(entry: Mapping[str, Any]) -> str:
    if entry['value'] is None:
        return '-'
    low, high = entry['interval']
    return f'{entry["value"]:.2f} [{low:.2f}, {high:.2f}]'
