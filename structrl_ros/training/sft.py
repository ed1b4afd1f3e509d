"""Imitation of demonstrations, with an average of the weights and DAgger rounds: `train_sft`.

Round 0 imitates episodes of the expert, some of them perturbed (DART: the arm is pushed off its
way, the label is what the expert would do there). A DAgger round lets the policy and the expert
take turns, labels every step by the expert, and trains once more on all of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch

from structrl_ros.errors import ParameterError
from structrl_ros.errors import PolicyError
from structrl_ros.errors import TrainingError
from structrl_ros.models.policies.action_map import ActionMap
from structrl_ros.models.policies.action_map import action_map
from structrl_ros.models.policies.base import ChunkPolicy
from structrl_ros.training.card import TaskRates
from structrl_ros.training.card import policy_card
from structrl_ros.training.cpu_watch import CpuWatch
from structrl_ros.training.demonstrations import Demonstrations
from structrl_ros.training.demonstrations import join_demonstrations
from structrl_ros.training.demonstrations import load_demonstrations
from structrl_ros.training.demonstrations import save_demonstrations
from structrl_ros.training.evaluate import Evaluation
from structrl_ros.training.imitation import Imitator
from structrl_ros.training.imitation import Windows
from structrl_ros.training.metrics_log import Metrics
from structrl_ros.training.metrics_log import MetricsLog
from structrl_ros.training.practice import Report
from structrl_ros.training.rollout_metrics import evaluation_metrics
from structrl_ros.training.run_directory import RunDirectory
from structrl_ros.training.settings import SftSettings


class Demonstrator(Protocol):
    """A body's scripted expert; both calls give the same for the same arguments."""

    def demonstrate(
        self,
        episodes: int,
        action_map: ActionMap,
        *,
        seed: int,
        perturbed: float,
        deviation: float,
    ) -> Demonstrations:
        """Return successful episodes of the expert, at most `episodes`.

        Args:
            episodes: How many to play.
            action_map: Space in which actions are perturbed.
            seed: Of the scenes and of what perturbs.
            perturbed: Share of episodes in which half of the steps are perturbed.
            deviation: Standard deviation of the perturbation.
        """

    def interleave(self, policy: ChunkPolicy, episodes: int, *, seed: int) -> Demonstrations:
        """Return episodes in which policy and expert take turns; success is not asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Imitation:
    """What `train_sft` works with.

    Attributes:
        demonstrator: Makes the demonstrations that `demonstrations` does not hold.
        demonstrations: Those of round 0, if there are some already.
        run: Where the run is kept, None: nowhere. One with a checkpoint is continued: `policy` is
            then that of the checkpoint.
        report: Is called at each line of the log.
        evaluate: Measures the policy at the end, for the log and the card.
        title: What is trained, for the card.
    """

    demonstrator: Demonstrator | None = None
    demonstrations: Demonstrations | None = None
    run: RunDirectory | None = None
    report: Report | None = None
    evaluate: Callable[[ChunkPolicy], Evaluation] | None = None
    title: str = ''


def train_sft(
    policy: ChunkPolicy, settings: SftSettings, imitation: Imitation
) -> tuple[ChunkPolicy, tuple[Metrics, ...]]:
    """Train a policy to imitate, in place; at the end it has the averaged weights.

    Args:
        policy: Fresh, or one to train on. Its normaliser is fitted to the demonstrations of
            round 0.
        settings: See `SftSettings`.
        imitation: Demonstrations, and where the run is kept.

    Returns:
        The policy, and the numbers of each line of the log.

    Raises:
        ParameterError: If there are no demonstrations, and nobody to make some.
        TrainingError: If a loss or gradient is not finite.
        CheckpointError: If a checkpoint cannot be saved or read; the old one stays.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        loop = _Loop(policy, settings, imitation)
        try:
            loop.run()
        finally:
            loop.close()
    return policy, tuple(loop.metrics)


class _Loop:
    """Rounds, and updates within them."""

    def __init__(self, policy: ChunkPolicy, settings: SftSettings, imitation: Imitation) -> None:
        self.metrics: list[Metrics] = []
        self._policy = policy
        self._settings = settings
        self._imitation = imitation
        self._imitator = Imitator(policy, settings)
        self._watch = CpuWatch()
        self._done = 0
        self._updates = settings.updates * (settings.dagger_rounds + 1)
        self._measured: dict[str, TaskRates] = {}
        run = imitation.run
        if run is not None and run.has_checkpoint:
            state = run.load_state()
            self._done = int(state.numbers['update'])
            self._imitator.restore(state)
        self._log = None
        if run is not None:
            self._log = MetricsLog(run.path, 'update', after=self._done or None)

    def run(self) -> None:
        """Run the updates that are not done yet."""
        updates = self._settings.updates
        parts: list[Demonstrations] = []
        for number in range(self._settings.dagger_rounds + 1):
            with self._watch.part('demonstrations'):
                parts.append(self._demonstrations(number))
            if self._done >= (number + 1) * updates:
                continue
            every = join_demonstrations(parts)
            if self._done == 0:
                self._policy.fit_normalisers(every.features, every.actions)
                self._imitator.begin()
            elif self._done == number * updates:
                self._imitator.begin()
            self._train(Windows(every, self._policy), (number + 1) * updates)
        self._imitator.finish()

    def close(self) -> None:
        """Close the log."""
        if self._log is not None:
            self._log.close()

    def _train(self, windows: Windows, end: int) -> None:
        every = self._settings.checkpoint_every
        while self._done < end:
            count = min(every - self._done % every, end - self._done)
            with self._watch.part('update'):
                try:
                    loss = self._imitator.improve(windows, count)
                except (PolicyError, TrainingError) as error:
                    raise TrainingError(f'after update {self._done}: {error}') from None
            self._done += count
            metrics: Metrics = {'sft/loss': loss, 'sft/windows': float(len(windows))}
            if self._done == self._updates and self._imitation.evaluate is not None:
                with self._watch.part('evaluation'):
                    found = self._imitation.evaluate(self._imitator.averaged)
                self._measured['after imitation'] = found.rates
                metrics |= evaluation_metrics(found)
            self.metrics.append({**metrics, **self._watch.seconds()})
            self._watch = CpuWatch()
            if self._log is not None:
                self._log.write(self._done, self.metrics[-1])
            self._save()
            if self._imitation.report is not None:
                self._imitation.report(self._done, self.metrics[-1])

    def _demonstrations(self, number: int) -> Demonstrations:
        """Return those of a round, from the run directory if they were made before."""
        run = self._imitation.run
        path = None if run is None else run.path / 'demonstrations' / f'{number}.safetensors'
        if path is not None and path.is_file():
            return load_demonstrations(path)
        made = self._make(number)
        if path is not None:
            save_demonstrations(path, made)
        return made

    def _make(self, number: int) -> Demonstrations:
        settings, given = self._settings, self._imitation
        if number == 0 and given.demonstrations is not None:
            return given.demonstrations
        if given.demonstrator is None:
            raise ParameterError(f'round {number}: there are no demonstrations, and no expert')
        seed = settings.seed + number
        if number == 0:
            return given.demonstrator.demonstrate(
                settings.demonstrations,
                action_map(self._policy.config.action_map),
                seed=seed,
                perturbed=settings.perturbed,
                deviation=settings.perturbation,
            )
        policy = self._imitator.averaged
        return given.demonstrator.interleave(policy, settings.dagger_episodes, seed=seed)

    def _save(self) -> None:
        run = self._imitation.run
        if run is None:
            return
        state = self._imitator.state()
        state.numbers['update'] = self._done
        progress = f'{self._done} of {self._updates} updates.'
        card = policy_card(
            self._imitation.title, self._settings, progress=progress, measured=self._measured
        )
        run.save(self._imitator.averaged, state, card)
