"""Reads a LeRobotDataset v3.0, ours or anybody's, one episode after the other."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from structrl_ros.errors import DatasetError
from structrl_ros.recording.lerobot.layout import DATA_PATH
from structrl_ros.recording.lerobot.layout import EPISODE_COLUMN
from structrl_ros.recording.lerobot.layout import EPISODES_FOLDER
from structrl_ros.recording.lerobot.layout import SUBTASK_KEY
from structrl_ros.recording.lerobot.layout import SUBTASKS_PATH
from structrl_ros.recording.lerobot.layout import TASKS_PATH
from structrl_ros.recording.lerobot.layout import Info
from structrl_ros.recording.lerobot.layout import Place
from structrl_ros.recording.lerobot.layout import read_info
from structrl_ros.recording.lerobot.tables import column_array
from structrl_ros.recording.lerobot.tables import picture_files
from structrl_ros.recording.lerobot.tables import read_table
from structrl_ros.recording.lerobot.tables import read_words
from structrl_ros.recording.lerobot.videos import read_frames
from structrl_ros.types import JsonObject
from structrl_ros.types import UInt8

Pictures = Callable[[], Iterator[UInt8]]


@dataclass(frozen=True, slots=True)
class DatasetEpisode:
    """One episode, with the names of the dataset.

    Attributes:
        number: `episode_index`.
        task: Instruction.
        columns: Arrays (T,) or (T, n) of numbers.
        pictures: Key of a camera -> its T pictures (H, W, 3), read when called.
        subtasks: Phrase of each step, () if the dataset has none.
        origin: What our export keeps of the bag, {} in other datasets.
    """

    number: int
    task: str
    columns: Mapping[str, NDArray[Any]]
    pictures: Mapping[str, Pictures]
    subtasks: tuple[str, ...]
    origin: JsonObject

    def __len__(self) -> int:
        """Return T."""
        return len(next(iter(self.columns.values())))


class DatasetReader:
    """Reads one dataset.

    Attributes:
        root: Its folder.
        info: Of `meta/info.json`.
        tasks: Instruction of each number.
    """

    def __init__(self, root: Path) -> None:
        """Read what describes it.

        Raises:
            DatasetError: If a file is missing, cut or of another layout.
        """
        self.root = root
        self.info: Info = read_info(root)
        self.tasks = read_words(root / TASKS_PATH, 'task')
        has_words = SUBTASK_KEY in self.info.features and (root / SUBTASKS_PATH).is_file()
        self._subtasks = read_words(root / SUBTASKS_PATH, 'subtask') if has_words else {}
        self._rows = self._read_rows()

    def __len__(self) -> int:
        """Return the number of episodes."""
        return len(self._rows)

    def episodes(self) -> Iterator[DatasetEpisode]:
        """Yield them in order.

        Raises:
            DatasetError: If a file of one is missing, cut or of another layout.
        """
        for row in self._rows:
            yield self._episode(row)

    def _read_rows(self) -> list[JsonObject]:
        files = sorted((self.root / EPISODES_FOLDER).glob('*/*.parquet'))
        if not files:
            raise DatasetError(f'{self.root / EPISODES_FOLDER} holds no parquet file')
        rows: list[JsonObject] = []
        for path in files:
            table = read_table(path)
            names = [n for n in table.column_names if not n.startswith('stats/')]
            rows += table.select(names).to_pylist()
        if len(rows) != self.info.episodes:
            raise DatasetError(
                f'{self.root} has {len(rows)} rows of episodes; info.json: {self.info.episodes}'
            )
        needed = {'episode_index', 'length', 'data/chunk_index', 'data/file_index'}
        if rows and (missing := sorted(needed - set(rows[0]))):
            raise DatasetError(f'{files[0]} has no column {", ".join(missing)}')
        return sorted(rows, key=lambda row: row['episode_index'])

    def _episode(self, row: JsonObject) -> DatasetEpisode:
        number, length = int(row['episode_index']), int(row['length'])
        place = Place(int(row['data/chunk_index']), int(row['data/file_index']))
        path = self.root / place.path(self.info.data_path or DATA_PATH)
        features = self.info.features
        kept = [key for key, feature in features.items() if feature.dtype != 'video']
        table = read_table(path, kept, episode=number)
        if table.num_rows != length:
            raise DatasetError(
                f'{path} has {table.num_rows} frames of episode {number}; expected {length}'
            )
        columns = {
            key: column_array(table, key)
            for key in kept
            if features[key].dtype not in ('image', 'string', 'language')
        }
        pictures: dict[str, Pictures] = {}
        for key in self.info.cameras:
            if features[key].dtype == 'image':
                pictures[key] = _Decoded(picture_files(table, key), key)
            else:
                pictures[key] = _Filmed(self, row, key)
        return DatasetEpisode(
            number=number,
            task=self._task(row, columns),
            columns=columns,
            pictures=pictures,
            subtasks=self._phrases(columns),
            origin=_origin(row),
        )

    def frames(self, row: JsonObject, key: str) -> Iterator[UInt8]:
        """Yield an episode's frames of a video.

        Raises:
            DatasetError: If the row does not say where, or the video is missing or cut.
        """
        names = [f'videos/{key}/{n}' for n in ('chunk_index', 'file_index', 'from_timestamp')]
        if any(row.get(name) is None for name in names):
            raise DatasetError(f'{self.root}: the rows of episodes do not say where {key} lies')
        chunk, file, from_s = (row[name] for name in names)
        path = self.root / Place(int(chunk), int(file)).path(self.info.video_path, key)
        return read_frames(path, self.info.fps, float(from_s), int(row['length']))

    def _task(self, row: JsonObject, columns: Mapping[str, NDArray[Any]]) -> str:
        number = int(columns['task_index'][0]) if 'task_index' in columns else 0
        told = row.get('tasks') or [None]
        task = self.tasks.get(number, told[0])
        if task is None:
            raise DatasetError(
                f'{self.root}: task {number} of episode {row["episode_index"]} is not in '
                f'{TASKS_PATH}; known: {", ".join(str(n) for n in self.tasks)}'
            )
        return str(task)

    def _phrases(self, columns: Mapping[str, NDArray[Any]]) -> tuple[str, ...]:
        if not self._subtasks:
            return ()
        return tuple(self._subtasks.get(int(n), '') for n in columns[SUBTASK_KEY])


@dataclass(frozen=True, slots=True)
class _Decoded:
    """Pictures that lie in the table."""

    files: list[bytes]
    key: str

    def __call__(self) -> Iterator[UInt8]:
        for file in self.files:
            try:
                yield np.asarray(Image.open(io.BytesIO(file)).convert('RGB'))
            except OSError as error:
                raise DatasetError(f'a picture of {self.key} is cut: {error}') from None


@dataclass(frozen=True, slots=True)
class _Filmed:
    """Pictures that lie in a video."""

    reader: DatasetReader
    row: JsonObject
    key: str

    def __call__(self) -> Iterator[UInt8]:
        return self.reader.frames(self.row, self.key)


def _origin(row: JsonObject) -> JsonObject:
    text = row.get(EPISODE_COLUMN)
    if text is None:
        return {}
    try:
        document = json.loads(text)
    except ValueError as error:
        raise DatasetError(f'{EPISODE_COLUMN} is no JSON: {error}') from None
    return document if isinstance(document, dict) else {}
