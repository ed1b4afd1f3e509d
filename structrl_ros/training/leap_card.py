"""The card of a LEAP set: README.md with counts, seeds, scenes and licences of the sources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from structrl_ros.models.whole_files import whole_file
from structrl_ros.training.leap_episode import SkillEpisode
from structrl_ros.training.leap_prompts import VERSION
from structrl_ros.training.leap_rows import LeapRow
from structrl_ros.training.leap_rows import count_rows

_HEADER = """---
license: # yours to fill in: see Licences
task_categories:
- visual-question-answering
- robotics
tags:
- structrl_ros
configs:
- config_name: default
  data_files:
"""

_MEANINGS = """## Rows

| column | meaning |
|---|---|
| `kind` | `plan`, `completion`, or `choice` (four plans, in the test split alone) |
| `prompt`, `answer` | the question in words, and what stands between `<answer>` and `</answer>` |
| `instruction`, `objects`, `plan` | the parts of the question, and the true steps |
| `images` | JPEG or PNG files: all `roles` at the start; for `completion` then all of now |
| `done` | of `completion`: True where the skill's event came, False in its middle |
| `options`, `distractors`, `correct` | of `choice`: four plans, what is wrong, the right one |
| `way` | `whole` as demonstrated, `stretch` a part; `reordered`, `joined` were not executed |
| `style` | `own`: the task's sentence; `orders`, `wish`: templates; `skill`: of `completion` |
| `scene`, `episode`, `task`, `seed`, `initial_state` | where the pictures come from |
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetReport:
    """What was made.

    Attributes:
        train: Rows.
        test: Rows.
        episodes: Demonstrations that were cut into skills.
        leaks: Training rows left out, because the test split has their instruction.
        failed: A line for each demonstration that was left out.
    """

    train: tuple[LeapRow, ...]
    test: tuple[LeapRow, ...]
    episodes: tuple[SkillEpisode, ...]
    leaks: int
    failed: tuple[str, ...]

    @property
    def rows(self) -> tuple[LeapRow, ...]:
        """All rows."""
        return (*self.train, *self.test)

    @property
    def triplets(self) -> int:
        """Plan and completion triplets; choices ask a plan row again."""
        return sum(row.kind != 'choice' for row in self.rows)


def write_card(folder: Path, report: SetReport, settings: dict[str, Any]) -> None:
    """Write README.md.

    Raises:
        CheckpointError: If the disk refuses.
    """
    files = [f'  - split: {s}\n    path: data/{s}.parquet\n' for s in ('train', 'test')]
    kept = [f for f, rows in zip(files, (report.train, report.test), strict=True) if rows]
    text = '\n'.join(
        [
            f'{_HEADER}{"".join(kept)}---\n',
            f'# {folder.resolve().name}\n',
            *_summary(report, settings),
            '## Counts\n',
            *_counts(report),
            *_scenes(report),
            _MEANINGS,
            '## Licences\n',
            *_licences(report.episodes),
            '\nThe rows hold pictures of these sources; the licence of the set is yours to say.\n',
        ]
    )
    with whole_file(folder / 'README.md') as new:
        new.write_text(text, encoding='utf-8')


def _summary(report: SetReport, settings: dict[str, Any]) -> list[str]:
    told = ', '.join(f'{name} {value}' for name, value in settings.items())
    lines = [
        f'{report.triplets} triplets (picture, question, answer) and '
        f'{len(report.rows) - report.triplets} choices from '
        f'{len(report.episodes)} demonstrations, '
        'made by `structrl data leap` in the manner of LEAP (REVER, Section III-A). The plans are '
        "those that were executed, cut at the events of the task's predicates, and tasks composed "
        'of them.\n',
        f'Settings: {told}; prompts version {VERSION}.\n',
        'No scene, no demonstration and no instruction is in both splits; a scene is the set of '
        f'things in it. {report.leaks} training rows were left out for that.\n',
    ]
    if report.failed:
        lines += [f'{len(report.failed)} demonstrations were left out:\n']
        lines += [*(f'- {line}' for line in report.failed[:20]), '']
        rest = len(report.failed) - 20
        lines += [f'- and {rest} more\n'] if rest > 0 else []
    return lines


def _counts(report: SetReport) -> list[str]:
    lines = ['| split | source | kind | style | rows |', '|---|---|---|---|---|']
    counts = count_rows(report.rows, 'split', 'source', 'kind', 'style')
    lines += [f'| {" | ".join(key)} | {n} |' for key, n in sorted(counts.items())]
    ways = count_rows([r for r in report.rows if r.kind == 'plan'], 'way')
    told = ', '.join(f'{key[0]} {n}' for key, n in sorted(ways.items()))
    sentences = len({row.instruction for row in report.rows if row.kind == 'plan'})
    return [*lines, f'\nPlans by way: {told}. Different sentences: {sentences}.\n']


def _scenes(report: SetReport) -> list[str]:
    lines = [
        '## Scenes\n',
        '| split | scene | tasks | demonstrations | seeds |',
        '|---|---|---|---|---|',
    ]
    tested = {row.scene for row in report.test}
    for scene in sorted({episode.scene for episode in report.episodes}):
        found = [episode for episode in report.episodes if episode.scene == scene]
        tasks = ', '.join(sorted({episode.task for episode in found}))
        seeds = ', '.join(str(s) for s in sorted({episode.seed for episode in found}))
        split = 'test' if scene in tested else 'train'
        lines.append(f'| {split} | {scene} | {tasks} | {len(found)} | {seeds} |')
    return [*lines, '']


def _licences(episodes: Sequence[SkillEpisode]) -> list[str]:
    told = sorted({(episode.source, episode.licence) for episode in episodes})
    return [f'- {source}: {licence}' for source, licence in told]
