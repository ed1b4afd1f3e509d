"""Where a GRM's checkpoint lies: shipped under its name, or in a folder of the user's."""

from __future__ import annotations

from pathlib import Path

from structrl_ros.errors import CheckpointError
from structrl_ros.models.description import CONFIG
from structrl_ros.models.grm.checkpoint import WEIGHTS

_SHIPPED = Path(__file__).resolve().parent.parent / 'checkpoints'


def shipped_grm_names() -> tuple[str, ...]:
    """Return the names of the GRMs that are shipped: folders of `models/checkpoints`."""
    return tuple(sorted(path.parent.name for path in _SHIPPED.glob(f'*/{WEIGHTS}')))


def grm_folder(name_or_folder: str) -> Path:
    """Return the folder of a checkpoint.

    Args:
        name_or_folder: A shipped name, or a folder, which wins.

    Raises:
        CheckpointError: If it is neither.
    """
    folder = Path(name_or_folder).expanduser()
    if name_or_folder and (folder / CONFIG).is_file():
        return folder
    if name_or_folder in shipped_grm_names():
        return _SHIPPED / name_or_folder
    shipped = ', '.join(shipped_grm_names()) or 'none'
    raise CheckpointError(
        f'no progress model {name_or_folder!r}; allowed: the folder of one (structrl train grm), '
        f'or a shipped one: {shipped}'
    )
