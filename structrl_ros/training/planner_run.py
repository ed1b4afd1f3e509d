"""The directory of a run that trains a planner.

config.json       set, with the digest of its training split, stage and settings
metrics.jsonl     one line an update; tensorboard/ has the same as events
checkpoint/       trainer.safetensors: weights, optimiser, schedule, generators; counters
adapter/          the newest LoRA adapter, for `planner:=local adapter:=...`; where the whole
                  model was trained model/ instead, for `planner:=local model:=...`
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from structrl_ros.errors import CheckpointError
from structrl_ros.errors import ParameterError
from structrl_ros.models.whole_files import whole_folder
from structrl_ros.training.leap_rows import LeapRow
from structrl_ros.training.leap_set import read_split
from structrl_ros.training.leap_set import split_path
from structrl_ros.training.planner_questions import check_prompt
from structrl_ros.training.planner_settings import STAGES
from structrl_ros.training.planner_settings import PlannerSettings
from structrl_ros.training.settings_document import make_settings
from structrl_ros.types import JsonObject

KIND = 'planner'
ADAPTER = 'adapter'
MODEL = 'model'


def check_settings(settings: PlannerSettings) -> None:
    """Refuse what only shows with other files at hand.

    Raises:
        ParameterError: If there is no base, or the prompt has no reward.
    """
    if not settings.base:
        raise ParameterError('no base; give --base: a folder of a vision-language model, or an id')
    check_prompt(settings.prompt)


def run_document(folder: Path, stage: str, settings: PlannerSettings) -> JsonObject:
    """Return what `run_of_document` takes back, as plain JSON.

    Raises:
        DatasetError: If there is no training split.
    """
    return {
        'trainer': KIND,
        'stage': stage,
        'set': {'folder': str(folder.resolve()), 'digest': _digest(folder)},
        'settings': settings.model_dump(mode='json'),
    }


def run_of_document(document: JsonObject) -> tuple[Path, str, PlannerSettings]:
    """Return set, stage and settings of a run that goes on.

    Raises:
        CheckpointError: If it is no run of this trainer.
        DatasetError: If its set is gone.
        ParameterError: If the set is another one than that which the run began with.
    """
    if document.get('trainer') != KIND:
        raise CheckpointError(
            f'run of trainer {document.get("trainer")!r}; allowed: {KIND!r}, made by '
            'structrl train planner'
        )
    try:
        folder, stage = Path(document['set']['folder']), str(document['stage'])
        digest = document['set']['digest']
        settings = make_settings(STAGES[stage], document['settings'])
    except (KeyError, TypeError, ParameterError) as error:
        raise CheckpointError(f'config of the run: {error}') from None
    if _digest(folder) != digest:
        raise ParameterError(
            f'{folder}: not the set that the run began with; a run goes on as it began'
        )
    return folder, stage, settings


def save_trained(
    run: Path, model: Any, processor: Any, settings: PlannerSettings, card: str
) -> Path:
    """Put the newest weights in the place of the old ones, and return their folder.

    Raises:
        CheckpointError: If they cannot be written; the old ones stay.
    """
    is_adapter = hasattr(model, 'peft_config')
    place = run / (ADAPTER if is_adapter else MODEL)
    with whole_folder(place) as folder:
        if is_adapter:
            model.peft_config['default'].base_model_name_or_path = settings.base
            model.save_pretrained(str(folder), selected_adapters=['default'])
        else:
            model.save_pretrained(str(folder))
            processor.tokenizer.save_pretrained(str(folder))
            processor.image_processor.save_pretrained(str(folder))
        (folder / 'README.md').write_text(card, encoding='utf-8')
    return place


def planner_card(
    stage: str, settings: PlannerSettings, rows: Sequence[LeapRow], held_out: int, updates: int
) -> str:
    """Return the card of weights: what they were made from, and how to use them."""
    use = 'planner:=local model:=BASE adapter:=HERE'
    lines = [
        f'# A planner, stage {stage}\n',
        f'Made by `structrl train planner` (REVER, Section III-B): {updates} updates over '
        f'{len(rows)} questions of a LEAP set; {held_out} more were held out.\n',
        f'Base: {settings.base}. Its licence holds for what is made of it.\n',
        f'Use: `{use} plan_prompt:={settings.prompt}`, with image_pixels '
        f'{settings.image_pixels}.\n',
        '## Settings\n',
        *[f'- {name}: {value}' for name, value in settings.model_dump(mode='json').items()],
    ]
    return '\n'.join(lines) + '\n'


def read_rows(folder: Path, settings: PlannerSettings) -> list[LeapRow]:
    """Return the questions of the training split that a run may ask.

    Raises:
        DatasetError: If there is no training split, or it is cut.
    """
    return read_split(folder, 'train', settings.kinds)


def _digest(folder: Path) -> str:
    path = split_path(folder, 'train')
    if not path.is_file():
        read_split(folder, 'train', ())
    return hashlib.sha256(path.read_bytes()).hexdigest()
