"""Which trajectories the VOC benchmark shows, and to which family each belongs.

Five families (Robo-Dopamine 2.0, "Evaluation protocol"), told by the manifests:

- in-distribution: sources in which no phase comes back;
- temporal: sources in which a phase comes back, so that one picture has several progresses;
- OOD-negative: a negative edit that lasts to the end of such a source as the first;
- OOD-robust: a robust edit of it;
- OOD-temporal: any edit of a temporal source, or a negative edit that ends before the episode
  does: a failure, then recovery.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import replace
from pathlib import Path
from typing import Any

from structrl_ros.errors import ParameterError
from structrl_ros.evaluation.grm_scores import VocFamily
from structrl_ros.training.counterfactual_set import EditRecord
from structrl_ros.training.counterfactual_set import SourceRecord
from structrl_ros.training.counterfactual_set import read_manifest


@dataclass(frozen=True, slots=True)
class VocSets:
    """Which trajectories: the sets, the split, one in `every` frames, at most `limit` a family.

    A limit is spread over episodes and operators, the same for every model.
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


@dataclass(frozen=True, slots=True)
class PlannedEpisode:
    """An episode of a set and what is shown of it; None is the source itself."""

    folder: Path
    record: SourceRecord
    shown: tuple[EditRecord | None, ...]


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


def planned_trajectories(sets: VocSets) -> list[PlannedEpisode]:
    """Return the episodes of the sets with what is shown of each.

    Raises:
        CheckpointError: If a set has no manifest.
        ParameterError: If there is no episode of the split, or one comes twice.
    """
    found: dict[str, PlannedEpisode] = {}
    for folder in sets.folders:
        for record in read_manifest(folder):
            if record.split != sets.split:
                continue
            if record.episode in found:
                raise ParameterError(
                    f'episode {record.episode} is in {found[record.episode].folder} and in '
                    f'{folder}; allowed: each once'
                )
            found[record.episode] = PlannedEpisode(folder, record, (None, *record.edits))
    if not found:
        listed = ', '.join(str(folder) for folder in sets.folders)
        raise ParameterError(
            f'no episodes of split {sets.split!r} in {listed}; allowed: sets made with a '
            '--test-share above 0 and enough episodes'
        )
    planned = list(found.values())
    return _limited(planned, sets.limit) if sets.limit else planned


def _limited(planned: list[PlannedEpisode], limit: int) -> list[PlannedEpisode]:
    """Keep `limit` trajectories a family: one of every episode, then another; operators turn."""
    ranked: dict[VocFamily, list[tuple[int, int, EditRecord | None]]] = {}
    for number, episode in enumerate(planned):
        mine: dict[VocFamily, list[EditRecord | None]] = {}
        for edit in episode.shown:
            mine.setdefault(family_of(episode.record, edit), []).append(edit)
        for family, edits in mine.items():
            turned = [edits[(number + i) % len(edits)] for i in range(len(edits))]
            ranked.setdefault(family, []).extend((i, number, e) for i, e in enumerate(turned))
    kept: dict[int, list[EditRecord | None]] = {}
    for entries in ranked.values():
        for _, number, edit in sorted(entries, key=lambda entry: entry[:2])[:limit]:
            kept.setdefault(number, []).append(edit)
    return [replace(planned[number], shown=tuple(kept[number])) for number in sorted(kept)]
