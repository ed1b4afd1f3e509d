"""Bags of this project as skills, cut where the tracker went on to the next subtask."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from structrl_ros.errors import BagError
from structrl_ros.errors import TrainingError
from structrl_ros.recording.bag_reader import BagReader
from structrl_ros.recording.decoding import time_ns
from structrl_ros.recording.lerobot.signals import PictureStream
from structrl_ros.recording.lerobot.signals import Stamps
from structrl_ros.recording.lerobot.signals import find_topic
from structrl_ros.recording.run_events import RunEvents
from structrl_ros.recording.run_events import read_events
from structrl_ros.recording.subtask_spans import subtask_spans
from structrl_ros.training.leap_episode import KeyFrame
from structrl_ros.training.leap_episode import picture_file
from structrl_ros.training.leap_recorded import UNKNOWN_LICENCE
from structrl_ros.training.leap_recorded import Cut
from structrl_ros.training.leap_recorded import Recording
from structrl_ros.training.leap_recorded import add_frames
from structrl_ros.training.leap_recorded import recording_name
from structrl_ros.training.leap_simulated import FrameSettings
from structrl_ros.types import Episode
from structrl_ros.types import Plan

#: Camera role to its topic and the stamps of its pictures, ascending.
Cameras = Mapping[str, tuple[str, Stamps]]


def cut_bag(bag: Path, settings: FrameSettings) -> Cut:
    """Yield the episodes of a bag, by name.

    Raises:
        BagError: If there is no bag, it is damaged, or a camera is missing.
    """
    events, reader = read_events(bag), BagReader(bag)
    cameras = {role: _camera(reader, role) for role in settings.roles}
    frames = partial(_frames, reader, cameras, settings)
    for number in events.episode_numbers():
        name = f'bag-{recording_name(bag)}-{number}'
        try:
            recording = _recording(events.of_episode(number), name)
            yield name, add_frames(recording, frames, settings)
        except TrainingError as error:
            yield name, str(error)


def _recording(events: RunEvents, name: str) -> Recording:
    """Return what a run says of its skills.

    Raises:
        TrainingError: If it is no demonstration.
    """
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
    plans = events.of(Plan)
    return Recording(
        name=name,
        source='bag',
        body=start.body,
        task=start.task,
        seed=start.seed,
        initial_state=start.initial_state,
        instruction=plans[0].instruction if plans else start.instruction,
        objects=start.objects,
        phrases=tuple(span.phrase for span in spans),
        moments=tuple(start.stamp_ns + round(s * 1e9) for s in seconds),
        licence=UNKNOWN_LICENCE,
    )


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


def _frames(
    reader: BagReader, cameras: Cameras, settings: FrameSettings, stamps: Sequence[int]
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
