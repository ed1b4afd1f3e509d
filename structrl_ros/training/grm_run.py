"""The directory of a run of the GRM's trainer.

config.json       sets, with the digest of their manifests, and settings
metrics.jsonl     one line a checkpoint; tensorboard/ has the same as events
checkpoint/       grm/ (for `load_grm`, the newest weights), trainer.safetensors
best/             for `load_grm`: the weights that answered validation pairs best
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel

from structrl_ros.errors import CheckpointError
from structrl_ros.errors import ParameterError
from structrl_ros.models.checkpoint import save_tensors
from structrl_ros.models.grm.checkpoint import save_grm
from structrl_ros.models.grm.network import GrmNetwork
from structrl_ros.models.whole_files import whole_folder
from structrl_ros.training.counterfactual_set import MANIFEST
from structrl_ros.training.counterfactual_set import read_manifest
from structrl_ros.training.grm_card import grm_card
from structrl_ros.training.grm_episodes import GrmEpisode
from structrl_ros.training.grm_measurement import FamilyScore
from structrl_ros.training.grm_settings import CurriculumSettings
from structrl_ros.training.metrics_log import MetricsLog
from structrl_ros.training.run_directory import CHECKPOINT
from structrl_ros.training.run_directory import TRAINER
from structrl_ros.training.run_directory import RunDirectory
from structrl_ros.training.settings_document import Settings
from structrl_ros.training.settings_document import make_settings
from structrl_ros.training.trainer_state import TrainerState
from structrl_ros.types import JsonObject

KIND = 'grm'
GRM = 'grm'
BEST = 'best'


class PairRun:
    """A run directory that is held, and the data that its cards tell of."""

    kind = KIND

    def __init__(
        self,
        directory: RunDirectory,
        settings: CurriculumSettings,
        data: Mapping[str, Sequence[GrmEpisode]],
    ) -> None:
        """Keep a run in a directory that is held."""
        self._directory, self._settings, self._data = directory, settings, data

    @property
    def has_checkpoint(self) -> bool:
        """Whether a checkpoint was ever saved."""
        return self._directory.has_checkpoint

    def load_state(self) -> TrainerState:
        """Return what the trainer kept.

        Raises:
            CheckpointError: If it is cut.
        """
        return self._directory.load_state()

    def open_log(self, done: int) -> MetricsLog:
        """Return the log, with the lines up to update `done`."""
        return MetricsLog(self._directory.path, 'update', after=done or None)

    def card(self, progress: str, scores: Mapping[str, FamilyScore] | None = None) -> str:
        """Return the card of weights, see `grm_card`."""
        return grm_card(self.kind, self._settings, self._data, progress=progress, scores=scores)


class GrmRun(PairRun):
    """A run of the small GRM."""

    def save(self, network: GrmNetwork, state: TrainerState, progress: str) -> None:
        """Put a new checkpoint in the place of the old one.

        Raises:
            CheckpointError: If it cannot be written; the old one stays.
        """
        with whole_folder(self._directory.path / CHECKPOINT) as folder:
            save_grm(folder / GRM, network, self.card(progress))
            save_tensors(folder / TRAINER, state.tensors, state.numbers)

    def save_best(
        self, network: GrmNetwork, progress: str, scores: Mapping[str, FamilyScore] | None
    ) -> None:
        """Put new best weights in the place of the old ones.

        Raises:
            CheckpointError: If they cannot be written; the old ones stay.
        """
        save_grm(self._directory.path / BEST, network, self.card(progress, scores))


def run_document(sets: Sequence[Path], settings: BaseModel, kind: str = KIND) -> JsonObject:
    """Return what `run_of_kind` takes back, as plain JSON.

    Args:
        sets: What is trained on.
        settings: Of the trainer.
        kind: The trainer.

    Raises:
        CheckpointError: If a set has no manifest.
    """
    return {
        'trainer': kind,
        'sets': [{'folder': str(folder.resolve()), 'digest': _digest(folder)} for folder in sets],
        'settings': settings.model_dump(mode='json'),
    }


def run_of_kind(
    document: JsonObject, of: type[Settings], kind: str
) -> tuple[list[Path], Settings]:
    """Return sets and settings of a run that goes on.

    Args:
        document: Of `run_document`.
        of: Class of the settings.
        kind: The trainer.

    Raises:
        CheckpointError: If it is no run of this trainer, or its sets are gone.
        ParameterError: If a set is another one than that which the run began with.
    """
    if document.get('trainer') != kind:
        raise CheckpointError(
            f'run of trainer {document.get("trainer")!r}; allowed: {kind!r}, made by '
            f'structrl train {kind}'
        )
    try:
        folders = [(Path(entry['folder']), entry['digest']) for entry in document['sets']]
        settings = make_settings(of, document['settings'])
    except (KeyError, TypeError, ParameterError) as error:
        raise CheckpointError(f'config of the run: {error}') from None
    for folder, digest in folders:
        if _digest(folder) != digest:
            raise ParameterError(
                f'{folder}: not the set that the run began with; a run goes on as it began'
            )
    return [folder for folder, _ in folders], settings


def _digest(folder: Path) -> str:
    read_manifest(folder)
    return hashlib.sha256((folder / MANIFEST).read_bytes()).hexdigest()
