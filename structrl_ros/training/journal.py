"""A journal of finished episodes: a JSON document a line, on the disk before the next begins."""

from __future__ import annotations

import json
import os
from pathlib import Path

from structrl_ros.errors import ParameterError
from structrl_ros.types import JsonObject


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


def whole_lines(path: Path) -> tuple[list[bytes], int | None]:
    """Return the lines that were written whole; one that a kill cut short was never counted.

    Returns:
        The lines, and the length in bytes to which the journal is to be cut; None if no line is
        cut short.
    """
    data = path.read_bytes() if path.exists() else b''
    whole = data[: data.rfind(b'\n') + 1]
    return whole.splitlines(), len(whole) if len(whole) < len(data) else None
