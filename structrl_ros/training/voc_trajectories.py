"""Trajectories of the VOC benchmark with their true potential, from counterfactual sets.

An edited trajectory shows the source until the edit begins, and after it ends. Truth is Eq. 5 and
6: g_i = i / (T - 1), and -g_i where a negative edit is shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from structrl_ros.evaluation.grm_scores import VocFamily
from structrl_ros.progress.context import EditedFrame
from structrl_ros.progress.context import SourceFrame
from structrl_ros.progress.source_progress import signed_potential
from structrl_ros.progress.views import make_views
from structrl_ros.sim.counterfactual.stage import LEAST_CHANGE
from structrl_ros.training.counterfactual_set import EditRecord
from structrl_ros.training.counterfactual_set import SourceRecord
from structrl_ros.training.counterfactual_set import read_pictures
from structrl_ros.training.voc_sets import VocSets
from structrl_ros.training.voc_sets import family_of
from structrl_ros.training.voc_sets import planned_trajectories
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


def read_trajectories(sets: VocSets, view_px: int) -> Iterator[VocTrajectory]:
    """Yield every trajectory, one episode in memory at a time.

    Args:
        sets: Which ones.
        view_px: Side of the views, pixels.

    Raises:
        CheckpointError: If a file is missing or cut.
        ParameterError: See `planned_trajectories`.
    """
    for planned in planned_trajectories(sets):
        folder, record = planned.folder, planned.record
        picks = _picks(record.frames, sets.every)
        pictures = read_pictures(folder, record.file)
        source = tuple(
            SourceFrame(record.episode, number, make_views(_at(pictures, i), view_px))
            for number, i in enumerate(picks)
        )
        for edit in planned.shown:
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
    negative = np.zeros(len(picks), dtype=np.bool_)
    if edit is not None and edit.group == 'negative':
        end = _failure_end(record, edit)
        negative[[n for n in edited if picks[n] < end]] = True
    total = max(record.frames, 2)
    truth = [
        signed_potential(i, total, is_negative=bool(flag))
        for i, flag in zip(picks, negative, strict=True)
    ]
    return VocTrajectory(
        name=record.episode if edit is None else f'{record.episode}/{edit.operator}',
        episode=record.episode,
        family=family_of(record, edit),
        instruction=record.instruction,
        source=source,
        shown=tuple(edited.get(n, frame) for n, frame in enumerate(source)),
        truth=np.array(truth, dtype=np.float64),
        negative=negative,
        fault=_fault(edit, len(edited), len(picks)),
    )


def _failure_end(record: SourceRecord, edit: EditRecord) -> int:
    """Return where a failure ends, exclusive.

    Before the source goes on, the last edited frames may look like it already: those are in it.
    """
    if edit.stop == record.frames:
        return edit.stop
    pairs = zip(edit.edited_frames, edit.changed_pixels, strict=True)
    return max((i + 1 for i, share in pairs if share >= LEAST_CHANGE), default=edit.start)


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
