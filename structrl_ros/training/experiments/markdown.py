"""Tables of experiments as Markdown, for the docs: the numbers of the results document alone."""

from __future__ import annotations

from pathlib import Path

from structrl_ros.models.whole_files import whole_file
from structrl_ros.training.experiments.report import figure
from structrl_ros.training.experiments.report import interval
from structrl_ros.types import JsonObject


def write_tables(path: Path, document: JsonObject) -> None:
    """Write the tables, whole or not at all.

    Raises:
        CheckpointError: If they cannot be written.
    """
    with whole_file(path) as place:
        place.write_text(markdown_tables(document), encoding='utf-8')


def markdown_tables(document: JsonObject) -> str:
    """Return a section an experiment: verdict, means with intervals, every seed."""
    return '\n\n'.join(_section(experiment) for experiment in document['experiments']) + '\n'


def _section(experiment: JsonObject) -> str:
    measures = experiment['measures']
    first = next(iter(measures))
    head = ['arm', *measures.values(), f'{measures[first]} of each seed']
    rows = [
        [arm['name'], *(_cell(arm, name) for name in measures), _seeds(arm, first)]
        for arm in experiment['arms']
    ]
    lines = [f'### {experiment["title"]}: {experiment["verdict"]["state"]}', '']
    lines += [f'| {" | ".join(cells)} |' for cells in (head, ['---'] * len(head), *rows)]
    lines.append('')
    for claim in experiment['verdict']['claims']:
        mark = {None: '', True: ' Holds.', False: ' Does not hold.'}[claim['holds']]
        lines.append(f'- {claim["wanted"]}: {claim["found"]}.{mark}')
    return '\n'.join(lines)


def _cell(arm: JsonObject, measure: str) -> str:
    if measure not in arm['measures']:
        return '-'
    found = arm['measures'][measure]
    return f'{figure(found["mean"], measure)} {interval(found, measure)}'.strip()


def _seeds(arm: JsonObject, measure: str) -> str:
    if not arm['trainer']:
        return f'{arm["successes"][0]} of {arm["episodes"][0]} succeed'
    return ' '.join(f'{v:.2f}' for v in arm['measures'][measure]['values'])
