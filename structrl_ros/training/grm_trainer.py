"""Training of the small GRM: the Signed-Hop Curriculum (Robo-Dopamine 2.0, Eq. 9 to 11)."""

from __future__ import annotations

import copy
from collections.abc import Mapping

import numpy as np
import torch
from torch.nn.functional import mse_loss

from structrl_ros.errors import ParameterError
from structrl_ros.errors import TrainingError
from structrl_ros.models.grm.distinct import make_distinct
from structrl_ros.models.grm.network import GrmNetwork
from structrl_ros.training.descent import descend
from structrl_ros.training.grm_augmentation import augment
from structrl_ros.training.grm_augmentation import leave_out
from structrl_ros.training.grm_curriculum import CurriculumTrainer
from structrl_ros.training.grm_curriculum import Report
from structrl_ros.training.grm_measurement import answer_pairs
from structrl_ros.training.grm_measurement import score_metrics
from structrl_ros.training.grm_measurement import score_pairs
from structrl_ros.training.grm_pairs import PairTable
from structrl_ros.training.grm_run import GrmRun
from structrl_ros.training.grm_settings import GrmSettings
from structrl_ros.training.metrics_log import Metrics
from structrl_ros.training.trainer_state import TrainerState


def fresh_network(settings: GrmSettings) -> GrmNetwork:
    """Return a network with drawn weights on the device of the settings.

    Raises:
        ParameterError: If torch knows no such device, or it is not here.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        network = GrmNetwork(settings.grm_config())
    try:
        return network.to(settings.device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise ParameterError(f'device {settings.device!r}: {reason}') from None


class GrmTrainer(CurriculumTrainer):
    """Updates of one run of the small GRM."""

    network: GrmNetwork

    def __init__(
        self,
        settings: GrmSettings,
        tables: Mapping[str, PairTable],
        run: GrmRun | None = None,
        report: Report | None = None,
    ) -> None:
        """Make the network, or take up the checkpoint of the run.

        Args:
            settings: See `GrmSettings`.
            tables: Pairs by what they are for: 'training', 'validation' (may be missing: the
                last update is the best then) and 'test'.
            run: Where it is kept, None: nowhere.
            report: Is called at each line of the log.

        Raises:
            ParameterError: If the architecture or a pool of pairs does not allow it.
            CheckpointError: If the checkpoint is of another architecture.
        """
        super().__init__(settings, tables['training'].pairs, run, report)
        self.settings, self.tables = settings, tables
        self._run = run
        self.network = fresh_network(settings)
        self.best = copy.deepcopy(self.network)
        self._optimiser = torch.optim.AdamW(
            self.network.parameters(), settings.learning_rate, weight_decay=settings.weight_decay
        )
        if run is not None and run.has_checkpoint:
            self._restore(run.load_state())

    def _update(self) -> float:
        settings, table, chosen = self.settings, self.tables['training'], self._chosen()
        inputs = make_distinct(self.network.config, *table.batch(chosen.tolist()))
        rng = np.random.default_rng([settings.seed, 2, self._done])
        inputs = augment(inputs, rng, shift_px=settings.shift_px, brightness=settings.brightness)
        inputs = leave_out(
            inputs, rng, wrists=settings.drop_wrists, panels=settings.drop_panels
        ).to(settings.device)
        truth = torch.from_numpy(table.labels[chosen]).float().to(settings.device)
        for group in self._optimiser.param_groups:
            group['lr'] = settings.learning_rate * self._rate_share()
        kind = torch.device(settings.device).type
        is_low = settings.precision == 'bfloat16' or (settings.precision, kind) == ('auto', 'cuda')
        with torch.autocast(kind, torch.bfloat16, enabled=is_low):
            answers = self.network.answer_distinct(inputs)
        loss = mse_loss(answers, truth)
        if not bool(torch.isfinite(loss)):
            raise TrainingError(f'after update {self._done}: the loss is not finite')
        # Labels of 100 x hop make gradients of thousands; the scale leaves AdamW's steps alone.
        descend(
            self._optimiser,
            list(self.network.parameters()),
            loss / 1e4,
            clip=settings.gradient_clip,
            what='GRM',
        )
        return float(loss.detach())

    def _measure(self) -> Metrics:
        metrics: Metrics = {}
        validation, mse = self.tables.get('validation'), None
        if validation is not None:
            scores = score_pairs(answer_pairs(self.network, validation), validation)
            metrics |= score_metrics('validation', scores)
            mse = scores['all'].mse
        if self._is_best(mse):
            self.best.load_state_dict(self.network.state_dict())
        if self._done == self.settings.updates:
            test = self.tables['test']
            self.scores = score_pairs(answer_pairs(self.best, test), test)
            metrics |= score_metrics('test', self.scores)
        return metrics

    def _save(self) -> None:
        if self._run is None:
            return
        state = TrainerState()
        state.put_module('network', self.network)
        state.put_module('best', self.best)
        state.put_optimiser('optimiser', self._optimiser)
        state.numbers |= {
            'update': self._done,
            'best_update': self._best_update,
            'best_mse': self._best_mse,
        }
        scores = self.scores or None
        told = f'of {self.settings.updates} updates'
        if self._best_update == self._done or scores is not None:
            self._run.save_best(self.best, f'Update {self._best_update} {told}.', scores)
        self._run.save(self.network, state, f'Update {self._done} {told}.')

    def _restore(self, state: TrainerState) -> None:
        state.get_module('network', self.network)
        state.get_module('best', self.best)
        state.get_optimiser('optimiser', self._optimiser)
        self._done = int(state.numbers['update'])
        self._best_update = int(state.numbers['best_update'])
        self._best_mse = float(state.numbers['best_mse'])
