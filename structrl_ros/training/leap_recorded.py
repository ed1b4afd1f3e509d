"""Recorded runs as skills: bags of this project, and LeRobot data sets that tell their skills.

A bag is cut where the tracker went on to the next subtask (`recording.subtask_spans`), a data set
where its column of subtasks changes.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from structrl_ros.errors import BagError
from structrl_ros.errors import DatasetError
from structrl_ros.errors import PlanSyntaxError
from structrl_ros.errors import TrainingError
from structrl_ros.plan.grammar import parse_phrase
from structrl_ros.recording.bag_reader import BagReader
from structrl_ros.recording.decoding import time_ns
from structrl_ros.recording.lerobot.layout import IMAGE_PREFIX
from structrl_ros.recording.lerobot.reader import DatasetEpisode
from structrl_ros.recording.lerobot.reader import DatasetReader
from structrl_ros.recording.lerobot.signals import PictureStream
from structrl_ros.recording.lerobot.signals import Stamps
from structrl_ros.recording.lerobot.signals import find_topic
from structrl_ros.recording.run_events import RunEvents
from structrl_ros.recording.run_events import read_events
from structrl_ros.recording.subtask_spans import subtask_spans
from structrl_ros.training.leap_episode import KeyFrame
from structrl_ros.training.leap_episode import SkillEpisode
from structrl_ros.training.leap_episode import pick_middles
from structrl_ros.training.leap_episode import picture_file
from structrl_ros.training.leap_simulated import FrameSettings
from structrl_ros.types import Episode
from structrl_ros.types import Plan

#: An episode, or the line that says why it is left out.
Cut = Iterator[tuple[str, SkillEpisode | str]]

_LICENCE = re.compile(r'^licen[cs]e:[ \t]*([^#\s][^\n#]*)', re.MULTILINE)
_OWN = 'of the recording, yours to say'


def cut_bag(bag: Path, settings: FrameSettings) -> Cut:
    """Yield the episodes of a bag, by name.

    Raises:
        BagError: If there is no bag, it is damaged, or a camera is missing.
    """
    events, reader = read_events(bag), BagReader(bag)
    cameras = {role: _camera(reader, role) for role in settings.roles}
    for number in events.episode_numbers():
        name = f'bag-{_slug(bag)}-{number}'
        try:
            yield name, _recorded(events.of_episode(number), reader, cameras, name, settings)
        except TrainingError as error:
            yield name, str(error)


def _camera(reader: BagReader, role: str) -> tuple[str, Stamps]:
    """Return topic and stamps of a camera, ascending as `PictureStream` takes them.

    Raises:
        BagError: If it was not recorded.
    """
    topic = find_topic(reader, f'observation/{role}/image')
    stamps: list[int] = []
    for raw in reader.raw_messages([topic] if topic else []):
        stamp = time_ns(reader.decode(raw).header.stamp)
        if not stamps or stamp > stamps[-1]:
            stamps.append(stamp)
    if topic is None or not stamps:
        raise BagError(f'{reader.path} holds no pictures of {role}')
    return topic, np.array(stamps, dtype=np.int64)


def _recorded(
    events: RunEvents,
    reader: BagReader,
    cameras: Mapping[str, tuple[str, Stamps]],
    name: str,
    settings: FrameSettings,
) -> SkillEpisode:
    start = next((e for e in events.of(Episode) if not e.ended), None)
    if start is None:
        raise TrainingError('its start was not recorded')
    spans = subtask_spans(events, start.stamp_ns)
    if not spans:
        raise TrainingError('no subtask was pursued')
    undone = [span for span in spans if span.result != 'done']
    if undone:
        raise TrainingError(f'{undone[0].phrase!r} was {undone[0].result}, not done at once')
    if not any(e.ended and e.success for e in events.of(Episode)):
        raise TrainingError('it did not end with success')
    seconds = [spans[0].start_s, *(span.end_s for span in spans)]
    moments = [start.stamp_ns + round(s * 1e9) for s in seconds]
    plans = events.of(Plan)
    return _episode(
        name=name,
        source='bag',
        about=_About(start.body, start.task, start.seed, start.initial_state),
        instruction=plans[0].instruction if plans else start.instruction,
        objects=start.objects,
        phrases=[span.phrase for span in spans],
        moments=moments,
        frames=lambda stamps: _bag_frames(reader, cameras, settings, stamps),
        licence=_OWN,
        settings=settings,
    )


def _bag_frames(
    reader: BagReader,
    cameras: Mapping[str, tuple[str, Stamps]],
    settings: FrameSettings,
    stamps: Sequence[int],
) -> dict[int, KeyFrame]:
    """Return the newest picture of each camera at each stamp; stamps are ascending.

    Raises:
        TrainingError: If a camera had seen nothing yet.
    """
    by_role = []
    for role, (topic, known) in cameras.items():
        place = np.searchsorted(known, stamps, side='right') - 1
        if (place < 0).any():
            raise TrainingError(f'no picture of {role} before its first skill')
        pictures = PictureStream(reader, topic).take(known[place])
        by_role.append([picture_file(picture, settings.picture) for picture in pictures])
    return dict(zip(stamps, zip(*by_role, strict=True), strict=True))


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
        name = f'lerobot-{_slug(root)}-{found.number}'
        try:
            yield name, _of_dataset(found, cameras, name, settings, reader, licence)
        except TrainingError as error:
            yield name, str(error)


def _of_dataset(
    found: DatasetEpisode,
    cameras: Mapping[str, str],
    name: str,
    settings: FrameSettings,
    reader: DatasetReader,
    licence: str,
) -> SkillEpisode:
    runs = [
        (key, list(group)) for key, group in itertools.groupby(_numbered(found), lambda p: p[1])
    ]
    runs = [(phrase, rows) for phrase, rows in runs if phrase]
    if not runs:
        raise TrainingError('no skill was pursued')
    success = found.origin.get('success', True)
    if not success:
        raise TrainingError('it did not end with success')
    ends = [rows[0][0] for _, rows in runs[1:]] + [runs[-1][1][-1][0]]
    moments = [runs[0][1][0][0], *ends]
    if any(b <= a for a, b in itertools.pairwise(moments)):
        raise TrainingError('a skill is a single frame')
    told = found.origin
    return _episode(
        name=name,
        source='lerobot',
        about=_About(
            str(told.get('body', reader.info.robot_type)),
            str(told.get('task', found.task)),
            int(told.get('seed', -1)),
            int(told.get('initial_state', -1)),
        ),
        instruction=found.task,
        objects=tuple(told.get('objects', ())),
        phrases=[phrase for phrase, _ in runs],
        moments=moments,
        frames=lambda rows: _dataset_frames(found, cameras, settings, rows),
        licence=licence,
        settings=settings,
    )


def _numbered(found: DatasetEpisode) -> list[tuple[int, str]]:
    return list(enumerate(found.subtasks))


def _dataset_frames(
    found: DatasetEpisode,
    cameras: Mapping[str, str],
    settings: FrameSettings,
    rows: Sequence[int],
) -> dict[int, KeyFrame]:
    by_role = []
    for key in cameras.values():
        wanted, files = set(rows), {}
        for row, picture in enumerate(found.pictures[key]()):
            if row in wanted:
                files[row] = picture_file(picture, settings.picture)
        by_role.append([files[row] for row in rows])
    return dict(zip(rows, zip(*by_role, strict=True), strict=True))


class _About:
    """Body, task, seed and initial state."""

    def __init__(self, body: str, task: str, seed: int, initial_state: int) -> None:
        self.body, self.task, self.seed, self.initial_state = body, task, seed, initial_state


def _episode(
    *,
    name: str,
    source: str,
    about: _About,
    instruction: str,
    objects: Sequence[str],
    phrases: Sequence[str],
    moments: Sequence[int],
    frames: Any,
    licence: str,
    settings: FrameSettings,
) -> SkillEpisode:
    """Return the episode; without a list of things the scene is what the skills name.

    Raises:
        TrainingError: If a phrase is no skill of the grammar.
    """
    try:
        steps = [parse_phrase(phrase) for phrase in phrases]
    except PlanSyntaxError as error:
        raise TrainingError(str(error)) from None
    named = dict.fromkeys(thing for step in steps for thing in step.objects)
    middles = pick_middles(moments, settings.seed, name)
    found = frames(sorted({*moments, *(m for m in middles if m >= 0)}))
    return SkillEpisode(
        name=name,
        source=source,
        body=about.body,
        task=about.task,
        seed=about.seed,
        initial_state=about.initial_state,
        instruction=instruction,
        objects=tuple(objects) or tuple(named),
        phrases=tuple(phrases),
        roles=settings.roles,
        moments=tuple(moments),
        boundaries=tuple(found[m] for m in moments),
        middles=middles,
        middle_frames=tuple(found[m] if m >= 0 else () for m in middles),
        licence=licence,
    )


def _licence(root: Path) -> str:
    """Return what the header of a data set's card says."""
    card = root / 'README.md'
    match = _LICENCE.search(card.read_text(encoding='utf-8')) if card.is_file() else None
    return match[1].strip() if match else _OWN


def _slug(path: Path) -> str:
    """Return a name for a recording: its folder's, and that above it for a run's bag."""
    path = path.resolve()
    words = f'{path.parent.name}-{path.name}' if path.name == 'bag' else path.name
    return re.sub(r'[^A-Za-z0-9.]+', '_', words)
