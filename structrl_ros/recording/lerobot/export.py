"""From bags to a LeRobotDataset v3.0, whole or not at all."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import asdict
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path

from structrl_ros.errors import DatasetError
from structrl_ros.recording.lerobot.card import write_card
from structrl_ros.recording.lerobot.features import OWN_KEY
from structrl_ros.recording.lerobot.features import contract_features
from structrl_ros.recording.lerobot.features import episode_columns
from structrl_ros.recording.lerobot.layout import EPISODE_COLUMN
from structrl_ros.recording.lerobot.layout import IMAGE_PREFIX
from structrl_ros.recording.lerobot.signals import PictureStream
from structrl_ros.recording.lerobot.sources import ExportRequest
from structrl_ros.recording.lerobot.sources import Shape
from structrl_ros.recording.lerobot.sources import Source
from structrl_ros.recording.lerobot.sources import common_shape
from structrl_ros.recording.lerobot.sources import read_sources
from structrl_ros.recording.lerobot.steps import RecordedEpisode
from structrl_ros.recording.lerobot.writer import DatasetWriter
from structrl_ros.types import Plan


@dataclass(slots=True)
class ExportReport:
    """What was written."""

    out: Path
    episodes: int = 0
    frames: int = 0
    successes: int = 0
    cameras: tuple[str, ...] = ()
    notes: list[str] = field(default_factory=list)


def export_bags(request: ExportRequest) -> ExportReport:
    """Write the dataset of the request.

    Raises:
        BagError: If a bag is missing or cannot give the steps, with the place.
        DatasetError: If the folder exists, or the bags do not go together.
    """
    sources, roles = read_sources(request)
    shape = common_shape(sources)
    with _whole_folder(request.out) as folder:
        report = _write(folder, request, sources, shape, roles)
    report.out = request.out
    return report


def _write(
    folder: Path,
    request: ExportRequest,
    sources: Sequence[Source],
    shape: Shape,
    roles: tuple[str, ...],
) -> ExportReport:
    is_video = request.pictures != 'images'
    sizes = {role: sources[0].signals.cameras[role].size for role in roles}
    features = contract_features(
        shape.state_names,
        shape.action_space,
        shape.action_size,
        sizes,
        video=is_video,
        fps=shape.rate_hz,
        codec=request.codec,
    )
    bodies = sorted({e.start.body for s in sources for e in s.episodes})
    writer = DatasetWriter(
        folder, features, fps=shape.rate_hz, robot=', '.join(bodies), codec=request.codec
    )
    try:
        report = _fill(writer, sources, roles)
        own = {'action_space': shape.action_space, 'stale': 'fill' if request.fill else 'refuse'}
        writer.close({OWN_KEY: own})
    except BaseException:
        writer.abandon()
        raise
    write_card(folder, writer, [s.reader.path for s in sources], report.successes, own)
    return report


def _fill(
    writer: DatasetWriter, sources: Sequence[Source], roles: tuple[str, ...]
) -> ExportReport:
    """Write the episodes of all bags, in order."""
    report = ExportReport(writer.root, cameras=roles)
    for source in sources:
        if source.reader.is_cut:
            report.notes.append(f'{source.reader.path} was cut: what lies before the cut is taken')
        streams = {
            role: PictureStream(source.reader, source.signals.cameras[role].topic)
            for role in roles
        }
        for episode in source.episodes:
            observed = episode.steps.observed
            writer.add_episode(
                episode.start.instruction or episode.start.task,
                episode_columns(episode, writer.subtasks),
                {
                    IMAGE_PREFIX + role: streams[role].take(observed[:, 2 + i])
                    for i, role in enumerate(roles)
                },
                {EPISODE_COLUMN: json.dumps(_origin(episode, source.reader.path))},
            )
            report.successes += episode.success
            name = f'{source.reader.path}, episode {episode.start.episode}'
            report.notes += [f'{name}: {note}' for note in episode.notes]
            if episode.pauses:
                report.notes.append(
                    f'{name}: the body stood still {episode.pauses} times, '
                    f'{episode.pause_s:.2f} s in all; these are no frames'
                )
    report.episodes, report.frames = len(writer.episodes), writer.frames
    return report


def _origin(episode: RecordedEpisode, bag: Path) -> dict[str, object]:
    """Return what a bag says of an episode and the format has no column for."""
    start = episode.start
    return {
        'bag': bag.name if bag.name != 'bag' else f'{bag.parent.name}/bag',
        'episode': start.episode,
        'start_ns': start.stamp_ns,
        'body': start.body,
        'task': start.task,
        'seed': start.seed,
        'initial_state': start.initial_state,
        'success': episode.success,
        'end_reason': episode.end_reason,
        'objects': list(start.objects),
        'plans': [_plan(p, start.stamp_ns) for p in episode.plans],
        'subtask_ids': _changes(episode.steps.subtask_id),
    }


def _plan(plan: Plan, start_ns: int) -> dict[str, object]:
    document = asdict(plan)
    return {**document, 'stamp_ns': plan.stamp_ns - start_ns}


def _changes(ids: Sequence[str]) -> list[list[object]]:
    """Return [step, id] where the subtask changes."""
    return [[i, name] for i, name in enumerate(ids) if not i or name != ids[i - 1]]


@contextmanager
def _whole_folder(out: Path) -> Iterator[Path]:
    """Give a folder beside `out` that takes its place at the end, and is gone after a failure.

    Raises:
        DatasetError: If `out` exists or cannot be made.
    """
    if out.exists():
        raise DatasetError(f'{out} exists already, nothing is overwritten')
    folder = out.with_name(f'.{out.name}.partial')
    shutil.rmtree(folder, ignore_errors=True)
    try:
        folder.mkdir(parents=True)
        yield folder
        folder.rename(out)
    except OSError as error:
        raise DatasetError(f'{out} cannot be written: {error.strerror or error}') from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)
