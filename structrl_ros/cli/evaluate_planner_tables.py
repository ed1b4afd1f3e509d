"""Tables of `structrl evaluate planner` for the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

_PLAN = (
    ('r_bm', 'R_bm'),
    ('r_content', 'R_content'),
    ('exact', 'exact'),
    ('readable', 'readable'),
    ('think_answer', 'R_format'),
)
_CHOICE = (('accuracy', 'accuracy'),)
_COMPLETION = (('accuracy', 'accuracy'), ('precision', 'precision'), ('recall', 'recall'))


def print_results(document: Mapping[str, Any], console: Console) -> None:
    """Print what was measured, a table for each kind of question."""
    seen = 'with pictures' if document['pictures'] else 'without pictures'
    title = f'{document["backend"]} on {document["set"]}, {seen}'
    results = document['results']
    plans = Table('questions', 'examples', *(name for _, name in _PLAN), title=escape(title))
    for result in results:
        if result['plan'] is not None:
            _add(plans, 'plan', result['examples'], result['plan'], _PLAN)
            for style, section in result['plan_by_style'].items():
                _add(plans, f'  {style}', result['examples'], section, _PLAN)
    if plans.row_count:
        console.print(plans)
    choices = Table('questions', 'examples', 'not answered', 'unreadable', 'accuracy')
    for result in results:
        for name in ('choice', 'choice_by_own_plan'):
            if result[name] is not None:
                _add(choices, name.replace('_', ' '), result['examples'], result[name], _CHOICE)
    if choices.row_count:
        console.print(choices)
    watched = Table(
        'questions',
        'examples',
        'not answered',
        'unreadable',
        *(name for _, name in _COMPLETION),
    )
    for result in results:
        if result['completion'] is not None:
            _add(watched, 'completion', result['examples'], result['completion'], _COMPLETION)
    if watched.row_count:
        console.print(watched)
    for result in results:
        for error, count in (result['plan'] or {}).get('errors', {}).items():
            console.print(f'{count} x {escape(error)}', highlight=False)


def _add(
    table: Table,
    name: str,
    examples: int,
    section: Mapping[str, Any],
    columns: tuple[tuple[str, str], ...],
) -> None:
    words = [f'{name} ({section["asked"]})', str(examples)]
    if 'unreadable' in section:
        words += [str(section['unanswered']), str(section['unreadable'])]
    table.add_row(*words, *(_number(section[key]) for key, _ in columns))


def _number(entry: Mapping[str, Any]) -> str:
    """Return '0.83 [0.71, 0.90]', or a dash where nothing was answered."""
    if entry['value'] is None:
        return '-'
    low, high = entry['interval']
    return f'{entry["value"]:.2f} [{low:.2f}, {high:.2f}]'
