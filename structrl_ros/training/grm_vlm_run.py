"""The directory of a run that trains a GRM on a vision-language model.

config.json       sets, with the digest of their manifests, and settings
metrics.jsonl     one line a checkpoint; tensorboard/ has the same as events
checkpoint/       trainer.safetensors: newest and best adapters, optimiser, counters
best/             for `load_vlm_grm`: the adapters that answered validation pairs best
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from collections.abc import Sequence

from structrl_ros.models.checkpoint import save_tensors
from structrl_ros.models.grm.vlm_checkpoint import save_vlm_grm
from structrl_ros.models.grm.vlm_network import VlmGrmNetwork
from structrl_ros.models.whole_files import whole_folder
from structrl_ros.training.grm_episodes import GrmEpisode
from structrl_ros.training.grm_measurement import FamilyScore
from structrl_ros.training.grm_vlm_settings import VlmGrmSettings
from structrl_ros.training.metrics_log import MetricsLog
from structrl_ros.training.run_directory import CHECKPOINT
from structrl_ros.training.run_directory import TRAINER
from structrl_ros.training.run_directory import RunDirectory
from structrl_ros.training.trainer_state import TrainerState

KIND = 'grm-vlm'
BEST = 'best'


class VlmGrmRun:
    """A run directory, and the data that its card tells of."""

    def __init__(
        self,
        directory: RunDirectory,
        settings: VlmGrmSettings,
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

    def save(self, state: TrainerState) -> None:
        """Put a new checkpoint in the place of the old one.

        Raises:
            CheckpointError: If it cannot be written; the old one stays.
        """
        with whole_folder(self._directory.path / CHECKPOINT) as folder:
            save_tensors(folder / TRAINER, state.tensors, state.numbers)

    def save_best(
        self, network: VlmGrmNetwork, progress: str, scores: Mapping[str, FamilyScore] | None
    ) -> None:
        """Put new best adapters in the place of the old ones.

        Raises:
            CheckpointError: If they cannot be written; the old ones stay.
        """
        card = vlm_card(self._settings, self._data, progress=progress, scores=scores)
        save_vlm_grm(self._directory.path / BEST, network, card)


def vlm_card(
    settings: VlmGrmSettings,
    data: Mapping[str, Sequence[GrmEpisode]],
    *,
    progress: str,
    scores: Mapping[str, FamilyScore] | None = None,
) -> str:
    """Return Markdown with a YAML head that programs read.

    Args:
        settings: All of them.
        data: Episodes by what they were for: training, validation, test.
        progress: Which update these are the adapters of.
        scores: Of test pairs, once they are measured.
    """
    lines = ['---', f'trained_by: structrl train {KIND}', f'seed: {settings.seed}']
    lines += [f'{use}_episodes: {len(episodes)}' for use, episodes in data.items()]
    lines += [f'test_mse: {scores["all"].mse:.1f}'] if scores else []
    lines += ['---', '', '# GRM of Robo-Dopamine 2.0 on a vision-language model', '', progress]
    instructions = sorted({e.instruction for found in data.values() for e in found})
    lines += ['', 'Instructions it has seen:', '', *(f'- {text}' for text in instructions)]
    lines += ['', '## Test pairs', '']
    if scores:
        lines += ['| family | pairs | MSE of 100 x hop |', '|---|---|---|']
        lines += [f'| {name} | {s.count} | {s.mse:.1f} |' for name, s in scores.items()]
    else:
        lines += ['Not measured on test episodes: the run has not ended.']
    lines += ['', '## Settings', '']
    lines += [f'- {k}: {json.dumps(v)}' for k, v in settings.model_dump(mode='json').items()]
    return '\n'.join(lines) + '\n'
