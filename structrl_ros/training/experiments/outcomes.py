"""What came out of cells: one `Outcome` a cell, and their values by arm."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import asdict
from dataclasses import dataclass
from dataclasses import field
from typing import Any

import numpy as np

from structrl_ros.errors import CheckpointError
from structrl_ros.training.experiments.plan import Cell
from structrl_ros.training.experiments.plan import Experiment
from structrl_ros.training.reward_source import PaidRollouts
from structrl_ros.training.rollout_metrics import idle_after_reward
from structrl_ros.training.rollouts import Rollouts
from structrl_ros.types import JsonObject
from structrl_ros.world_types import Bool

#: Measures of an outcome, and what they are in a table's head.
MEASURES: Mapping[str, str] = {
    'success': 'success',
    'premature': 'premature closing',
    'steps': 'steps an episode',
    'idle': 'idle chunks after the last payment',
    'training_success': 'success in the last iterations of training',
    'seen': 'success on scenes of practice',
    'retained': 'retained weight of failures',
    'fallbacks': 'failures without a boundary',
}
#: Those that only an arm that practises has.
OF_PRACTICE = ('training_success', 'seen', 'retained', 'fallbacks')
#: Iterations that `training_success` is the mean of.
LAST_ITERATIONS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A cell's result.

    Attributes:
        episodes: Of the evaluation.
        successes: Of them.
        subtasks: How many episodes each name became true in.
        premature: Episodes in which a name of the last stage came true before all earlier ones.
        steps: Low-level steps an episode, mean.
        idle: Chunks after the last payment, mean; without any payment all chunks are.
        curve: By name, one number an iteration of training: success, return, idle, kl, and with
            GRPO `retained` and `fallbacks`, pooled over all updates so far.
        cpu_s: CPU seconds of training and evaluation, those of worker processes too.
        seen_episodes: Of the evaluation in scenes of the practice.
        seen_successes: Of them.
    """

    episodes: int
    successes: int
    subtasks: Mapping[str, int]
    premature: int
    steps: float
    idle: float
    curve: Mapping[str, Sequence[float | None]] = field(default_factory=dict)
    cpu_s: float = 0.0
    seen_episodes: int = 0
    seen_successes: int = 0

    def measure(self, name: str) -> float:
        """Return one of `MEASURES`."""
        if name == 'training_success':
            last = [v for v in self.curve.get('success', ()) if v is not None][-LAST_ITERATIONS:]
            return sum(last) / len(last) if last else 0.0
        if name == 'seen':
            return self.seen_successes / self.seen_episodes if self.seen_episodes else 0.0
        if name in ('retained', 'fallbacks'):
            told = [v for v in self.curve.get(name, ()) if v is not None]
            return told[-1] if told else float(name == 'retained')
        if name in ('success', 'premature'):
            return (self.successes if name == 'success' else self.premature) / self.episodes
        return float(getattr(self, name))

    def numbers(self) -> JsonObject:
        """Return everything but the time it took: what another run must come to as well."""
        document = asdict(self)
        del document['cpu_s']
        return document


def outcome_of(rollouts: Rollouts, paid: PaidRollouts, stages: Sequence[Sequence[str]]) -> Outcome:
    """Return what the episodes of one task came to.

    Args:
        rollouts: Of the evaluation.
        paid: What they earned by the arm's own reward.
        stages: Names of the task's own decomposition, for `premature`.
    """
    names = rollouts.tasks[0].predicate_names
    truth = rollouts.truth[:, :, : len(names)] & rollouts.valid[:, :, None]
    ever: Bool = np.any(truth, axis=1)
    chunks = truth.shape[1]
    first = np.where(ever, truth.argmax(axis=1), chunks)
    last = first[:, [names.index(n) for n in stages[-1]]].min(axis=1)
    earlier = [names.index(n) for stage in stages[:-1] for n in stage]
    before = first[:, earlier].max(axis=1) if earlier else np.zeros_like(last)
    return Outcome(
        episodes=rollouts.episodes,
        successes=int(rollouts.success.sum()),
        subtasks={name: int(ever[:, i].sum()) for i, name in enumerate(names)},
        premature=int(((last < chunks) & (last < before)).sum()),
        steps=float(rollouts.steps.sum(axis=1).mean()),
        idle=float(idle_after_reward(rollouts, paid.rewards).mean()),
    )


def outcome_from_json(document: Any) -> Outcome:
    """Return the outcome of `asdict`.

    Raises:
        CheckpointError: If it is no such document.
    """
    try:
        return Outcome(**document)
    except TypeError as error:
        raise CheckpointError(f'no outcome of an experiment: {error}') from None


class Outcomes:
    """Results of one experiment, by the name of the arm."""

    def __init__(self, experiment: Experiment, found: Mapping[str, Outcome]) -> None:
        """Take the results by `Cell.key`; those of other experiments may be among them."""
        self.experiment = experiment
        self._found = {
            arm.name: [found[cell.key] for cell in experiment.cells() if cell.arm is arm]
            for arm in experiment.arms
        }

    def of(self, arm: str) -> list[Outcome]:
        """Return the outcomes of an arm in the order of its seeds."""
        return self._found[arm]

    def values(self, arm: str, measure: str = 'success') -> list[float]:
        """Return a measure of an arm, one number a seed."""
        return [outcome.measure(measure) for outcome in self._found[arm]]


def needed_cells(experiments: Sequence[Experiment]) -> dict[str, Cell]:
    """Return the runs that experiments need, each once, by key."""
    return {cell.key: cell for experiment in experiments for cell in experiment.cells()}
