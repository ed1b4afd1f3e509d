"""The card of a trained policy: how it was made, and the rates that were measured of it."""

from __future__ import annotations

import json
from collections.abc import Mapping

from pydantic import BaseModel

#: Task to (successes, episodes); plain JSON, so that it can wait in a checkpoint.
TaskRates = Mapping[str, tuple[int, int]]


def policy_card(
    title: str,
    settings: BaseModel,
    *,
    progress: str,
    measured: Mapping[str, TaskRates],
) -> str:
    """Return Markdown with a YAML head that programs read: `trained_by` and `measured`.

    Args:
        title: What was trained, in a line.
        settings: All of them.
        progress: How far it is: '12 of 40 iterations, 768 episodes'.
        measured: By label, as 'before practice'; each becomes a rate of the head.
    """
    head = ['---', f'trained_by: {json.dumps(title)}']
    head.append('measured:' if measured else 'measured: []')
    for label, rates in measured.items():
        head += [
            f'- label: {json.dumps(label)}',
            f'  successes: {sum(count for count, _ in rates.values())}',
            f'  episodes: {sum(episodes for _, episodes in rates.values())}',
        ]
    rows = [
        f'| {label} | {task} | {count} of {episodes} |'
        for label, rates in measured.items()
        for task, (count, episodes) in rates.items()
    ]
    table = ['', '| when | task | success |', '|---|---|---|', *rows] if rows else []
    values = settings.model_dump(mode='json')
    listed = [f'- {key}: {json.dumps(value)}' for key, value in values.items()]
    lines = [*head, '---', '', f'# {title}', '', progress, *table, '', '## Settings', '', *listed]
    return '\n'.join(lines) + '\n'
