"""What commands that make counterfactual sets share: a folder of its own, whole as it grows."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import track

from structrl_ros.errors import ParameterError

if TYPE_CHECKING:
    from structrl_ros.training.counterfactual_set import SourceRecord


def new_set(out: Path) -> None:
    """Make the folder of a set.

    Raises:
        ParameterError: If something lies in it.
    """
    if out.exists() and any(out.iterdir()):
        raise ParameterError(f'{out}: not empty; allowed: a new or empty folder')
    out.mkdir(parents=True, exist_ok=True)


def keep_records(
    out: Path, made: Iterable[SourceRecord], total: int, console: Console
) -> list[SourceRecord]:
    """Return the records as they come; after each the manifest is that of all so far."""
    from structrl_ros.training.counterfactual_set import write_manifest

    records = []
    for record in track(made, 'episodes', total=total, console=console):
        records.append(record)
        write_manifest(out, records)
    return records
