"""Named arrays in one block of memory that several processes of this machine see."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Mapping
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path
from typing import Any

import numpy as np

from structrl_ros.errors import SimulationError

#: Name of an array to its shape and the name of its type.
Layout = Mapping[str, tuple[tuple[int, ...], str]]

_ALIGNMENT = 64
_PLACE = Path('/dev/shm')


class SharedArrays:
    """The arrays of a layout; who made the block frees it, who opened it lets go of it."""

    def __init__(self, layout: Layout, name: str | None = None) -> None:
        """Make a block, all zero, or open the one of that name with the same layout.

        Raises:
            SimulationError: If there is no room for it.
        """
        self.layout = dict(layout)
        offsets, end = {}, 0
        for array, (shape, dtype) in self.layout.items():
            offsets[array] = end
            size = int(np.prod(shape)) * np.dtype(dtype).itemsize
            end += -(-size // _ALIGNMENT) * _ALIGNMENT
        self._is_mine = name is None
        if self._is_mine and _PLACE.is_dir() and (free := shutil.disk_usage(_PLACE).free) < end:
            raise SimulationError(
                f'{_PLACE} has {free >> 20} MiB left, the workers need {-(-end >> 20)} MiB; fewer '
                'or smaller pictures, or enlarge it: mount -o remount,size=1G /dev/shm'
            )
        mine = f'structrl_{os.getpid()}_{secrets.token_hex(4)}'
        self._block = SharedMemory(name or mine, create=self._is_mine, size=max(end, 1))
        self._arrays: dict[str, np.ndarray[Any, Any]] = {
            array: np.ndarray(shape, dtype, self._block.buf, offsets[array])
            for array, (shape, dtype) in self.layout.items()
        }

    @property
    def name(self) -> str:
        """Name of the block, for `SharedArrays(layout, name)` in another process."""
        return self._block.name

    def __getitem__(self, array: str) -> np.ndarray[Any, Any]:
        """Return an array; do not keep it beyond `close`."""
        return self._arrays[array]

    def close(self) -> None:
        """Let go of the block, and free it if it was made here; a second call does nothing."""
        if not self._arrays:
            return
        self._arrays.clear()
        self._block.close()
        if self._is_mine:
            self._block.unlink()
