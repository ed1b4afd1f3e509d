"""The folder of a set: made for some settings, and refused with others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from structrl_ros.errors import ParameterError
from structrl_ros.models.whole_files import whole_file

SETTINGS = 'settings.json'


def claim(folder: Path, settings: dict[str, Any], kind: str) -> None:
    """Make the folder of a set, or check that it was made with these settings.

    Args:
        folder: New, empty, or claimed before.
        settings: Plain JSON that the set depends on.
        kind: What a set is called in a refusal, such as 'LEAP set'.

    Raises:
        ParameterError: If it holds something else, or was made with others.
        CheckpointError: If it cannot be written.
    """
    path = folder / SETTINGS
    if path.is_file():
        found = claimed_settings(folder)
        differing = [key for key in settings if found.get(key) != settings[key]]
        if differing:
            key = differing[0]
            raise ParameterError(
                f'{folder} was made with {key} {found.get(key)!r}, now {settings[key]!r}; '
                'allowed: the same, or a new folder'
            )
        return
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ParameterError(f'{folder}: not empty and no {kind}; allowed: a new or empty folder')
    with whole_file(path) as new:
        new.write_text(f'{json.dumps(settings, indent=1)}\n', encoding='utf-8')


def claimed_settings(folder: Path) -> dict[str, Any]:
    """Return the settings that a folder was made with, empty where they are no object.

    Raises:
        ParameterError: If they cannot be read.
    """
    path = folder / SETTINGS
    try:
        found = json.loads(path.read_text(encoding='utf-8'))
    except (OSError, ValueError) as error:
        raise ParameterError(f'{path} cannot be read: {error}') from None
    return found if isinstance(found, dict) else {}
