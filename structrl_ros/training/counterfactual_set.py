"""Counterfactual trajectories on disk: sources, their edits, and where each frame came from.

A set is a folder: `manifest.json`, and a folder for each source episode with `source.npz` and one
`.npz` for each operator. Episodes are split before anything is edited, and every edit stays in
the split of its source (Robo-Dopamine 2.0, "Structured OOD Data Construction").
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import asdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from structrl_ros.errors import CheckpointError
from structrl_ros.progress.manipulation import Manipulation
from structrl_ros.progress.manipulation import parse_manipulation
from structrl_ros.progress.operators import Edit
from structrl_ros.progress.operators import admitted_operators
from structrl_ros.progress.operators import plan_edit
from structrl_ros.sim.counterfactual.stage import CounterfactualStage
from structrl_ros.sim.counterfactual.stage import changed_share
from structrl_ros.training.source_trajectory import SourceTrajectory
from structrl_ros.types import UInt8
from structrl_ros.world_types import EpisodeStart

VERSION = 1
MANIFEST = 'manifest.json'
SPLITS = ('train', 'test')


@dataclass(frozen=True, slots=True, kw_only=True)
class EditRecord:
    """Manifest of one edited trajectory (Appendix A, "Generation and Provenance").

    `changed_pixels` is, for each edited frame, the share of pixels that look other than in the
    source, in the camera where it is largest: an edit that nobody sees teaches nothing.
    `requests` is a file with a JSON line for each edited view, '' where no editor was asked.
    """

    operator: str
    group: str
    primitive: str
    target: str
    onset: str
    start: int
    stop: int
    edited_frames: list[int]
    changed_pixels: list[float]
    is_multi_stage: bool
    has_many_objects: bool
    seed: int
    renderer: str
    file: str
    requests: str = ''


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRecord:
    """Manifest of one source episode."""

    episode: str
    split: str
    body: str
    task: str
    instruction: str
    seed: int
    initial_state: int
    frames: int
    roles: list[str]
    size_px: int
    phases: list[list[Any]]
    file: str
    edits: list[EditRecord]


def split_of(start: EpisodeStart, test_share: float) -> str:
    """Return the split of an episode, a function of the episode alone."""
    words = [*start.task.encode(), start.seed, start.initial_state]
    return SPLITS[int(np.random.default_rng(words).random() < test_share)]


def episode_name(body: str, start: EpisodeStart) -> str:
    """Return the name of an episode, which is also that of its folder."""
    task = start.task.replace('/', '-')
    return f'{body}-{task}-{start.seed}-{start.initial_state}'


def plan_edits(source: SourceTrajectory) -> list[tuple[Edit, str]]:
    """Return every edit that a source admits, with its target ('' where robust)."""
    parsed = parse_manipulation(source.instruction)
    active = [phase.primitive for phase in source.phases]
    released = [phase.is_release for phase in source.phases]
    found = []
    for operator in admitted_operators(parsed):
        edit = plan_edit(operator, parsed, active, released)
        if edit is not None and edit.operator.is_negative:
            found.append((_same_target(edit, source, parsed), source.phases[edit.start].target))
        elif edit is not None:
            found.append((edit, ''))
    return found


def _same_target(edit: Edit, source: SourceTrajectory, parsed: Manipulation) -> Edit:
    """End a segment where another thing becomes the target."""
    if not parsed.is_multi_stage:
        return edit
    target = source.phases[edit.start].target
    others = (i for i in edit.frames if source.phases[i].target != target)
    return Edit(edit.operator, edit.primitive, edit.start, next(others, edit.stop), edit.total)


def write_episode(
    out: Path,
    stage: CounterfactualStage,
    source: SourceTrajectory,
    *,
    seed: int,
    size_px: int,
    test_share: float,
    planned: Sequence[tuple[Edit, str]] | None = None,
) -> SourceRecord:
    """Render a source and all its edits into its folder, and return what the manifest says.

    The edits are those that are `planned`, with their targets, else those of `plan_edits`.
    """
    name = episode_name(source.body, source.start)
    folder = out / name
    folder.mkdir(parents=True, exist_ok=True)
    roles = list(stage.handles.cameras)
    takes = source.takes
    pictures: dict[str, Any] = {r: np.stack([stage.render(t, r) for t in takes]) for r in roles}
    np.savez_compressed(folder / 'source.npz', **pictures)
    protected = frozenset(stage.handles.movable) & {phase.target for phase in source.phases}
    drawn = int(np.random.default_rng([seed, *name.encode()]).integers(2**31))
    records = []
    for edit, target in plan_edits(source) if planned is None else planned:
        edited = stage.edits(takes, edit, target, protected, drawn)
        views = {r: np.stack([edited.render(i, r) for i in edit.frames]) for r in roles}
        file = f'{edit.operator.value}.npz'
        arrays: dict[str, Any] = {'frames': np.array(edit.frames), **views}
        np.savez_compressed(folder / file, **arrays)
        records.append(
            edit_record(
                edit,
                edit.frames,
                pictures,
                views,
                instruction=source.instruction,
                target=target,
                is_drawn=planned is not None,
                seed=drawn,
                renderer='mujoco',
                file=f'{name}/{file}',
            )
        )
    return SourceRecord(
        episode=name,
        split=split_of(source.start, test_share),
        body=source.body,
        task=source.start.task,
        instruction=source.instruction,
        seed=source.start.seed,
        initial_state=source.start.initial_state,
        frames=len(takes),
        roles=roles,
        size_px=size_px,
        phases=[[p.primitive.value, p.target, p.is_release] for p in source.phases],
        file=f'{name}/source.npz',
        edits=records,
    )


def edit_record(
    edit: Edit,
    frames: range,
    pictures: Mapping[str, UInt8],
    views: Mapping[str, UInt8],
    *,
    instruction: str,
    target: str,
    seed: int,
    renderer: str,
    file: str,
    is_drawn: bool = False,
    requests: str = '',
) -> EditRecord:
    """Return what the manifest says of the frames of an edit.

    Args:
        edit: What was edited.
        frames: Of its frames, those that are in the file.
        pictures: Of the source, by role, shape (T, S, S, 3).
        views: Of the edited frames, by role, shape (len(frames), S, S, 3).
        instruction: Of the source.
        target: Thing that the edit is about, '' where robust.
        seed: Of what the operator brought.
        renderer: What made the pictures.
        file: With the pictures, below the set.
        is_drawn: Whether the phase that it begins in was drawn.
        requests: File with the requests for them, '' where none was sent.
    """
    parsed = parse_manipulation(instruction)
    first = 'first eligible frame of a drawn phase' if is_drawn else 'first eligible frame'
    changed = (
        max(changed_share(pictures[role][i], views[role][n]) for role in views)
        for n, i in enumerate(frames)
    )
    return EditRecord(
        operator=edit.operator.value,
        group='negative' if edit.operator.is_negative else 'robust',
        primitive=edit.primitive.value,
        target=target,
        onset='persistent' if edit.operator.is_persistent else first,
        start=frames.start,
        stop=frames.stop,
        edited_frames=list(frames),
        changed_pixels=[round(share, 4) for share in changed],
        is_multi_stage=parsed.is_multi_stage,
        has_many_objects=parsed.has_many_objects,
        seed=seed,
        renderer=renderer,
        file=file,
        requests=requests,
    )


def write_manifest(out: Path, records: Sequence[SourceRecord]) -> None:
    """Write the manifest whole or not at all."""
    text = json.dumps({'version': VERSION, 'episodes': [asdict(r) for r in records]}, indent=1)
    temporary = out / f'{MANIFEST}.part'
    temporary.write_text(text + '\n', encoding='utf-8')
    temporary.replace(out / MANIFEST)


def read_manifest(folder: Path) -> list[SourceRecord]:
    """Return the episodes of a set.

    Raises:
        CheckpointError: If there is no manifest, or it is not of this version.
    """
    path = folder / MANIFEST
    try:
        document = json.loads(path.read_text(encoding='utf-8'))
        if document['version'] != VERSION:
            raise CheckpointError(f'{path}: version {document["version"]}; allowed: {VERSION}')
        return [
            SourceRecord(**{**r, 'edits': [EditRecord(**e) for e in r['edits']]})
            for r in document['episodes']
        ]
    except (OSError, KeyError, TypeError, json.JSONDecodeError) as error:
        raise CheckpointError(
            f'{path}: no manifest of counterfactuals ({type(error).__name__}); allowed: a folder '
            'that structrl data counterfactual wrote'
        ) from error


def read_pictures(folder: Path, file: str) -> dict[str, UInt8]:
    """Return the pictures of a source or an edit by role, shape (N, S, S, 3).

    Raises:
        CheckpointError: If the file is missing or cut.
    """
    path = folder / file
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files if name != 'frames'}
    except (OSError, ValueError, EOFError, BadZipFile) as error:
        raise CheckpointError(f'{path}: cannot be read ({error}); make the set again') from error
