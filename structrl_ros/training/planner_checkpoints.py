"""Checkpoints of transformers' trainers in this project's form: whole, and without a pickle.

The trainers of transformers write optimiser, schedule and generators with `torch.save`. This
mixin puts them, and the weights that are trained, into one safetensors file, so that a run goes on
to the same numbers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from structrl_ros.errors import CheckpointError
from structrl_ros.models.checkpoint import load_tensors
from structrl_ros.models.checkpoint import save_tensors
from structrl_ros.models.whole_files import whole_folder
from structrl_ros.training.run_directory import CHECKPOINT
from structrl_ros.training.run_directory import TRAINER
from structrl_ros.training.trainer_state import TrainerState

#: Counters of transformers' trainers, JSON.
_COUNTERS = 'trainer_state.json'


class WholeCheckpoints:
    """Mixin of `transformers.Trainer`; it overrides how a checkpoint is written and read.

    Attributes:
        run_folder: Where `checkpoint/` lies.
    """

    run_folder: Path
    model: Any
    optimizer: Any
    lr_scheduler: Any
    state: Any

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        """Put a new checkpoint in the place of the old one."""
        kept = TrainerState()
        for name, tensor in trained_tensors(self.model).items():
            kept.tensors[f'weights/{name}'] = tensor
        kept.put_optimiser('optimiser', self.optimizer)
        kept.numbers['schedule'] = self.lr_scheduler.state_dict()
        kept.tensors['random/cpu'] = torch.get_rng_state()
        if torch.cuda.is_available():
            kept.tensors['random/cuda'] = torch.cuda.get_rng_state()
        with whole_folder(self.run_folder / CHECKPOINT) as folder:
            save_tensors(folder / TRAINER, kept.tensors, kept.numbers)
            self.state.save_to_json(str(folder / _COUNTERS))

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: Any = None) -> None:
        """Fill the weights that are trained.

        Raises:
            CheckpointError: If the checkpoint is of others.
        """
        kept = _read(resume_from_checkpoint)
        own = trained_tensors(self.model)
        found = {
            name.removeprefix('weights/'): tensor
            for name, tensor in kept.tensors.items()
            if name.startswith('weights/')
        }
        wrong = [n for n in {*own, *found} if n not in own or n not in found]
        wrong += [n for n in own if n in found and own[n].shape != found[n].shape]
        if wrong:
            raise CheckpointError(
                f'{resume_from_checkpoint}: {sorted(wrong)[0]} is not what is trained here; '
                'allowed: the base and settings that the run began with'
            )
        with torch.no_grad():
            for name, tensor in own.items():
                tensor.copy_(found[name])

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        """Give optimiser and schedule back what they had."""
        if checkpoint is None:
            return
        kept = _read(checkpoint)
        kept.get_optimiser('optimiser', self.optimizer)
        self.lr_scheduler.load_state_dict(kept.numbers['schedule'])

    def _load_rng_state(self, checkpoint: str | None) -> None:
        """Set torch's generators back."""
        if checkpoint is None:
            return
        kept = _read(checkpoint)
        torch.set_rng_state(kept.tensors['random/cpu'])
        if torch.cuda.is_available() and 'random/cuda' in kept.tensors:
            torch.cuda.set_rng_state(kept.tensors['random/cuda'])


def trained_tensors(model: Any) -> dict[str, torch.Tensor]:
    """Return the parameters that gradients change, by name."""
    return {
        name: parameter.detach()
        for name, parameter in model.named_parameters()
        if parameter.requires_grad
    }


def _read(folder: str) -> TrainerState:
    return TrainerState(*load_tensors(Path(folder) / TRAINER))
