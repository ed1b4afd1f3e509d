"""What the card of a checkpoint (`README.md`) says in its head, for reports."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import yaml

from structrl_ros.errors import CheckpointError
from structrl_ros.models.whole_files import existing_folder
from structrl_ros.types import MeasuredRate

CARD = 'README.md'


@dataclass(frozen=True, slots=True)
class Card:
    """By what a policy was trained, and the rates that were measured of it."""

    trained_by: str = ''
    measured: tuple[MeasuredRate, ...] = ()


def read_card(folder: Path | str) -> Card:
    """Return the head of a checkpoint's card, empty where the card has none.

    The head is YAML between two lines of `---`: `trained_by`, and `measured` with `label`,
    `successes` and `episodes`.

    Raises:
        CheckpointError: If there is no card, or its head is wrong.
    """
    path = existing_folder(Path(folder)) / CARD
    try:
        text = path.read_text()
    except OSError as error:
        raise CheckpointError(f'{path} cannot be read: {error.strerror}') from None
    if not text.startswith('---\n'):
        return Card()
    try:
        head = yaml.safe_load(text[4:].partition('\n---')[0]) or {}
        rates = tuple(
            MeasuredRate(str(rate['label']), int(rate['successes']), int(rate['episodes']))
            for rate in head.get('measured') or ()
        )
        return Card(str(head.get('trained_by') or ''), rates)
    except (yaml.YAMLError, AttributeError, KeyError, TypeError, ValueError) as error:
        reason = ' '.join(str(error).split())
        raise CheckpointError(f'{path}: its head is no card: {reason}') from None
