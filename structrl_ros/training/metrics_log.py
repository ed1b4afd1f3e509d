"""Numbers of a run: one JSON line an iteration, and the same numbers as TensorBoard events."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from structrl_ros.errors import TrainingError

#: Numbers by name; None where a number could not be formed.
Metrics = dict[str, float | None]

#: Names that begin so hold CPU time: the only ones in which two equal runs differ.
SECONDS = 'seconds/'


class MetricsLog:
    """`metrics.jsonl` and `tensorboard/` of a run directory.

    A line is on the disk before `write` returns. A log that is opened again forgets the lines
    after the checkpoint that the run goes on from, so no iteration is told twice.
    """

    def __init__(self, directory: Path, counter: str, *, after: int | None = None) -> None:
        """Open the log.

        Args:
            directory: The run's.
            counter: Name of what is counted: 'iteration' or 'update'.
            after: Keep the lines up to this one; None: begin.

        Raises:
            TrainingError: If a file cannot be read or written.
        """
        from torch.utils.tensorboard import SummaryWriter

        self._path = directory / 'metrics.jsonl'
        self._counter = counter
        try:
            self._keep(-1 if after is None else after)
            purge = 0 if after is None else after + 1
            self._events = SummaryWriter(str(directory / 'tensorboard'), purge_step=purge)
        except OSError as error:
            raise TrainingError(
                f'{self._path}: {(error.strerror or str(error)).lower()}'
            ) from None

    def write(self, number: int, metrics: Mapping[str, float | None]) -> None:
        """Add the numbers of one iteration.

        Raises:
            TrainingError: If they cannot be written.
        """
        line = json.dumps({self._counter: number, **metrics}, allow_nan=False)
        try:
            with self._path.open('a', encoding='utf-8') as file:
                file.write(f'{line}\n')
                file.flush()
                os.fsync(file.fileno())
            for name, value in metrics.items():
                if value is not None:
                    self._events.add_scalar(name, value, number)
            self._events.flush()
        except OSError as error:
            raise TrainingError(
                f'{self._path}: {(error.strerror or str(error)).lower()}'
            ) from None

    def close(self) -> None:
        """Close the files; a second call does nothing."""
        self._events.close()

    def _keep(self, last: int) -> None:
        if not self._path.exists():
            self._path.touch()
            return
        lines = read_metrics(self._path)
        kept = [json.dumps(line) for line in lines if line[self._counter] <= last]
        part = self._path.with_suffix('.part')
        part.write_text(''.join(f'{line}\n' for line in kept), encoding='utf-8')
        part.replace(self._path)


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a `metrics.jsonl`; one that was cut by a kill is left out.

    Raises:
        TrainingError: If the file cannot be read.
    """
    lines = []
    try:
        text = path.read_text(encoding='utf-8', errors='replace')
    except OSError as error:
        raise TrainingError(f'{path}: {error.strerror}') from None
    for line in text.splitlines():
        try:
            lines.append(json.loads(line))
        except json.JSONDecodeError:
            break
    return lines
