"""What every checkpoint says of itself: `config.json`, and a card for people, `README.md`."""

from __future__ import annotations

import json
from pathlib import Path

from structrl_ros.errors import CheckpointError
from structrl_ros.types import JsonObject

FORMAT_VERSION = 1
CONFIG, CARD = 'config.json', 'README.md'


def write_description(folder: Path, document: JsonObject, card: str) -> None:
    """Write both files.

    Args:
        folder: Of the checkpoint, being made.
        document: Plain JSON; the version of the format is put before it.
        card: Markdown on training data, seeds and measured numbers.
    """
    text = json.dumps({'format_version': FORMAT_VERSION, **document}, indent=2)
    (folder / CONFIG).write_text(f'{text}\n', encoding='utf-8')
    (folder / CARD).write_text(f'{card.rstrip()}\n', encoding='utf-8')


def read_description(folder: Path) -> JsonObject:
    """Return the document of a checkpoint.

    Raises:
        CheckpointError: If it is missing, no JSON object, or of another format.
    """
    path = folder / CONFIG
    try:
        document = json.loads(path.read_text(encoding='utf-8'))
    except FileNotFoundError:
        raise CheckpointError(f'{path} is missing; allowed: the folder of a checkpoint') from None
    except (OSError, ValueError) as error:
        raise CheckpointError(f'{path} cannot be read: {error}') from None
    if not isinstance(document, dict) or document.get('format_version') != FORMAT_VERSION:
        got = document.get('format_version') if isinstance(document, dict) else document
        raise CheckpointError(f'{path}: format_version is {got!r}; allowed: {FORMAT_VERSION}')
    return document
