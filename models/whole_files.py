"""Files and folders that are there whole or not at all, whatever interrupts the writing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from contextlib import suppress
from pathlib import Path

from structrl_ros.errors import CheckpointError


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """Give an empty folder beside `folder` that takes its place when the block ends well.

    The files are on the disk before the names change. The old folder stays whole until then: it
    is renamed, the new one takes its name, and the old one is deleted. A process that is killed
    between the two renames leaves the old one under its second name, where `existing_folder`
    finds it. One process at a time may write a folder.

    Raises:
        CheckpointError: If the disk is full or the place cannot be written; the old stays.
    """
    folder = Path(os.path.abspath(folder))
    new = _beside(folder, 'new')
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        _recover(folder)
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir()
        yield new
        _flush_tree(new)
        _swap(new, folder)
    except OSError as error:
        raise CheckpointError(
            f'cannot save {folder}: {_reason(error)}; what was there stays'
        ) from None
    finally:
        shutil.rmtree(new, ignore_errors=True)


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Give a temporary path beside `path` that takes its name when the block ends well.

    Raises:
        CheckpointError: If the disk is full or the place cannot be written; the old stays.
    """
    path = Path(os.path.abspath(path))
    new = _beside(path, 'new')
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield new
        _flush(new)
        new.replace(path)
        _flush(path.parent)
    except OSError as error:
        raise CheckpointError(
            f'cannot save {path}: {_reason(error)}; what was there stays'
        ) from None
    finally:
        with suppress(OSError):
            new.unlink(missing_ok=True)


def existing_folder(folder: Path) -> Path:
    """Return where a folder written by `whole_folder` lies.

    Raises:
        CheckpointError: If there is none.
    """
    folder = Path(os.path.abspath(folder))
    for place in (folder, _beside(folder, 'old')):
        if place.is_dir():
            return place
    raise CheckpointError(f'no checkpoint at {folder}; allowed: a folder that was saved')


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(f'.{path.name}.{suffix}')


def _recover(folder: Path) -> None:
    """Undo half a swap, or finish it."""
    old = _beside(folder, 'old')
    if not old.exists():
        return
    if folder.exists():
        shutil.rmtree(old)
    else:
        old.rename(folder)


def _swap(new: Path, folder: Path) -> None:
    old = _beside(folder, 'old')
    if folder.exists():
        folder.rename(old)
    new.rename(folder)
    _flush(folder.parent)
    shutil.rmtree(old, ignore_errors=True)


def _flush_tree(folder: Path) -> None:
    for place, _, names in os.walk(folder, topdown=False):
        for name in names:
            _flush(Path(place, name))
        _flush(Path(place))


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
