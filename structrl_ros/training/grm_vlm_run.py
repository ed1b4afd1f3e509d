"""The directory of a run that trains a GRM on a vision-language model.

config.json       sets, with the digest of their manifests, and settings
metrics.jsonl     one line a checkpoint; tensorboard/ has the same as events
checkpoint/       trainer.safetensors: newest and best adapters, optimiser, counters
best/             for `load_vlm_grm`: the adapters that answered validation pairs best
"""

from __future__ import annotations

from collections.abc import Mapping

from structrl_ros.models.checkpoint import save_tensors
from structrl_ros.models.grm.vlm_checkpoint import save_vlm_grm
from structrl_ros.models.grm.vlm_network import VlmGrmNetwork
from structrl_ros.models.whole_files import whole_folder
from structrl_ros.training.grm_measurement import FamilyScore
from structrl_ros.training.grm_run import BEST
from structrl_ros.training.grm_run import PairRun
from structrl_ros.training.run_directory import CHECKPOINT
from structrl_ros.training.run_directory import TRAINER
from structrl_ros.training.trainer_state import TrainerState

KIND = 'grm-vlm'


class VlmGrmRun(PairRun):
    """A run of adapters."""

    kind = KIND

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
        save_vlm_grm(self._directory.path / BEST, network, self.card(progress, scores))
