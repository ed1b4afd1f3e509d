"""LeRobot data sets that tell their skills, cut where the column of subtasks changes."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from structrl_ros.errors import DatasetError
from structrl_ros.errors import TrainingError
from structrl_ros.recording.lerobot.layout import IMAGE_PREFIX
from structrl_ros.recording.lerobot.reader import DatasetEpisode
from structrl_ros.recording.lerobot.reader import DatasetReader
from structrl_ros.training.leap_episode import KeyFrame
from structrl_ros.training.leap_episode import picture_file
from structrl_ros.training.leap_recorded import UNKNOWN_LICENCE
from structrl_ros.training.leap_recorded import Cut
from structrl_ros.training.leap_recorded import Recording
from structrl_ros.training.leap_recorded import add_frames
from structrl_ros.training.leap_recorded import recording_name
from structrl_ros.training.leap_simulated import FrameSettings

_LICENCE = re.compile(r'^licen[cs]e:[ \t]*([^#\s][^\n#]*)', re.MULTILINE)


def cut_dataset(root: Path, settings: FrameSettings) -> Cut:
    """Yield the episodes of a LeRobot data set, by name.

    Raises:
        DatasetError: If it is missing, cut, tells no skills or has no such camera.
    """
    reader = DatasetReader(root)
    cameras = {role: IMAGE_PREFIX + role for role in settings.roles}
    missing = [key for key in cameras.values() if key not in reader.info.cameras]
    if missing:
        have = ', '.join(reader.info.cameras) or 'none'
        raise DatasetError(f'{root} has no {", ".join(missing)}; it has {have}')
    licence = _licence(root)
    for found in reader.episodes():
        if not found.subtasks:
            raise DatasetError(
                f'{root} does not tell its skills; allowed: a column subtask_index with '
                'meta/subtasks.parquet, as structrl export lerobot writes'
            )
        name = f'lerobot-{recording_name(root)}-{found.number}'
        frames = partial(_frames, found, cameras, settings)
        try:
            recording = _recording(found, name, reader.info.robot_type, licence)
            yield name, add_frames(recording, frames, settings)
        except TrainingError as error:
            yield name, str(error)


def _recording(found: DatasetEpisode, name: str, robot: str, licence: str) -> Recording:
    """Return what an episode says of its skills.

    Raises:
        TrainingError: If it is no demonstration.
    """
    firsts = [(i, p) for i, p in enumerate(found.subtasks) if not i or p != found.subtasks[i - 1]]
    skills = [(i, phrase) for i, phrase in firsts if phrase]
    told = found.origin
    if not skills:
        raise TrainingError('no skill was pursued')
    if not told.get('success', True):
        raise TrainingError('it did not end with success')
    last = max(i for i, phrase in enumerate(found.subtasks) if phrase)
    moments = (*(i for i, _ in skills), last)
    if any(end <= begin for begin, end in itertools.pairwise(moments)):
        raise TrainingError('its last skill is a single frame')
    return Recording(
        name=name,
        source='lerobot',
        body=str(told.get('body', robot)),
        task=str(told.get('task', found.task)),
        seed=int(told.get('seed', -1)),
        initial_state=int(told.get('initial_state', -1)),
        instruction=found.task,
        objects=tuple(told.get('objects', ())),
        phrases=tuple(phrase for _, phrase in skills),
        moments=moments,
        licence=licence,
    )


def _frames(
    found: DatasetEpisode,
    cameras: Mapping[str, str],
    settings: FrameSettings,
    rows: Sequence[int],
) -> dict[int, KeyFrame]:
    by_role = []
    for key in cameras.values():
        files: dict[int, bytes] = {}
        for row, picture in enumerate(found.pictures[key]()):
            if row in rows:
                files[row] = picture_file(picture, settings.picture)
        by_role.append([files[row] for row in rows])
    return dict(zip(rows, zip(*by_role, strict=True), strict=True))


def _licence(root: Path) -> str:
    """Return what the header of a data set's card says."""
    card = root / 'README.md'
    match = _LICENCE.search(card.read_text(encoding='utf-8')) if card.is_file() else None
    return match[1].strip() if match else UNKNOWN_LICENCE
