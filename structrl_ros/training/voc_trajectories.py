"""Trajectories of the VOC benchmark with their true potential, from counterfactual sets.

Five families (Robo-Dopamine 2.0, "Evaluation protocol"), told by the manifests:

- in-distribution: sources in which no phase comes back;
- temporal: sources in which a phase comes back, so that one picture has several progresses;
- OOD-negative: a negative edit that lasts to the end of such a source as the first;
- OOD-robust: a robust edit of it;
- OOD-temporal: any edit of a temporal source, or a negative edit that ends before the episode
  does: a failure, then recovery.

An edited trajectory shows the source until the edit begins, and after it ends. Truth is Eq. 5 and
6: g_i = i / (T - 1), and -g_i where a negative edit is shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from structrl_ros.errors import ParameterError
from structrl_ros.evaluation.grm_scores import VocFamily
from structrl_ros.progress.context import EditedFrame
from structrl_ros.progress.context import SourceFrame
from structrl_ros.progress.views import make_views
from structrl_ros.sim.counterfactual.stage import LEAST_CHANGE
from structrl_ros.training.counterfactual_set import EditRecord
from structrl_ros.training.counterfactual_set import SourceRecord
from structrl_ros.training.counterfactual_set import read_manifest
from structrl_ros.training.counterfactual_set import read_pictures
from structrl_ros.types import Float64
from structrl_ros.types import UInt8
from structrl_ros.world_types import Bool


@dataclass(frozen=True, slots=True, kw_only=True)
class VocTrajectory:
    """A trajectory as it is shown to a model.

    Attributes:
        name: Episode, and operator where it is edited.
        episode: Name of the source.
        family: Which family it belongs to.
        instruction: Its sentence.
        source: Unedited frames of the same instants, T.
        shown: What is shown, T: source frames and edited ones.
        truth: Potential of each frame, in [-1, 1], shape (T,).
        negative: Whether it is on the negative branch, shape (T,).
        fault: Why it can have no VOC, '' if it can.
    """

    name: str
    episode: str
    family: VocFamily
    instruction: str
    source: tuple[SourceFrame, ...]
    shown: tuple[SourceFrame | EditedFrame, ...]
    truth: Float64
    negative: Bool
    fault: str = ''


@dataclass(frozen=True, slots=True)
class VocSets:
    """Which trajectories: the sets, the split, one in `every` frames, at most `limit` a family.

    The limit takes the first episodes of the manifests, so every model meets the same ones.
    """

    folders: tuple[Path, ...]
    split: str = 'test'
    every: int = 1
    limit: int = 0

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            ParameterError: If one is out of range.
        """
        if self.split not in ('train', 'test') or self.every < 1 or self.limit < 0:
            raise ParameterError(
                f'split {self.split!r}, every {self.every}, limit {self.limit}; allowed: train or '
                'test, 1 and more, 0 (all) and more'
            )


def recurs(phases: Sequence[Sequence[Any]]) -> bool:
    """Return whether a phase (primitive and target) comes back after another one."""
    runs: list[tuple[str, str]] = []
    for primitive, target, _ in phases:
        if runs[-1:] != [(primitive, target)]:
            runs.append((primitive, target))
    return len(set(runs)) < len(runs)


def family_of(record: SourceRecord, edit: EditRecord | None) -> VocFamily:
    """Return the family of a source, or of an edit of it."""
    is_temporal = recurs(record.phases)
    if edit is None:
        return VocFamily.TEMPORAL if is_temporal else VocFamily.IN_DISTRIBUTION
    if is_temporal:
        return VocFamily.OOD_TEMPORAL
    if edit.group == 'robust':
        return VocFamily.ROBUST
    return VocFamily.NEGATIVE if edit.stop == record.frames else VocFamily.OOD_TEMPORAL


def planned_trajectories(
    sets: VocSets,
) -> list[tuple[Path, SourceRecord, list[EditRecord | None]]]:
    """Return the episodes of the sets with what is shown of each; None is the source itself.

    Raises:
        CheckpointError: If a set has no manifest.
        ParameterError: If there is no episode of the split, or one comes twice.
    """
    found: list[tuple[Path, SourceRecord, list[EditRecord | None]]] = []
    taken = dict.fromkeys(VocFamily, 0)
    known: dict[str, Path] = {}
    for folder in sets.folders:
        for record in read_manifest(folder):
            if record.split != sets.split:
                continue
            if record.episode in known:
                raise ParameterError(
                    f'episode {record.episode} is in {known[record.episode]} and in {folder}; '
                    'allowed: each once'
                )
            known[record.episode] = folder
            chosen: list[EditRecord | None] = []
            for edit in (None, *record.edits):
                family = family_of(record, edit)
                if not sets.limit or taken[family] < sets.limit:
                    taken[family] += 1
                    chosen.append(edit)
            if chosen:
                found.append((folder, record, chosen))
    if not found:
        listed = ', '.join(str(folder) for folder in sets.folders)
        raise ParameterError(
            f'no episodes of split {sets.split!r} in {listed}; allowed: sets made with a '
            '--test-share above 0 and enough episodes'
        )
    return found


def read_trajectories(sets: VocSets, view_px: int) -> Iterator[VocTrajectory]:
    """Yield every trajectory, one episode in memory at a time.

    Args:
        sets: Which ones.
        view_px: Side of the views, pixels.

    Raises:
        CheckpointError: If a file is missing or cut.
        ParameterError: See `planned_trajectories`.
    """
    for folder, record, chosen in planned_trajectories(sets):
        picks = _picks(record.frames, sets.every)
        pictures = read_pictures(folder, record.file)
        source = tuple(
            SourceFrame(record.episode, number, make_views(_at(pictures, i), view_px))
            for number, i in enumerate(picks)
        )
        for edit in chosen:
            edited = {} if edit is None else _edited(folder, edit, source, picks, view_px)
            yield _trajectory(record, edit, source, edited, picks)


def _picks(frames: int, every: int) -> list[int]:
    """Return one in `every` frames, the first and the last among them."""
    last = frames - 1
    return [*range(0, last, every), last] if last else [0]


def _at(pictures: dict[str, UInt8], i: int) -> dict[str, UInt8]:
    return {role: images[i] for role, images in pictures.items()}


def _edited(
    folder: Path, edit: EditRecord, source: tuple[SourceFrame, ...], picks: list[int], view_px: int
) -> dict[int, EditedFrame]:
    """Return the edited frames among the picks, by their number there."""
    pictures = read_pictures(folder, edit.file)
    places = {i: n for n, i in enumerate(edit.edited_frames)}
    return {
        number: EditedFrame(
            source[number], edit.operator, make_views(_at(pictures, places[i]), view_px)
        )
        for number, i in enumerate(picks)
        if i in places
    }


def _trajectory(
    record: SourceRecord,
    edit: EditRecord | None,
    source: tuple[SourceFrame, ...],
    edited: dict[int, EditedFrame],
    picks: list[int],
) -> VocTrajectory:
    truth = np.array(picks, dtype=np.float64) / max(record.frames - 1, 1)
    negative = np.zeros(len(picks), dtype=np.bool_)
    if edit is not None and edit.group == 'negative':
        negative[list(edited)] = True
    return VocTrajectory(
        name=record.episode if edit is None else f'{record.episode}/{edit.operator}',
        episode=record.episode,
        family=family_of(record, edit),
        instruction=record.instruction,
        source=source,
        shown=tuple(edited.get(n, frame) for n, frame in enumerate(source)),
        truth=np.where(negative, -truth, truth),
        negative=negative,
        fault=_fault(edit, len(edited), len(picks)),
    )


def _fault(edit: EditRecord | None, edited: int, frames: int) -> str:
    if frames < 2:
        return 'fewer than two frames'
    if edit is None:
        return ''
    if not edited:
        return 'no edited frame among those that are shown'
    if max(edit.changed_pixels, default=0.0) < LEAST_CHANGE:
        return 'the edit is not seen'
    return ''
