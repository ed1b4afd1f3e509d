"""A corpus of failure events on disk: parts that were played, and a parquet file a split."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from structrl_ros.errors import DatasetError
from structrl_ros.models.whole_files import whole_file
from structrl_ros.recording.lerobot.tables import read_table
from structrl_ros.training.claimed_folder import claim
from structrl_ros.training.event_episode import SPLITS
from structrl_ros.training.event_episode import EventEpisode

#: Of the layout.
VERSION = 1
PARTS = 'parts'
DATA = 'data'

_INTEGERS = pa.list_(pa.int32())
_TYPES: dict[str, pa.DataType] = {
    'calibration_offset': pa.float64(),
    'seed': pa.int64(),
    'initial_state': pa.int64(),
    'success': pa.bool_(),
    'steps': _INTEGERS,
    'interval': _INTEGERS,
    'first_interval': _INTEGERS,
    'evidence': _INTEGERS,
    'frame_chunks': _INTEGERS,
    'states': pa.list_(pa.list_(pa.float32())),
    'simulator_states': pa.list_(pa.list_(pa.float64())),
    'potential': pa.list_(pa.float64()),
    'negative_branch': pa.list_(pa.bool_()),
    'roles': pa.list_(pa.string()),
    'images': pa.list_(pa.binary()),
}
_NAMES = [field.name for field in dataclasses.fields(EventEpisode)]


def claim_set(folder: Path, settings: dict[str, Any]) -> None:
    """Make the folder of a set, or check that it was made with these settings.

    Raises:
        ParameterError: If it holds something else, or was made with others.
        CheckpointError: If it cannot be written.
    """
    claim(folder, {'version': VERSION, **settings}, 'set of events')


def part_path(folder: Path, name: str) -> Path:
    """Return where a part lies."""
    return folder / PARTS / f'{name}.parquet'


def write_rows(path: Path, episodes: Sequence[EventEpisode]) -> None:
    """Write episodes, whole or not at all; none is no file.

    Raises:
        CheckpointError: If the disk refuses.
    """
    if not episodes:
        path.unlink(missing_ok=True)
        return
    schema = pa.schema([(name, _TYPES.get(name, pa.string())) for name in _NAMES])
    rows = [{name: getattr(episode, name) for name in _NAMES} for episode in episodes]
    with whole_file(path) as new:
        pq.write_table(pa.Table.from_pylist(rows, schema=schema), new, compression='zstd')


def read_rows(path: Path) -> list[EventEpisode]:
    """Return the episodes of a file.

    Raises:
        DatasetError: If it is missing, cut or of another layout.
    """
    table = read_table(path, _NAMES)
    for name in _NAMES:
        wanted = _TYPES.get(name, pa.string())
        got = table.schema.field(name).type
        if got != wanted:
            raise DatasetError(f'{path}: column {name} is {got}; allowed: {wanted}')
    return [_episode(row, path) for row in table.to_pylist()]


def write_splits(folder: Path) -> list[EventEpisode]:
    """Write a file a split from all parts, and return all episodes.

    Raises:
        DatasetError: If a part is cut.
        CheckpointError: If the disk refuses.
    """
    paths = sorted((folder / PARTS).glob('*.parquet'))
    episodes = [episode for path in paths for episode in read_rows(path)]
    for split in SPLITS:
        kept = [episode for episode in episodes if episode.split == split]
        write_rows(folder / DATA / f'{split}.parquet', kept)
    return episodes


def read_split(folder: Path, split: str) -> list[EventEpisode]:
    """Return the episodes of a split.

    Raises:
        DatasetError: If there is no such set or split, or its file is cut.
    """
    path = folder / DATA / f'{split}.parquet'
    if not path.is_file():
        have = ', '.join(s for s in SPLITS if (folder / DATA / f'{s}.parquet').is_file()) or 'none'
        raise DatasetError(f'{folder} has no split {split!r}; it has {have}')
    return read_rows(path)


def _episode(row: dict[str, Any], path: Path) -> EventEpisode:
    try:
        for name, kind in _TYPES.items():
            if pa.types.is_list(kind):
                row[name] = tuple(row[name])
        for name in ('states', 'simulator_states'):
            row[name] = tuple(map(tuple, row[name]))
        episode = EventEpisode(**row)
    except TypeError as error:
        raise DatasetError(f'{path}: a row is not whole: {error}') from None
    moments = episode.chunks + 1
    is_whole = episode.split in SPLITS and len(episode.states) == moments
    is_whole &= len(episode.simulator_states) == moments
    is_whole &= len(episode.potential) in (0, moments)
    is_whole &= len(episode.images) == len(episode.roles) * len(episode.frame_chunks)
    is_whole &= all(len(pair) in (0, 2) for pair in (episode.interval, episode.first_interval))
    if not is_whole:
        raise DatasetError(f'{path}: {episode.id} is not whole; make the set again')
    return episode
