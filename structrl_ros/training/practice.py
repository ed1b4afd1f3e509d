"""The loop that PPO and GRPO share: collect, pay, learn, tell, save; and go on after a stop.

An iteration is a function of the policy, the learner's state, the settings and its number. So a
run that was killed continues from its checkpoint to the same numbers, and an iteration whose
worlds died is simply collected again.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import replace
from typing import Protocol

from structrl_ros.errors import PolicyError
from structrl_ros.errors import TrainingError
from structrl_ros.models.policies.base import ChunkPolicy
from structrl_ros.training.card import TaskRates
from structrl_ros.training.card import policy_card
from structrl_ros.training.collector import Collector
from structrl_ros.training.collector import MakeWorld
from structrl_ros.training.cpu_watch import CpuWatch
from structrl_ros.training.evaluate import Evaluation
from structrl_ros.training.evaluate import evaluate_in
from structrl_ros.training.metrics_log import Metrics
from structrl_ros.training.metrics_log import MetricsLog
from structrl_ros.training.reward_source import RewardSource
from structrl_ros.training.rollout_metrics import evaluation_metrics
from structrl_ros.training.rollout_metrics import rollout_metrics
from structrl_ros.training.rollouts import Rollouts
from structrl_ros.training.rollouts import join
from structrl_ros.training.run_directory import RunDirectory
from structrl_ros.training.settings import PracticeSettings
from structrl_ros.training.starts import practice_starts
from structrl_ros.training.traces import TRACES
from structrl_ros.training.traces import check_traceable
from structrl_ros.training.traces import write_trace
from structrl_ros.training.trainer_state import TrainerState
from structrl_ros.types import Float64

#: Added to the number of an iteration for each round of groups that are played again.
ROUND = 2**20

#: Is told the number of iterations done, and the metrics of the last.
Report = Callable[[int, Mapping[str, float | None]], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Practice:
    """What a trainer works with.

    Attributes:
        make_world: Makes the worlds; called again if they die.
        reward_source: What chunks earn.
        run: Where the run is kept, None: nowhere. One with a checkpoint is continued: `policy` is
            then that of the checkpoint.
        report: Is called after each iteration.
        title: What is trained, for the card: 'ppo on twin, structured reward'.
        traces: Whether the run keeps what each chunk earned, for `structrl score`.
    """

    make_world: MakeWorld
    reward_source: RewardSource
    run: RunDirectory | None = None
    report: Report | None = None
    title: str = ''
    traces: bool = False


@dataclass(frozen=True, slots=True)
class TrainingResult:
    """What a trainer returns: the policy (the one it was given), and a row an iteration.

    `evaluation` is the last one, None if the settings ask for none.
    """

    policy: ChunkPolicy
    metrics: tuple[Metrics, ...]
    evaluation: Evaluation | None


class Learner(Protocol):
    """What PPO and GRPO differ in."""

    @property
    def group_size(self) -> int:
        """Episodes that share one start."""

    def missing_groups(self, rollouts: Rollouts, rounds: int) -> int:
        """Return how many groups to play besides these, after some rounds of it; 0: none."""

    def learn(self, rollouts: Rollouts, rewards: Float64, iteration: int) -> Metrics:
        """Move the policy by one iteration."""

    def state(self) -> TrainerState:
        """Return all that the next iteration depends on, besides the policy."""

    def restore(self, state: TrainerState) -> None:
        """Go back to a state."""


def practise(
    policy: ChunkPolicy, settings: PracticeSettings, practice: Practice, learner: Learner
) -> TrainingResult:
    """Run the iterations of the settings that are not done yet.

    Raises:
        TrainingError: If a number is not finite, or the worlds fail twice in one iteration.
        CheckpointError: If a checkpoint cannot be saved or read; the old one stays.
    """
    policy.eval()
    state = _saved_state(practice.run)
    done = 0
    if state is not None:
        learner.restore(state)
        done = int(state.numbers['iteration'])
    collector = Collector(practice.make_world, policy, batch=settings.inference_batch)
    log = None
    if practice.run is not None:
        log = MetricsLog(practice.run.path, 'iteration', after=done or None)
    loop = _Loop(policy, settings, practice, learner, collector, log)
    if state is not None:
        loop.measured = dict(state.numbers['measured'])
    try:
        if done == 0:
            loop.begin()
        for iteration in range(done, settings.iterations):
            loop.run(iteration)
    finally:
        collector.close()
        if log is not None:
            log.close()
    return TrainingResult(policy, tuple(loop.metrics), loop.evaluation)


class _Loop:
    """What an iteration needs."""

    def __init__(
        self,
        policy: ChunkPolicy,
        settings: PracticeSettings,
        practice: Practice,
        learner: Learner,
        collector: Collector,
        log: MetricsLog | None,
    ) -> None:
        self.metrics: list[Metrics] = []
        self.evaluation: Evaluation | None = None
        self.measured: dict[str, TaskRates] = {}
        self._policy = policy
        self._settings = settings
        self._practice = practice
        self._learner = learner
        self._collector = collector
        self._log = log

    def begin(self) -> None:
        """Measure the start, if evaluations are asked for."""
        if self._settings.evaluate_every > 0:
            watch = CpuWatch()
            with watch.part('evaluation'):
                metrics = self._evaluate('before practice')
            self._tell(0, {**metrics, **watch.seconds()})

    def run(self, iteration: int) -> None:
        """Run one iteration to its end: collect, pay, learn, evaluate, tell, save."""
        watch = CpuWatch()
        try:
            metrics = self._learn(iteration, watch)
        except (PolicyError, TrainingError) as error:
            raise TrainingError(f'iteration {iteration}: {error}') from None
        done = iteration + 1
        if self._is_due(done, self._settings.evaluate_every):
            with watch.part('evaluation'):
                metrics |= self._evaluate('after practice')
        self._tell(done, {**metrics, **watch.seconds()})
        if self._practice.run is not None and self._is_due(done, self._settings.checkpoint_every):
            self._save(self._practice.run, done)

    def _tell(self, done: int, metrics: Metrics) -> None:
        self.metrics.append(metrics)
        if self._log is not None:
            self._log.write(done, metrics)
        if self._practice.report is not None:
            self._practice.report(done, metrics)

    def _learn(self, iteration: int, watch: CpuWatch) -> Metrics:
        settings, roles = self._settings, self._policy.config.roles
        rollouts, rounds = self._collect(settings.episodes, iteration), 0
        while missing := self._learner.missing_groups(rollouts, rounds):
            rounds += 1
            again = missing * self._learner.group_size
            rollouts = join([rollouts, self._collect(again, iteration + rounds * ROUND)])
        watch.add('physics', rollouts.cpu.physics)
        watch.add('network', rollouts.cpu.network)
        watch.add('rollout_other', rollouts.cpu.other)
        with watch.part('reward'):
            paid = self._practice.reward_source(rollouts)
            metrics = rollout_metrics(rollouts, paid)
        rollouts = replace(rollouts, images={role: rollouts.images[role] for role in roles})
        self._trace(iteration, rollouts)
        with watch.part('update'):
            metrics |= self._learner.learn(rollouts, paid.rewards, iteration)
        return {'episodes': float(settings.episodes * (iteration + 1)), **metrics}

    def _collect(self, episodes: int, iteration: int) -> Rollouts:
        settings, roles = self._settings, self._policy.config.roles
        starts = practice_starts(
            settings.tasks,
            episodes,
            seed=settings.seed,
            iteration=iteration,
            initial_states=settings.initial_states,
            group_size=self._learner.group_size,
        )
        return self._collector.collect(
            starts,
            seed=settings.seed,
            iteration=iteration,
            explore=True,
            kept_roles=tuple(dict.fromkeys((*roles, *self._practice.reward_source.roles))),
        )

    def _trace(self, iteration: int, rollouts: Rollouts) -> None:
        run, source = self._practice.run, self._practice.reward_source
        if self._practice.traces and run is not None:
            write_trace(run.path / TRACES, iteration, rollouts, check_traceable(source))

    def _evaluate(self, label: str) -> Metrics:
        settings = self._settings
        self.evaluation = evaluate_in(
            self._collector,
            settings.tasks,
            episodes=settings.evaluation_episodes,
            seed=settings.seed,
            initial_states=settings.initial_states,
        )
        self.measured[label] = self.evaluation.rates
        return evaluation_metrics(self.evaluation)

    def _save(self, run: RunDirectory, done: int) -> None:
        state = self._learner.state()
        state.numbers |= {'iteration': done, 'measured': self.measured}
        settings = self._settings
        progress = (
            f'{done} of {settings.iterations} iterations, {done * settings.episodes} episodes.'
        )
        title, measured = self._practice.title, self.measured
        card = policy_card(title, settings, progress=progress, measured=measured)
        run.save(self._policy, state, card)

    def _is_due(self, done: int, every: int) -> bool:
        return every > 0 and (done % every == 0 or done == self._settings.iterations)


def _saved_state(run: RunDirectory | None) -> TrainerState | None:
    return run.load_state() if run is not None and run.has_checkpoint else None
