"""The loop that trainers of a GRM share: two stages of pairs, measured and kept now and then.

What is drawn depends on the seed and the number of the update alone, so a run that was killed
goes on from its checkpoint to the numbers of one that never stopped (Robo-Dopamine 2.0, Eq. 9 to
11).
"""

from __future__ import annotations

import math
from abc import ABC
from abc import abstractmethod
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from torch import nn

from structrl_ros.progress.context import Query
from structrl_ros.progress.curriculum import Indices
from structrl_ros.progress.curriculum import split_pools
from structrl_ros.progress.curriculum import stages
from structrl_ros.progress.pairs import Pair
from structrl_ros.training.cpu_watch import CpuWatch
from structrl_ros.training.grm_measurement import FamilyScore
from structrl_ros.training.grm_run import PairRun
from structrl_ros.training.grm_settings import CurriculumSettings
from structrl_ros.training.metrics_log import Metrics
from structrl_ros.types import Float64

Report = Callable[[int, Mapping[str, float | None]], None]


class PairSource(Protocol):
    """Pairs as queries with labels; `grm_pairs.PairTable` is one."""

    pairs: list[Pair]
    labels: Float64

    def __len__(self) -> int:
        """Return the number of pairs."""

    def batch(self, indices: Sequence[int]) -> tuple[list[Query], list[str]]:
        """Return the queries and instructions of some pairs."""


class CurriculumTrainer(ABC):
    """Updates of one run; `run` does those that are not done yet.

    Attributes:
        network: What learns.
        metrics: A row a checkpoint of this process.
        scores: Of the best weights on test pairs, once the run has ended.
    """

    network: nn.Module

    def __init__(
        self,
        settings: CurriculumSettings,
        pairs: Sequence[Pair],
        run: PairRun | None,
        report: Report | None,
    ) -> None:
        """Draw the order of the training pairs.

        Raises:
            ParameterError: If a pool of pairs does not allow it.
        """
        self.metrics = list[Metrics]()
        self.scores: dict[str, FamilyScore] = {}
        self._schedule, self._log_to, self._report = settings, run, report
        rng = np.random.default_rng([settings.seed, 1])
        self._stages = stages(
            settings.control,
            split_pools(pairs),
            settings.stage_samples,
            rng,
            settings.replay_share,
        )
        self._done, self._best_update, self._best_mse = 0, 0, math.inf

    def run(self) -> None:
        """Train to the end, and measure the best weights on the test pairs.

        Raises:
            TrainingError: If a loss or gradient is not finite.
            CheckpointError: If a checkpoint cannot be saved; the old one stays.
        """
        log = None if self._log_to is None else self._log_to.open_log(self._done)
        try:
            while self._done < self._schedule.updates:
                metrics = self._advance()
                self.metrics.append(metrics)
                if log is not None:
                    log.write(self._done, metrics)
                self._save()
                if self._report is not None:
                    self._report(self._done, metrics)
        finally:
            if log is not None:
                log.close()

    @abstractmethod
    def _update(self) -> float:
        """Do one gradient step over `_chosen` and return its mean loss."""

    @abstractmethod
    def _measure(self) -> Metrics:
        """Measure the newest weights, keep them if they are the best, and the best at the end."""

    @abstractmethod
    def _save(self) -> None:
        """Keep a checkpoint, if the run is kept."""

    def _chosen(self) -> Indices:
        """Return the pairs of the next update."""
        settings = self._schedule
        stage, number = divmod(self._done, settings.stage_updates)
        return self._stages[stage][number * settings.batch : (number + 1) * settings.batch]

    def _rate_share(self) -> float:
        """Return the share of its peak of the next update's rate: a line up, a cosine down."""
        settings = self._schedule
        warmup = settings.warmup_share * settings.updates
        if self._done < warmup:
            return (self._done + 1) / (warmup + 1)
        share = (self._done - warmup) / max(settings.updates - warmup, 1.0)
        return 0.5 * (1.0 + math.cos(math.pi * share))

    def _is_best(self, mse: float | None) -> bool:
        """Return whether the newest weights are the best; without a measure, the later ones."""
        found = -float(self._done) if mse is None else mse
        if found < self._best_mse or not self._best_update:
            self._best_update, self._best_mse = self._done, found
            return True
        return False

    def _advance(self) -> Metrics:
        """Run the updates up to the next checkpoint, and measure."""
        settings, watch = self._schedule, CpuWatch()
        every, updates = settings.checkpoint_every, settings.updates
        count = min(every - self._done % every, updates - self._done)
        losses = []
        self.network.train()
        with watch.part('update'):
            for _ in range(count):
                losses.append(self._update())
                self._done += 1
        metrics: Metrics = {
            'grm/loss': math.fsum(losses) / count,
            'grm/stage': float(1 + (self._done > settings.stage_updates)),
        }
        with watch.part('measurement'):
            metrics |= self._measure()
        return metrics | watch.seconds()
