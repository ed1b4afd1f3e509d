"""The card of a trained GRM: data, seed, settings, and the numbers that were measured of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from collections.abc import Sequence

from structrl_ros.training.grm_episodes import GrmEpisode
from structrl_ros.training.grm_measurement import FamilyScore
from structrl_ros.training.grm_settings import CurriculumSettings

#: Titles of cards by trainer.
TITLES = {
    'grm': 'Small GRM of Robo-Dopamine 2.0: signed hops of pairs of pictures',
    'grm-vlm': 'GRM of Robo-Dopamine 2.0 on a vision-language model',
}


def grm_card(
    trainer: str,
    settings: CurriculumSettings,
    data: Mapping[str, Sequence[GrmEpisode]],
    *,
    progress: str,
    scores: Mapping[str, FamilyScore] | None = None,
) -> str:
    """Return Markdown with a YAML head that programs read.

    Args:
        trainer: A key of `TITLES`.
        settings: All of them.
        data: Episodes by what they were for: training, validation, test.
        progress: Which update these are the weights of.
        scores: Of test pairs, once they are measured.
    """
    counts = {use: len(episodes) for use, episodes in data.items()}
    instructions = sorted({e.instruction for found in data.values() for e in found})
    head = ['---', f'trained_by: structrl train {trainer}', f'seed: {settings.seed}']
    head += [f'{use}_episodes: {count}' for use, count in counts.items()]
    if scores is None:
        measured = ['Not measured on test episodes: the run has not ended.']
    else:
        head += [f'test_mse: {scores["all"].mse:.1f}']
        measured = [*_rows(scores)]
    lines = [*head, '---', '', f'# {TITLES[trainer]}', '', progress, '']
    lines += ['## Data', '', *_data_rows(data), '', 'Instructions it has seen:', '']
    lines += [f'- {instruction}' for instruction in instructions]
    lines += ['', '## Test pairs', '', *measured, '', '## Settings', '']
    lines += [f'- {k}: {json.dumps(v)}' for k, v in settings.model_dump(mode='json').items()]
    return '\n'.join(lines) + '\n'


def _data_rows(data: Mapping[str, Sequence[GrmEpisode]]) -> list[str]:
    tasks = sorted({episode.task for found in data.values() for episode in found})
    rows = [f'| task | {" | ".join(data)} |', f'|---|{"---|" * len(data)}']
    for task in tasks:
        counts = [str(sum(e.task == task for e in found)) for found in data.values()]
        rows.append(f'| {task} | {" | ".join(counts)} |')
    return rows


def _rows(scores: Mapping[str, FamilyScore]) -> list[str]:
    rows = ['| family | pairs | MSE of 100 x hop | sign | rank |', '|---|---|---|---|---|']
    for family, score in scores.items():
        numbers = (score.sign, score.rank)
        told = ' | '.join('' if number is None else f'{number:.3f}' for number in numbers)
        rows.append(f'| {family} | {score.count} | {score.mse:.1f} | {told} |')
    return rows
