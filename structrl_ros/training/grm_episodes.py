"""Episodes of counterfactual sets as the GRM trains on them: sources, edits, one split.

An episode keeps the split that its set gave it before anything was edited, and its edits come
with it alone, so a list of one split holds nothing of another (Robo-Dopamine 2.0, "Structured
OOD Data Construction").
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from structrl_ros.errors import CheckpointError
from structrl_ros.errors import ParameterError
from structrl_ros.progress.context import EditedFrame
from structrl_ros.progress.context import Query
from structrl_ros.progress.context import SourceEpisode
from structrl_ros.progress.context import SourceFrame
from structrl_ros.progress.pairs import Branch
from structrl_ros.progress.pairs import Pair
from structrl_ros.progress.pairs import State
from structrl_ros.progress.pairs import Trajectory
from structrl_ros.progress.strip import Layout
from structrl_ros.progress.views import make_views
from structrl_ros.training.counterfactual_set import EditRecord
from structrl_ros.training.counterfactual_set import SourceRecord
from structrl_ros.training.counterfactual_set import read_manifest
from structrl_ros.training.counterfactual_set import read_pictures
from structrl_ros.types import UInt8


@dataclass(frozen=True, slots=True)
class EditedTrajectory:
    """The edited frames of one operator.

    Attributes:
        branch: Robust or negative.
        frames: Which frames of the source are edited.
        pictures: By role, shape (len(frames), S, S, 3).
        changed: Share of pixels of each that look other than in the source.
    """

    branch: Branch
    frames: range
    pictures: Mapping[str, UInt8]
    changed: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class GrmEpisode:
    """A source with its edits.

    Attributes:
        source: The frames, as they were seen.
        edits: By operator.
        task: Of the body.
        instruction: Its sentence.
        split: 'train' or 'test'.
        view_px: Side of the views.
    """

    source: SourceEpisode
    edits: Mapping[str, EditedTrajectory]
    task: str
    instruction: str
    split: str
    view_px: int

    @property
    def name(self) -> str:
        """Name of the source."""
        return self.source.frames[0].episode

    @property
    def trajectory(self) -> Trajectory:
        """What pairs need to know."""
        edits = {name: (edit.branch, edit.frames) for name, edit in self.edits.items()}
        return Trajectory(self.name, len(self.source.frames), edits)

    def query(self, pair: Pair) -> Query:
        """Return the query of a pair: its own history, or the reference of the source alone.

        Raises:
            ParameterError: If the pair is of another episode or has a frame that is not there.
        """
        if pair.episode != self.name:
            raise ParameterError(f'pair of {pair.episode!r}; allowed: {self.name!r}')
        if not pair.before.edit and not pair.after.edit:
            return self.source.expert_query(pair.before.index, pair.after.index)
        return self.source.reference_query(self.frame(pair.before), self.frame(pair.after))

    def frame(self, state: State) -> SourceFrame | EditedFrame:
        """Return the frame of a state.

        Raises:
            ParameterError: If it is not there.
        """
        source = self.source.frames[state.index]
        if not state.edit:
            return source
        edit = self.edits.get(state.edit)
        if edit is None or state.index not in edit.frames:
            raise ParameterError(
                f'{self.name}: frame {state.index} of {state.edit!r}; allowed: frames of '
                f'{", ".join(sorted(self.edits)) or "no edit"}'
            )
        number = state.index - edit.frames.start
        pictures = {role: images[number] for role, images in edit.pictures.items()}
        return EditedFrame(source, state.edit, make_views(pictures, self.view_px))

    def is_visible(self, state: State) -> bool:
        """Whether a state looks other than its source, or is the source."""
        if not state.edit:
            return True
        edit = self.edits[state.edit]
        return edit.changed[state.index - edit.frames.start] > 0.0


def load_episodes(
    folders: Sequence[Path], split: str, layout: Layout, view_px: int
) -> list[GrmEpisode]:
    """Return the episodes of one split; files of the other one are not opened.

    Raises:
        CheckpointError: If a set is missing or cut.
        ParameterError: If an episode comes twice, pictures are smaller than the views, or there
            is no episode of the split.
    """
    found = _records(folders)
    chosen = [(folder, record) for folder, record in found if record.split == split]
    if not chosen:
        listed = ', '.join(str(folder) for folder in folders)
        raise ParameterError(
            f'no {split} episodes among {len(found)} of {listed}; allowed: sets with both splits '
            '(structrl data counterfactual --test-share)'
        )
    return [_load(folder, record, layout, view_px) for folder, record in chosen]


def _records(folders: Sequence[Path]) -> list[tuple[Path, SourceRecord]]:
    """Return every record, each episode once: one that came twice could be in both splits."""
    owners: dict[str, Path] = {}
    found: list[tuple[Path, SourceRecord]] = []
    for folder in folders:
        for record in read_manifest(folder):
            if record.episode in owners:
                raise ParameterError(
                    f'episode {record.episode} is in {owners[record.episode]} and in {folder}; '
                    'allowed: each episode once'
                )
            owners[record.episode] = folder
            found.append((folder, record))
    return found


def _load(folder: Path, record: SourceRecord, layout: Layout, view_px: int) -> GrmEpisode:
    if record.size_px < view_px:
        raise ParameterError(
            f'{folder}: pictures of {record.size_px} px; allowed: {view_px} and more, the view '
            'of the network'
        )
    pictures = _pictures(folder, record.file, record.frames, record)
    frames = [
        SourceFrame(
            record.episode, i, make_views({r: pictures[r][i] for r in record.roles}, view_px)
        )
        for i in range(record.frames)
    ]
    edits = {edit.operator: _edit(folder, record, edit) for edit in record.edits}
    return GrmEpisode(
        SourceEpisode(frames, layout),
        edits,
        record.task,
        record.instruction,
        record.split,
        view_px,
    )


def _edit(folder: Path, record: SourceRecord, edit: EditRecord) -> EditedTrajectory:
    frames = range(edit.start, edit.stop)
    if list(frames) != edit.edited_frames or not 0 <= edit.start < edit.stop <= record.frames:
        raise CheckpointError(
            f'{folder}: {record.episode} {edit.operator}: edited frames {edit.start} to '
            f'{edit.stop} of {record.frames} do not fit; make the set again'
        )
    pictures = _pictures(folder, edit.file, len(frames), record)
    branch = Branch.NEGATIVE if edit.group == 'negative' else Branch.ROBUST
    return EditedTrajectory(branch, frames, pictures, tuple(edit.changed_pixels))


def _pictures(folder: Path, file: str, count: int, record: SourceRecord) -> dict[str, UInt8]:
    pictures = read_pictures(folder, file)
    wanted = (count, record.size_px, record.size_px, 3)
    for role in record.roles:
        shape = pictures[role].shape if role in pictures else None
        if shape != wanted:
            raise CheckpointError(
                f'{folder / file}: {role} of shape {shape}; allowed: {wanted}, as the manifest '
                'says; make the set again'
            )
    return {role: pictures[role] for role in record.roles}
