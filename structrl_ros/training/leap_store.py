"""The folder of demonstrations that were cut into skills: one file each, so a run can go on.

`settings.json` says how key frames were taken; a run with other settings is refused, since it
would mix them. A file is there whole or not at all.
"""

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
from structrl_ros.training.leap_episode import SkillEpisode

VERSION = 1
EPISODES = 'episodes'

_WORDS = {'objects', 'phrases', 'roles'}
_FRAMES = {'boundaries', 'middle_frames'}
_NUMBERS = {'moments', 'middles'}


def claim_folder(folder: Path, settings: dict[str, Any]) -> None:
    """Make the folder of a set, or check that it was made with these settings.

    Raises:
        ParameterError: If it holds something else, or was made with others.
        CheckpointError: If it cannot be written.
    """
    claim(folder, {'version': VERSION, **settings}, 'LEAP set')


def episode_path(folder: Path, name: str) -> Path:
    """Return where an episode lies."""
    return folder / EPISODES / f'{name}.parquet'


def save_episode(folder: Path, episode: SkillEpisode) -> None:
    """Write an episode, whole or not at all.

    Raises:
        CheckpointError: If the disk refuses.
    """
    document = dataclasses.asdict(episode)
    table = pa.table({name: pa.array([value], _type(name)) for name, value in document.items()})
    with whole_file(episode_path(folder, episode.name)) as new:
        pq.write_table(table, new, compression='zstd')


def load_episodes(folder: Path, names: Sequence[str] | None = None) -> list[SkillEpisode]:
    """Return the episodes of a folder by name, all of them or some.

    Raises:
        DatasetError: If a file is missing, cut or of another layout.
    """
    if names is None:
        names = sorted(path.stem for path in (folder / EPISODES).glob('*.parquet'))
    return [_load(episode_path(folder, name)) for name in names]


def _load(path: Path) -> SkillEpisode:
    wanted = [field.name for field in dataclasses.fields(SkillEpisode)]
    rows = read_table(path, wanted).to_pylist()
    if len(rows) != 1:
        raise DatasetError(f'{path} has {len(rows)} rows; allowed: 1, an episode')
    row = rows[0]
    for name in (_WORDS | _NUMBERS) & set(row):
        row[name] = tuple(row[name])
    for name in _FRAMES & set(row):
        row[name] = tuple(tuple(frame) for frame in row[name])
    return SkillEpisode(**row)


def _type(name: str) -> pa.DataType:
    if name in _WORDS:
        return pa.list_(pa.string())
    if name in _FRAMES:
        return pa.list_(pa.list_(pa.binary()))
    if name in _NUMBERS:
        return pa.list_(pa.int64())
    return pa.int64() if name in ('seed', 'initial_state') else pa.string()
