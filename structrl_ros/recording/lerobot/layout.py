"""Where the parts of a LeRobotDataset v3.0 lie, and its `meta/info.json`.

Many episodes share a file of `data/`, `videos/` and `meta/episodes/`; a file is closed once it has
reached its size, and a folder holds `FILES_A_CHUNK` of them at most.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from structrl_ros.errors import DatasetError
from structrl_ros.types import JsonObject

CODEBASE_VERSION = 'v3.0'
INFO_PATH = 'meta/info.json'
STATISTICS_PATH = 'meta/stats.json'
TASKS_PATH = 'meta/tasks.parquet'
SUBTASKS_PATH = 'meta/subtasks.parquet'
EPISODES_FOLDER = 'meta/episodes'
EPISODES_PATH = 'meta/episodes/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet'
DATA_PATH = 'data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet'
VIDEO_PATH = 'videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4'
#: Files in a folder `chunk-...`, and the sizes at which a file is closed.
FILES_A_CHUNK = 1000
DATA_FILE_BYTES = 100 * 2**20
VIDEO_FILE_BYTES = 200 * 2**20

IMAGE_PREFIX = 'observation.images.'
STATE_KEY = 'observation.state'
ACTION_KEY = 'action'
REWARD_KEY = 'next.reward'
DONE_KEY = 'next.done'
TRUNCATED_KEY = 'next.truncated'
SUCCESS_KEY = 'next.success'
SUBTASK_KEY = 'subtask_index'
STAGE_KEY = 'stage'
INTERVENTION_KEY = 'intervention'
ACTOR_KEY = 'actor'
CHUNK_KEY = 'chunk'
TIME_KEY = 'time_ns'
OBSERVED_KEY = 'observed_ns'
#: Column of `meta/episodes` with what a bag says of the episode, as JSON.
EPISODE_COLUMN = 'structrl_episode'


@dataclass(frozen=True, slots=True)
class Place:
    """Which file of a kind: its folder `chunk-...` and its number in it."""

    chunk: int = 0
    file: int = 0

    def next(self) -> Place:
        """Return the place of the file after this one."""
        if self.file + 1 < FILES_A_CHUNK:
            return Place(self.chunk, self.file + 1)
        return Place(self.chunk + 1, 0)

    def path(self, pattern: str, video_key: str = '') -> str:
        """Return the path of the file in the dataset."""
        return pattern.format(chunk_index=self.chunk, file_index=self.file, video_key=video_key)


@dataclass(frozen=True, slots=True)
class Feature:
    """One column of a dataset: type, shape of a frame's value, and names of its entries."""

    dtype: str
    shape: tuple[int, ...]
    names: tuple[str, ...] | None = None
    info: Mapping[str, Any] | None = None

    @property
    def is_picture(self) -> bool:
        """Whether it is a camera, as video or as pictures in the table."""
        return self.dtype in ('video', 'image')

    def to_json(self) -> JsonObject:
        """Return the entry of `info.json`."""
        names = None if self.names is None else list(self.names)
        document: JsonObject = {'dtype': self.dtype, 'shape': list(self.shape), 'names': names}
        return document if self.info is None else {**document, 'info': dict(self.info)}


#: What every dataset has.
STANDARD_FEATURES: Mapping[str, Feature] = {
    'timestamp': Feature('float32', (1,)),
    'frame_index': Feature('int64', (1,)),
    'episode_index': Feature('int64', (1,)),
    'index': Feature('int64', (1,)),
    'task_index': Feature('int64', (1,)),
}


@dataclass(frozen=True, slots=True)
class Info:
    """`meta/info.json`: rate in frames a second, counts, features; `document` is all of it."""

    fps: float
    robot_type: str
    episodes: int
    frames: int
    features: Mapping[str, Feature]
    data_path: str
    video_path: str
    document: JsonObject

    @property
    def cameras(self) -> tuple[str, ...]:
        """Keys of the features that are pictures."""
        return tuple(key for key, feature in self.features.items() if feature.is_picture)


def read_info(root: Path) -> Info:
    """Read and check `meta/info.json`.

    Raises:
        DatasetError: If it is missing, no JSON, of another version, or a field is wrong.
    """
    path = root / INFO_PATH
    document = read_json(path)
    version = document.get('codebase_version')
    if version != CODEBASE_VERSION:
        hint = "; LeRobot's own converter lifts v2.1" if version == 'v2.1' else ''
        raise DatasetError(
            f'{path}: codebase_version {version!r}; allowed: {CODEBASE_VERSION!r}{hint}'
        )
    try:
        features = {key: _feature(value) for key, value in document['features'].items()}
        info = Info(
            fps=float(document['fps']),
            robot_type=str(document.get('robot_type') or ''),
            episodes=int(document['total_episodes']),
            frames=int(document['total_frames']),
            features=features,
            data_path=str(document.get('data_path') or DATA_PATH),
            video_path=str(document.get('video_path') or VIDEO_PATH),
            document=document,
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DatasetError(f'{path} breaks the format: {error!r}') from None
    if not 0.0 < info.fps <= 1e4:
        raise DatasetError(f'{path}: fps {info.fps:g}; allowed: above 0')
    return info


def read_json(path: Path) -> JsonObject:
    """Read a JSON object.

    Raises:
        DatasetError: If the file is missing or is none.
    """
    try:
        document = json.loads(path.read_text('utf-8'))
    except OSError as error:
        raise DatasetError(f'no dataset: {path}: {error.strerror}') from None
    except ValueError as error:
        raise DatasetError(f'{path} is no JSON: {error}') from None
    if not isinstance(document, dict):
        raise DatasetError(f'{path} holds a {type(document).__name__}; allowed: an object')
    return document


def write_json(path: Path, document: JsonObject) -> None:
    """Write a JSON object, for people to read."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=4, ensure_ascii=False) + '\n', 'utf-8')


def _feature(value: Mapping[str, Any]) -> Feature:
    names = value.get('names')
    if isinstance(names, dict):  # older recorders: {"motors": [...]}
        names = [n for group in names.values() for n in group]
    return Feature(
        dtype=str(value['dtype']),
        shape=tuple(int(n) for n in value['shape']),
        names=tuple(str(n) for n in names) if names else None,
        info=value.get('info'),
    )
