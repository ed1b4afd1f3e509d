"""Writes a LeRobotDataset v3.0, one episode after the other."""

from __future__ import annotations

import io
from collections.abc import Iterable
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from PIL import Image

from structrl_ros.errors import DatasetError
from structrl_ros.recording.lerobot.layout import CODEBASE_VERSION
from structrl_ros.recording.lerobot.layout import DATA_FILE_BYTES
from structrl_ros.recording.lerobot.layout import DATA_PATH
from structrl_ros.recording.lerobot.layout import EPISODES_PATH
from structrl_ros.recording.lerobot.layout import FILES_A_CHUNK
from structrl_ros.recording.lerobot.layout import INFO_PATH
from structrl_ros.recording.lerobot.layout import STANDARD_FEATURES
from structrl_ros.recording.lerobot.layout import STATISTICS_PATH
from structrl_ros.recording.lerobot.layout import SUBTASKS_PATH
from structrl_ros.recording.lerobot.layout import TASKS_PATH
from structrl_ros.recording.lerobot.layout import VIDEO_FILE_BYTES
from structrl_ros.recording.lerobot.layout import VIDEO_PATH
from structrl_ros.recording.lerobot.layout import Feature
from structrl_ros.recording.lerobot.layout import Place
from structrl_ros.recording.lerobot.layout import write_json
from structrl_ros.recording.lerobot.statistics import DatasetStatistics
from structrl_ros.recording.lerobot.statistics import PictureHistogram
from structrl_ros.recording.lerobot.statistics import Statistics
from structrl_ros.recording.lerobot.statistics import counted_frames
from structrl_ros.recording.lerobot.tables import frame_schema
from structrl_ros.recording.lerobot.tables import frame_table
from structrl_ros.recording.lerobot.tables import write_words
from structrl_ros.recording.lerobot.videos import VideoWriter
from structrl_ros.types import JsonObject
from structrl_ros.types import UInt8


class Words:
    """Gives every text a number, in the order of first use."""

    def __init__(self) -> None:
        """Begin empty."""
        self.numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        """Return the number of a text."""
        return self.numbers.setdefault(text, len(self.numbers))


@dataclass(slots=True)
class _DataFile:
    """The open file of `data/` and what it holds already."""

    place: Place = field(default_factory=Place)
    writer: pq.ParquetWriter | None = None
    path: Path | None = None


class DatasetWriter:
    """Writes one dataset; `close` writes what describes it.

    Attributes:
        tasks: Instructions by number.
        subtasks: Phrases by number.
        features: Of the dataset, with the standard ones.
        frames: Written so far.
        episodes: Rows of `meta/episodes` so far.
    """

    def __init__(
        self, root: Path, features: Mapping[str, Feature], *, fps: int, robot: str, codec: str
    ) -> None:
        """Begin a dataset.

        Args:
            root: Folder, empty.
            features: Without the standard ones.
            fps: Frames a second.
            robot: Name of the body.
            codec: Of the videos, a key of `videos.ENCODERS`.
        """
        self.root = root
        self.features = {**features, **STANDARD_FEATURES}
        self.tasks, self.subtasks = Words(), Words()
        self.frames = 0
        self.episodes: list[JsonObject] = []
        self._fps, self._robot = fps, robot
        self._schema = frame_schema(self.features)
        self._data = _DataFile()
        self._statistics = DatasetStatistics()
        self._videos = {
            key: VideoWriter(root, key, fps, codec)
            for key, feature in features.items()
            if feature.dtype == 'video'
        }

    def add_episode(
        self,
        task: str,
        columns: Mapping[str, NDArray[Any]],
        pictures: Mapping[str, Iterable[UInt8]],
        extra: Mapping[str, Any],
    ) -> None:
        """Append an episode.

        Args:
            task: Instruction.
            columns: Arrays (T,) or (T, n) of all features that are neither pictures nor standard.
            pictures: RGB pictures (H, W, 3), T of them, of every camera.
            extra: More columns of `meta/episodes`.

        Raises:
            DatasetError: If a picture has another size than its feature.
        """
        number, length = len(self.episodes), len(next(iter(columns.values())))
        index = np.arange(length, dtype=np.int64)
        numbers: dict[str, NDArray[Any]] = {
            **columns,
            'timestamp': (index / self._fps).astype(np.float32),
            'frame_index': index,
            'episode_index': np.full(length, number, dtype=np.int64),
            'index': self.frames + index,
            'task_index': np.full(length, self.tasks.number(task), dtype=np.int64),
        }
        row: JsonObject = {'episode_index': number, 'tasks': [task], 'length': length}
        files, histograms = self._add_pictures(pictures, length, row)
        self._add_rows({**numbers, **files}, row)
        row |= {'dataset_from_index': self.frames, 'dataset_to_index': self.frames + length}
        found = self._statistics.see(numbers, histograms)
        row |= {f'stats/{k}/{n}': v for k, s in found.items() for n, v in s.items()}
        row |= extra
        self.frames += length
        self.episodes.append(row)

    def abandon(self) -> None:
        """Close the open files of a dataset that is given up."""
        self._close_data()
        for video in self._videos.values():
            video.close()

    def close(self, extra: Mapping[str, Any]) -> dict[str, Statistics]:
        """Finish all files; `extra` goes into `info.json`. Returns the statistics."""
        self.abandon()
        for row in self.episodes:
            row |= {'meta/episodes/chunk_index': 0, 'meta/episodes/file_index': 0}
        path = self.root / EPISODES_PATH.format(chunk_index=0, file_index=0)
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.Table.from_pylist(self.episodes), path, compression='snappy')
        write_words(self.root / TASKS_PATH, 'task', list(self.tasks.numbers))
        if self.subtasks.numbers:
            write_words(self.root / SUBTASKS_PATH, 'subtask', list(self.subtasks.numbers))
        total = self._statistics.total()
        write_json(self.root / STATISTICS_PATH, total)
        write_json(self.root / INFO_PATH, {**self._info(), **extra})
        return total

    def _info(self) -> JsonObject:
        return {
            'codebase_version': CODEBASE_VERSION,
            'robot_type': self._robot,
            'total_episodes': len(self.episodes),
            'total_frames': self.frames,
            'total_tasks': len(self.tasks.numbers),
            'chunks_size': FILES_A_CHUNK,
            'data_files_size_in_mb': DATA_FILE_BYTES // 2**20,
            'video_files_size_in_mb': VIDEO_FILE_BYTES // 2**20,
            'fps': self._fps,
            'splits': {'train': f'0:{len(self.episodes)}'},
            'data_path': DATA_PATH,
            'video_path': VIDEO_PATH if self._videos else None,
            'features': {key: f.to_json() for key, f in self.features.items()},
        }

    def _add_pictures(
        self, pictures: Mapping[str, Iterable[UInt8]], length: int, row: JsonObject
    ) -> tuple[dict[str, list[bytes]], dict[str, PictureHistogram]]:
        """Write an episode's videos, note in its row where, and return what goes into tables."""
        files: dict[str, list[bytes]] = {}
        histograms: dict[str, PictureHistogram] = {}
        counted = counted_frames(length)
        for key, frames in pictures.items():
            histogram = histograms.setdefault(key, PictureHistogram())
            video = self._videos.get(key)
            for i, pixels in enumerate(frames):
                if pixels.shape != self.features[key].shape:
                    raise DatasetError(
                        f'{key} has a picture of {pixels.shape}; '
                        f'before: {self.features[key].shape}'
                    )
                if i in counted:
                    histogram.see(pixels)
                if video is None:
                    files.setdefault(key, []).append(_png(pixels))
                else:
                    video.add(pixels)
            if video is not None:
                span = video.end_episode()
                row |= {
                    f'videos/{key}/chunk_index': span.place.chunk,
                    f'videos/{key}/file_index': span.place.file,
                    f'videos/{key}/from_timestamp': span.from_s,
                    f'videos/{key}/to_timestamp': span.to_s,
                }
        return files, histograms

    def _add_rows(self, columns: Mapping[str, Any], row: JsonObject) -> None:
        """Append one row group; a file that is full is closed before."""
        data = self._data
        if data.path is not None and data.path.stat().st_size >= DATA_FILE_BYTES:
            self._close_data()
            data.place = data.place.next()
        if data.writer is None:
            data.path = self.root / data.place.path(DATA_PATH)
            data.path.parent.mkdir(parents=True, exist_ok=True)
            data.writer = pq.ParquetWriter(data.path, self._schema, compression='snappy')
        data.writer.write_table(frame_table(columns, self._schema))
        row |= {'data/chunk_index': data.place.chunk, 'data/file_index': data.place.file}

    def _close_data(self) -> None:
        if self._data.writer is not None:
            self._data.writer.close()
        self._data.writer = self._data.path = None


def _png(pixels: UInt8) -> bytes:
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, 'PNG', compress_level=1)
    return out.getvalue()
