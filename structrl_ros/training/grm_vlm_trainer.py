"""Training of a GRM on a vision-language model: the Signed-Hop Curriculum over its adapters."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import mse_loss

from structrl_ros.errors import ParameterError
from structrl_ros.errors import TrainingError
from structrl_ros.models.grm.vlm_inputs import VlmInput
from structrl_ros.models.grm.vlm_inputs import make_vlm_input
from structrl_ros.models.grm.vlm_network import VlmGrmNetwork
from structrl_ros.progress.hop import LABEL_SCALE
from structrl_ros.progress.score_text import write_score
from structrl_ros.training.descent import step_down
from structrl_ros.training.grm_curriculum import CurriculumTrainer
from structrl_ros.training.grm_curriculum import PairSource
from structrl_ros.training.grm_curriculum import Report
from structrl_ros.training.grm_measurement import score_metrics
from structrl_ros.training.grm_vlm_augmentation import leave_out
from structrl_ros.training.grm_vlm_measurement import score_answered
from structrl_ros.training.grm_vlm_run import VlmGrmRun
from structrl_ros.training.grm_vlm_settings import VlmGrmSettings
from structrl_ros.training.metrics_log import Metrics
from structrl_ros.training.trainer_state import TrainerState


class VlmGrmTrainer(CurriculumTrainer):
    """Updates of one run of adapters."""

    network: VlmGrmNetwork

    def __init__(
        self,
        settings: VlmGrmSettings,
        tables: Mapping[str, PairSource],
        run: VlmGrmRun | None = None,
        report: Report | None = None,
    ) -> None:
        """Load the base with fresh adapters, or take up the checkpoint of the run.

        Args:
            settings: See `VlmGrmSettings`.
            tables: Pairs by what they are for: 'training', 'validation' (may be missing: the
                last update is the best then) and 'test' (may be missing).
            run: Where it is kept, None: nowhere.
            report: Is called at each line of the log.

        Raises:
            ParameterError: If the settings or a pool of pairs do not allow it.
            CheckpointError: If the base cannot be had, or the checkpoint is of another one.
        """
        super().__init__(settings, tables['training'].pairs, run, report)
        self.settings, self.tables, self._run = settings, tables, run
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(settings.seed)
            self.network = VlmGrmNetwork(
                settings.vlm_config(), device=settings.device, dtype=settings.dtype
            )
        if settings.gradient_checkpointing:
            self.network.save_memory()
        self._best = self._copy()
        self._optimiser = torch.optim.AdamW(self._groups(), weight_decay=settings.weight_decay)
        if run is not None and run.has_checkpoint:
            self._restore(run.load_state())

    def _update(self) -> float:
        """Do one gradient step in parts of `rows` pairs, and return the mean loss of its pairs."""
        settings, chosen = self.settings, self._chosen()
        share = self._rate_share()
        for group in self._optimiser.param_groups:
            group['lr'] = group['peak'] * share
        self._optimiser.zero_grad()
        total = 0.0
        for start in range(0, len(chosen), settings.rows):
            part = chosen[start : start + settings.rows]
            loss, scale = self._loss(part)
            if not bool(torch.isfinite(loss)):
                raise TrainingError(f'after update {self._done}: the loss is not finite')
            weight = len(part) / len(chosen)
            (loss * scale * weight).backward()
            total += weight * float(loss.detach())
        parameters = [p for group in self._optimiser.param_groups for p in group['params']]
        step_down(self._optimiser, parameters, clip=settings.gradient_clip, what='GRM')
        return total

    def _loss(self, chosen: np.ndarray) -> tuple[Tensor, float]:
        """Return the loss of some pairs, Eq. 10 or cross-entropy, and its scale for AdamW."""
        table = self.tables['training']
        labels = table.labels[chosen]
        if self.settings.answer == 'text':
            said = [write_score(float(label) / LABEL_SCALE) for label in labels]
            return self.network.text_loss(self._inputs(chosen, said)), 1.0
        truth = torch.from_numpy(labels).float().to(self.network.device)
        # Labels of 100 x hop make gradients of thousands; the scale leaves AdamW's steps alone.
        return mse_loss(self.network(self._inputs(chosen, None)), truth), 1e-4

    def _inputs(self, chosen: np.ndarray, said: list[str] | None) -> VlmInput:
        network = self.network
        queries, instructions = self.tables['training'].batch(chosen.tolist())
        rng = np.random.default_rng([self.settings.seed, 2, self._done, *chosen[:1].tolist()])
        queries = leave_out(queries, rng, self.settings.drop_wrists, self.settings.drop_panels)
        return make_vlm_input(network.config, network.processor, queries, instructions, said).to(
            network.device
        )

    def _groups(self) -> list[dict[str, object]]:
        named = [(n, p) for n, p in self.network.named_parameters() if p.requires_grad]
        if not named:
            raise ParameterError('nothing to train; allowed: lora_targets that are there')
        head = [p for n, p in named if n.startswith('head.')]
        adapters = [p for n, p in named if not n.startswith('head.')]
        groups: list[dict[str, object]] = [
            {'params': adapters, 'peak': self.settings.learning_rate}
        ]
        if head:
            groups.append({'params': head, 'peak': self.settings.head_learning_rate})
        return groups

    def _measure(self) -> Metrics:
        metrics: Metrics = {}
        mse = None
        if 'validation' in self.tables:
            scores, unread = score_answered(
                self.network, self.tables['validation'], self.settings.rows
            )
            metrics |= score_metrics('validation', scores)
            metrics['validation/unread'] = unread
            mse = scores['all'].mse if scores else math.inf
        if self._is_best(mse):
            self._best = self._copy()
        if self._done == self.settings.updates and 'test' in self.tables:
            newest = self._copy()
            self.network.fill_trained(self._best)
            self.scores, unread = score_answered(
                self.network, self.tables['test'], self.settings.rows
            )
            self.network.fill_trained(newest)
            metrics |= score_metrics('test', self.scores)
            metrics['test/unread'] = unread
        return metrics

    def _copy(self) -> dict[str, Tensor]:
        return {name: tensor.clone() for name, tensor in self.network.trained_tensors().items()}

    def _save(self) -> None:
        if self._run is None:
            return
        state = TrainerState()
        state.tensors |= {f'network/{k}': t for k, t in self.network.trained_tensors().items()}
        state.tensors |= {f'best/{k}': t for k, t in self._best.items()}
        state.put_optimiser('optimiser', self._optimiser)
        state.numbers |= {
            'update': self._done,
            'best_update': self._best_update,
            'best_mse': None if math.isinf(self._best_mse) else self._best_mse,
            'base_fingerprint': self.network.fingerprint,
        }
        told = f'Update {self._best_update} of {self.settings.updates} updates.'
        if self._best_update == self._done or self.scores:
            newest = self._copy()
            self.network.fill_trained(self._best)
            self._run.save_best(self.network, told, self.scores or None)
            self.network.fill_trained(newest)
        self._run.save(state)

    def _restore(self, state: TrainerState) -> None:
        self._run_fits(state)
        parts: dict[str, dict[str, Tensor]] = {'network': {}, 'best': {}}
        for key, tensor in state.tensors.items():
            name, _, rest = key.partition('/')
            if name in parts:
                parts[name][rest] = tensor.to(self.network.device)
        self.network.fill_trained(parts['best'])
        self._best = self._copy()
        self.network.fill_trained(parts['network'])
        state.get_optimiser('optimiser', self._optimiser)
        self._done = int(state.numbers['update'])
        self._best_update = int(state.numbers['best_update'])
        best = state.numbers['best_mse']
        self._best_mse = math.inf if best is None else float(best)

    def _run_fits(self, state: TrainerState) -> None:
        kept = state.numbers.get('base_fingerprint')
        if kept != self.network.fingerprint:
            raise ParameterError(
                f'{self.settings.base} has fingerprint {self.network.fingerprint[:12]}; allowed: '
                f'{str(kept)[:12]}, the base that the run began with'
            )
