"""The doctor's table."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from structrl_ros.cli.doctor import Finding
from structrl_ros.cli.doctor import State

_COLOURS = {
    State.GOOD: 'green',
    State.MISSING: 'red',
    State.DOUBTFUL: 'yellow',
    State.OPTIONAL: 'yellow',
}


def print_findings(findings: Sequence[Finding], console: Console) -> int:
    """Print the findings; return the exit status, 1 if something that is needed is missing."""
    table = Table('what', 'state')
    for title in ('detail', 'how to mend'):
        table.add_column(title, overflow='fold')
    for finding in findings:
        colour = _COLOURS[finding.state]
        state = f'[{colour}]{finding.state}[/]'
        table.add_row(finding.subject, state, finding.detail, finding.remedy)
    console.print(table)
    missing = [f.subject for f in findings if f.state is State.MISSING]
    if missing:
        console.print(f'to mend: {", ".join(missing)}', style='red')
        return 1
    console.print('everything that is needed is here', style='green')
    return 0
