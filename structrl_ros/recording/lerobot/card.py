"""The card of a dataset: README.md with where it comes from, how it went, and what is in it."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path

from structrl_ros.evaluation.statistics import wilson_interval
from structrl_ros.naming import counted
from structrl_ros.recording.lerobot.features import MEANINGS
from structrl_ros.recording.lerobot.layout import IMAGE_PREFIX
from structrl_ros.recording.lerobot.writer import DatasetWriter

_HEADER = (
    '---',
    'license: # yours to fill in',
    'task_categories:',
    '- robotics',
    'tags:',
    '- LeRobot',
    '- structrl_ros',
    'configs:',
    '- config_name: default',
    '  data_files: data/*/*.parquet',
    '---',
)


def write_card(
    root: Path,
    writer: DatasetWriter,
    bags: Sequence[Path],
    successes: int,
    settings: Mapping[str, object],
) -> None:
    """Write README.md; the licence is left to the user.

    Args:
        root: Of the dataset.
        writer: That wrote it.
        bags: It was made of.
        successes: Episodes with success.
        settings: Of the export.
    """
    lines = [
        *_HEADER,
        '',
        f'# {root.name.removeprefix(".").removesuffix(".partial")}',
        '',
        *_summary(writer, successes, settings),
        '',
        '## Tasks',
        '',
        *[f'{number}. {task}' for task, number in writer.tasks.numbers.items()],
        '',
        '## Features',
        '',
        '| feature | type | shape | meaning |',
        '|---|---|---|---|',
        *[_row(writer, key) for key in writer.features],
        '',
        '## Source recordings',
        '',
        *[f'- `{bag.parent.name}/{bag.name}`' for bag in bags],
        '',
        '## Licence',
        '',
        'Yours to fill in, here and in the header.',
        '',
    ]
    (root / 'README.md').write_text('\n'.join(lines), 'utf-8')


def _summary(
    writer: DatasetWriter, successes: int, settings: Mapping[str, object]
) -> tuple[str, ...]:
    episodes = len(writer.episodes)
    low, high = wilson_interval(successes, episodes)
    return (
        f'{counted(episodes, "episode")}, {counted(writer.frames, "frame")} in the LeRobotDataset '
        'v3.0 format, exported from recorded runs by structrl_ros.',
        '',
        f'Success: {successes} of {episodes} ({successes / episodes:.1%}, 95 % Wilson interval '
        f'{low:.1%} to {high:.1%}).',
        '',
        f'Action space: `{settings["action_space"]}`. Observations that were older than the limit '
        f'at a step: {settings["stale"]}.',
    )


def _row(writer: DatasetWriter, key: str) -> str:
    feature = writer.features[key]
    shape = ' x '.join(str(n) for n in feature.shape)
    meaning = MEANINGS.get(key, '')
    if key.startswith(IMAGE_PREFIX):
        meaning = f'camera {key.removeprefix(IMAGE_PREFIX)}, upright RGB'
    return f'| `{key}` | {feature.dtype} | {shape} | {meaning} |'
