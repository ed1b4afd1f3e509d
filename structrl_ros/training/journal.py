"""A journal of finished episodes: a JSON document a line, on the disk before the next begins."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from structrl_ros.errors import ParameterError
from structrl_ros.types import JsonObject

Record = TypeVar('Record')


def append_line(file: int, path: Path, document: JsonObject) -> None:
    """Append a document; it is on the disk when this returns.

    Args:
        file: Descriptor of the journal, open for appending.
        path: Of the journal, for an error.
        document: Plain JSON without NaN.

    Raises:
        ParameterError: If the disk is full or refuses.
    """
    line = f'{json.dumps(document, allow_nan=False)}\n'.encode()
    try:
        written = os.write(file, line)
        os.fsync(file)
    except OSError as error:
        raise ParameterError(f'{path}: {error.strerror}') from None
    if written != len(line):
        raise ParameterError(f'{path}: the disk is full')


def read_journal(
    path: Path, read: Callable[[JsonObject], Record]
) -> tuple[list[Record], int | None]:
    """Return the records that were written whole; one that a kill cut short was never counted.

    Args:
        path: Of the journal; one that is not there is empty.
        read: Makes a record of a document.

    Returns:
        The records, and the length in bytes to which the journal is to be cut; None if no line is
        cut short.

    Raises:
        ParameterError: If a line is no record, with its number.
    """
    data = path.read_bytes() if path.exists() else b''
    whole = data[: data.rfind(b'\n') + 1]
    records = []
    for number, line in enumerate(whole.splitlines(), 1):
        try:
            records.append(read(json.loads(line)))
        except (ValueError, ParameterError) as error:
            raise ParameterError(f'{path}, line {number}: {error}') from None
    return records, len(whole) if len(whole) < len(data) else None
