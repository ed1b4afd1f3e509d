"""Training of an event model: LoRA on a vision-language model (MART-GRPO, Sections 3.1, E.3).

Only the answer's tokens are learned. At every check the model answers for rollouts of the
validation split; the best check is kept: by task-macro IoU, then by the loss of the true answers,
then the earlier one. An update is a function of settings and its number, so a run that was
stopped goes on to the same numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from structrl_ros.errors import CheckpointError
from structrl_ros.errors import TrainingError
from structrl_ros.models.checkpoint import save_tensors
from structrl_ros.models.events.vlm import LocalEvents
from structrl_ros.models.vlm.loading import LoadedVlm
from structrl_ros.models.whole_files import whole_folder
from structrl_ros.training.descent import step_down
from structrl_ros.training.event_batches import EventQuestions
from structrl_ros.training.event_batches import tasks_alike
from structrl_ros.training.event_episode import EventEpisode
from structrl_ros.training.event_evaluation import evaluate_backend
from structrl_ros.training.event_evaluation import failures
from structrl_ros.training.event_evaluation import of_model
from structrl_ros.training.event_settings import EventSettings
from structrl_ros.training.metrics_log import Metrics
from structrl_ros.training.planner_checkpoints import trained_tensors
from structrl_ros.training.planner_model import load_base
from structrl_ros.training.planner_model import quiet_libraries
from structrl_ros.training.planner_model import trained_model
from structrl_ros.training.planner_run import save_trained
from structrl_ros.training.run_directory import CHECKPOINT
from structrl_ros.training.run_directory import TRAINER
from structrl_ros.training.run_directory import RunDirectory
from structrl_ros.training.trainer_state import TrainerState

Report = Callable[[int, Metrics], None]
#: Entropy of the order of rollouts.
_ORDER = 31
#: Rollouts of a batch in which the loss on validation is taken.
_BATCH = 8


@dataclass(slots=True)
class Best:
    """The best check so far."""

    iou: float = -1.0
    loss: float = math.inf
    update: int = 0

    def is_beaten_by(self, iou: float, loss: float) -> bool:
        """Return whether a later check is better: IoU first, then the loss."""
        return (iou, -loss) > (self.iou, -self.loss)


class EventTraining:
    """One run: base, adapter, optimiser, and what was best."""

    def __init__(
        self,
        settings: EventSettings,
        training: list[EventEpisode],
        validation: list[EventEpisode],
        run: RunDirectory,
    ) -> None:
        """Load the base; a run with a checkpoint is taken up there.

        Raises:
            ParameterError: If a set has no pictures, or a package or module is missing.
            CheckpointError: If the base cannot be had, or the checkpoint is of another one.
        """
        self.settings, self._run = settings, run
        self._vlm = load_base(settings.of_model())
        with quiet_libraries():
            self.model: Any = trained_model(self._vlm, settings.of_model())
        processor = self._vlm.processor
        self._questions = EventQuestions(processor, training, settings.frames)
        self._validation = tasks_alike(failures(validation), settings.validation_rollouts)
        self._held_out = EventQuestions(processor, self._validation, settings.frames)
        answering = LoadedVlm(self._vlm.name, self.model, processor)
        roles = self._validation[0].roles
        self.reviewer = LocalEvents(
            answering, roles, frames=settings.frames, max_tokens=settings.max_tokens
        )
        parameters = [p for p in self.model.parameters() if p.requires_grad]
        self._optimiser = torch.optim.AdamW(
            parameters, lr=settings.learning_rate, weight_decay=settings.weight_decay
        )
        self.done, self.best = 0, Best()
        self._losses: list[float] = []
        if run.has_checkpoint:
            self._restore(run.load_state())

    @property
    def trained(self) -> int:
        """Parameters that train."""
        return sum(tensor.numel() for tensor in trained_tensors(self.model).values())

    def train(self, report: Report = lambda update, metrics: None) -> Path:
        """Train to the end, or until nothing gets better, and return the folder of the best.

        Raises:
            TrainingError: If a number is not finite.
            CheckpointError: If the disk refuses.
        """
        own = self.settings
        while self.done < own.updates and not self._is_over():
            self._losses.append(self._update())
            self.done += 1
            if self.done % own.evaluate_every == 0 or self.done == own.updates:
                metrics = self._check()
                self._save()
                report(self.done, metrics)
        return self._run.path / ('adapter' if own.weights == 'lora' else 'model')

    def _is_over(self) -> bool:
        waited = self.done - self.best.update
        return waited >= self.settings.patience * self.settings.evaluate_every

    def _update(self) -> float:
        own = self.settings
        share = 0.5 * (1.0 + math.cos(math.pi * self.done / own.updates))
        for group in self._optimiser.param_groups:
            group['lr'] = own.learning_rate * share
        self.model.train()
        self._optimiser.zero_grad()
        inputs = self._questions.batch(self._chosen())
        device = self.model.device
        loss = self.model(**{name: tensor.to(device) for name, tensor in inputs.items()}).loss
        if not bool(torch.isfinite(loss)):
            raise TrainingError(f'after update {self.done}: the loss is not finite')
        loss.backward()
        parameters = [p for group in self._optimiser.param_groups for p in group['params']]
        step_down(self._optimiser, parameters, clip=own.gradient_clip, what='event model')
        return float(loss.detach())

    def _chosen(self) -> list[int]:
        """Return the rollouts of this update: whole passes, each in an order of its own."""
        count, rows = len(self._questions), self.settings.rows
        numbers = range(self.done * rows, (self.done + 1) * rows)
        orders = {
            epoch: np.random.default_rng([self.settings.seed, _ORDER, epoch]).permutation(count)
            for epoch in {number // count for number in numbers}
        }
        return [int(orders[number // count][number % count]) for number in numbers]

    def _check(self) -> Metrics:
        self.model.eval()
        loss = self._validation_loss()
        result = evaluate_backend(self.reviewer.name, of_model(self.reviewer), self._validation)
        iou = result.scores.iou.value
        if self.best.is_beaten_by(iou, loss):
            self.best = Best(iou, loss, self.done)
            card = event_card(self.settings, self.best, len(self._questions))
            with quiet_libraries():
                save_trained(
                    self._run.path, self.model, self._vlm.processor, self.settings.of_model(), card
                )
        metrics: Metrics = {
            'loss': float(np.mean(self._losses)) if self._losses else None,
            'validation/loss': loss,
            'validation/iou': iou,
            'validation/exact': result.scores.exact.value,
            'validation/within_one': result.scores.within_one.value,
            'validation/answered': result.scores.answered.value,
        }
        self._losses.clear()
        return metrics

    def _validation_loss(self) -> float:
        count, total = len(self._held_out), 0.0
        with torch.no_grad():
            for first in range(0, count, _BATCH):
                numbers = list(range(first, min(first + _BATCH, count)))
                inputs = self._held_out.batch(numbers)
                device = self.model.device
                given = {name: tensor.to(device) for name, tensor in inputs.items()}
                total += float(self.model(**given).loss) * len(numbers)
        return total / count

    def _save(self) -> None:
        state = TrainerState()
        state.tensors |= {f'weights/{n}': t for n, t in trained_tensors(self.model).items()}
        state.put_optimiser('optimiser', self._optimiser)
        state.tensors['random/cpu'] = torch.get_rng_state()
        state.numbers |= {
            'update': self.done,
            'best': [self.best.iou, self.best.loss, self.best.update],
        }
        with whole_folder(self._run.path / CHECKPOINT) as folder:
            save_tensors(folder / TRAINER, state.tensors, state.numbers)

    def _restore(self, state: TrainerState) -> None:
        own = trained_tensors(self.model)
        found = {
            name.removeprefix('weights/'): tensor
            for name, tensor in state.tensors.items()
            if name.startswith('weights/')
        }
        if {n: t.shape for n, t in own.items()} != {n: t.shape for n, t in found.items()}:
            raise CheckpointError(
                f'{self._run.path}: the checkpoint is of other weights; allowed: the base that '
                'the run began with'
            )
        with torch.no_grad():
            for name, tensor in own.items():
                tensor.copy_(found[name])
        state.get_optimiser('optimiser', self._optimiser)
        torch.set_rng_state(state.tensors['random/cpu'])
        self.done = int(state.numbers['update'])
        iou, loss, update = state.numbers['best']
        self.best = Best(float(iou), float(loss), int(update))


def event_card(settings: EventSettings, best: Best, rollouts: int) -> str:
    """Return the card of weights: what they were made from, and how to use them."""
    lines = [
        '# An event model\n',
        f'Made by `structrl train events` (MART-GRPO, Section 3.1) from {rollouts} rollouts; the '
        f'best check was at update {best.update}: validation task-macro IoU {best.iou:.3f}, loss '
        f'{best.loss:.3f}.\n',
        f'Base: {settings.base}. Its licence holds for what is made of it.\n',
        '## Settings\n',
        *[f'- {name}: {value}' for name, value in settings.model_dump(mode='json').items()],
    ]
    return '\n'.join(lines) + '\n'
