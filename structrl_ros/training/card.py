"""The card of a trained policy: how it was made, and the rates that were measured of it."""

from __future__ import annotations

import json
from collections.abc import Mapping

from structrl_ros.training.evaluate import Evaluation
from structrl_ros.training.settings import RunSettings


def policy_card(
    title: str,
    settings: RunSettings,
    *,
    progress: str,
    evaluations: Mapping[str, Evaluation],
) -> str:
    """Return Markdown with a YAML head that programs read: `trained_by` and `measured`.

    Args:
        title: What was trained, in a line.
        settings: All of them.
        progress: How far it is: '12 of 40 iterations, 768 episodes'.
        evaluations: By label, as 'before training'; each becomes a rate of the head.
    """
    rates = [(label, e.success) for label, e in evaluations.items()]
    head = ['---', f'trained_by: {json.dumps(title)}', 'measured:' if rates else 'measured: []']
    for label, rate in rates:
        head += [
            f'- label: {json.dumps(label)}',
            f'  successes: {rate.count}',
            f'  episodes: {rate.episodes}',
        ]
    rows = [
        f'| {label} | {task.task} | {task.success.count} of {task.success.episodes} |'
        for label, evaluation in evaluations.items()
        for task in evaluation.tasks
    ]
    table = ['', '| when | task | success |', '|---|---|---|', *rows] if rows else []
    values = settings.model_dump(mode='json')
    listed = [f'- {key}: {json.dumps(value)}' for key, value in values.items()]
    lines = [*head, '---', '', f'# {title}', '', progress, *table, '', '## Settings', '', *listed]
    return '\n'.join(lines) + '\n'
