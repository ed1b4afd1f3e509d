"""What the chunks of rollouts earn: one callable a way to pay, each over the pure functions.

    source = StructuredRewards(decompositions, REWARDS['structured'])
    paid = source(rollouts)

The numbers are those that tracker_node pays live and `structrl score` computes from the trace
(`traces.trace_document`), to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from structrl_ros.errors import ParameterError
from structrl_ros.rewards.robometer import robometer_rewards
from structrl_ros.rewards.structured_batch import structured_rewards
from structrl_ros.subtasks.decomposition import Decomposition
from structrl_ros.subtasks.decomposition import reward_rule
from structrl_ros.training.reward_configurations import RewardConfiguration
from structrl_ros.training.rollouts import Rollouts
from structrl_ros.types import SUCCESS_TERM
from structrl_ros.types import Float64
from structrl_ros.types import RewardRule
from structrl_ros.types import TaskInfo
from structrl_ros.world_types import Bool

#: Progress p_k at the end of each chunk, shape (E, M); what a reward model would predict.
ProgressFunction = Callable[[Rollouts], Float64]


@dataclass(frozen=True, slots=True)
class PaidRollouts:
    """What E episodes of up to M chunks earned; zero where no chunk was played.

    Attributes:
        rewards: Of each chunk, shape (E, M).
        payments: Of each name of `names` in each chunk, shape (E, M, N), zero beyond them.
        names: What is paid in each episode, in the order of payment, length E.
        terminal: lambda_c in the chunk of the first success, shape (E, M).
    """

    rewards: Float64
    payments: Float64
    names: tuple[tuple[str, ...], ...]
    terminal: Float64

    def terms(self, episodes: Bool | None = None) -> dict[str, Float64]:
        """Return for each name, and for success, what each episode earned by it, shape (E,).

        Args:
            episodes: Episodes to look at, shape (E,); None for all.
        """
        rows = np.arange(len(self.names)) if episodes is None else np.flatnonzero(episodes)
        sums = self.payments.sum(axis=1)
        found: dict[str, Float64] = {}
        for place, row in enumerate(rows):
            for column, name in enumerate(self.names[row]):
                found.setdefault(name, np.zeros(len(rows)))[place] = sums[row, column]
        return {**found, SUCCESS_TERM: self.terminal[rows].sum(axis=1)}


class RewardSource(Protocol):
    """Pays the chunks of rollouts.

    Attributes:
        roles: Cameras whose pictures at the ends of chunks it looks at.
    """

    @property
    def roles(self) -> tuple[str, ...]:
        """See above."""

    def __call__(self, rollouts: Rollouts) -> PaidRollouts:
        """Return what each chunk earned.

        Raises:
            ParameterError: If a task cannot be paid in this way.
        """

    def checkpoints(self, task: str) -> tuple[str, ...]:
        """Return the names that a world must be asked to publish for a task, beside its own."""


class StructuredRewards:
    """StructRL's reward by static decompositions (Eq. 3 and 4), with the options of a rule."""

    roles: tuple[str, ...] = ()

    def __init__(
        self, decompositions: Mapping[str, Decomposition], configuration: RewardConfiguration
    ) -> None:
        """Take the decomposition of each task, by `TaskInfo.task`.

        Raises:
            ParameterError: If the configuration is not one of a structured reward.
        """
        if configuration.kind == 'robometer':
            raise ParameterError(f'reward {configuration.name!r} needs a model of progress')
        self._decompositions = dict(decompositions)
        self._configuration = configuration
        self._rules: dict[tuple[TaskInfo, int], RewardRule] = {}

    def __call__(self, rollouts: Rollouts) -> PaidRollouts:
        """Return what each chunk earned."""
        rules = self.rules(rollouts)
        names = tuple(tuple(n for stage in rule.stages for n in stage) for rule in rules)
        truth = _in_order(rollouts, names)
        success = success_chunks(rollouts)
        by_chunk = np.ascontiguousarray(truth.transpose(1, 0, 2))
        rewards, payments = structured_rewards(rules, by_chunk, success.T)
        lambda_c = np.array([rule.lambda_c for rule in rules])
        return PaidRollouts(
            rewards=np.ascontiguousarray(rewards.T),
            payments=np.ascontiguousarray(payments.transpose(1, 0, 2)),
            names=names,
            terminal=np.where(success, lambda_c[:, None], 0.0),
        )

    def rules(self, rollouts: Rollouts) -> tuple[RewardRule, ...]:
        """Return what is paid in each episode, length E."""
        length = rollouts.executed.shape[2]
        return tuple(self._rule(info, length) for info in rollouts.tasks)

    def checkpoints(self, task: str) -> tuple[str, ...]:
        """Return the names of the density ladder, if it is what is paid; else nothing."""
        if self._configuration.kind != 'structured':
            return ()
        own = self._find(task)
        return own.names if own.provenance.source == 'density ladder' else ()

    def _rule(self, info: TaskInfo, chunk_length: int) -> RewardRule:
        key = (info, chunk_length)
        if key not in self._rules:
            self._rules[key] = self._make_rule(info, chunk_length)
        return self._rules[key]

    def _make_rule(self, info: TaskInfo, chunk_length: int) -> RewardRule:
        own = self._configuration
        if own.kind == 'terminal':
            return RewardRule(stages=(), lambda_c=own.lambda_c)
        return reward_rule(
            self._find(info.task),
            info.predicate_names,
            chunk_length=chunk_length,
            horizon_steps=info.horizon_steps,
            beta=own.beta,
            lambda_c=own.lambda_c,
            gating=own.gating,
            pacing=own.pacing,
            cap=own.cap,
        )

    def _find(self, task: str) -> Decomposition:
        found = self._decompositions.get(task)
        if found is None:
            known = ', '.join(sorted(self._decompositions)) or 'none'
            raise ParameterError(f'no decomposition of task {task!r}; known: {known}')
        return found


class RobometerRewards:
    """Rewards of a learned progress model (StructRL Eq. 5, Appendix F)."""

    roles: tuple[str, ...] = ()

    def __init__(
        self, progress: ProgressFunction, *, beta_r: float, lambda_c: float = 2.0
    ) -> None:
        """Take the model and its scale, see `match_beta_r`."""
        self._progress = progress
        self._beta_r = beta_r
        self._lambda_c = lambda_c

    def __call__(self, rollouts: Rollouts) -> PaidRollouts:
        """Return what each chunk earned; the one payment beside success is called 'progress'."""
        progress = self._progress(rollouts)
        success = success_chunks(rollouts)
        rewards = np.zeros(rollouts.valid.shape)
        for episode, chunks in enumerate(rollouts.lengths.tolist()):
            won = np.flatnonzero(success[episode])
            rewards[episode, :chunks] = robometer_rewards(
                progress[episode, :chunks],
                int(won[0]) if len(won) else None,
                beta_r=self._beta_r,
                lambda_c=self._lambda_c,
            )
        terminal = np.where(success, self._lambda_c, 0.0)
        return PaidRollouts(
            rewards=rewards,
            payments=(rewards - terminal)[:, :, None],
            names=(('progress',),) * len(rewards),
            terminal=terminal,
        )

    def checkpoints(self, task: str) -> tuple[str, ...]:
        """Return nothing: the model is what knows the progress."""
        return ()


def match_beta_r(
    reference: Rollouts, structured: RewardSource, progress: ProgressFunction
) -> float:
    """Return beta_r with which a progress model pays on the scale of a structured reward.

    StructRL Appendix F matches "the intermediate-reward scale" on reference rollouts and does not
    say by which number; here it is the sum of the absolute intermediate rewards of an episode, on
    average over the episodes.

    Raises:
        ParameterError: If either of the two pays nothing in the reference rollouts.
    """
    wanted = np.abs(structured(reference).payments).sum(axis=(1, 2)).mean()
    own = RobometerRewards(progress, beta_r=1.0)(reference)
    scale = np.abs(own.payments).sum(axis=(1, 2)).mean()
    if not (wanted > 0.0 and scale > 0.0):
        raise ParameterError(
            'beta_r cannot be matched: the reference rollouts hold no intermediate reward'
        )
    return float(wanted / scale)


def success_chunks(rollouts: Rollouts) -> Bool:
    """Return the chunk in which each episode succeeded, as a mask (E, M)."""
    mask = np.zeros(rollouts.valid.shape, dtype=np.bool_)
    last = np.maximum(rollouts.lengths - 1, 0)
    mask[np.arange(len(mask)), last] = rollouts.success
    return mask


def _in_order(rollouts: Rollouts, names: tuple[tuple[str, ...], ...]) -> Bool:
    """Return the truth with the columns of what is paid, in its order, shape (E, M, N)."""
    episodes, chunks = rollouts.valid.shape
    size = max(map(len, names), default=0)
    truth = np.zeros((episodes, chunks, size), dtype=np.bool_)
    for episode, (own, info) in enumerate(zip(names, rollouts.tasks, strict=True)):
        places = {name: column for column, name in enumerate(info.predicate_names)}
        columns = [places[name] for name in own]
        truth[episode, :, : len(own)] = rollouts.truth[episode][:, columns]
    truth &= rollouts.valid[:, :, None]
    return truth
