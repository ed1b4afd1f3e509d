"""One process at a time in a folder."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from structrl_ros.errors import ParameterError


class FolderLock:
    """Holds a folder until `close`, or until the process ends, however it ends."""

    def __init__(self, path: Path, what: str) -> None:
        """Take the folder.

        Args:
            path: Of the folder, which exists.
            what: What it is, for the error: 'evaluation'.

        Raises:
            ParameterError: If another process holds it.
        """
        self._file = os.open(path, os.O_RDONLY)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.close()
            raise ParameterError(f'{what} {path} is in use by another process') from None

    def close(self) -> None:
        """Let another process have it; a second call does nothing."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
