"""How often a policy succeeds: rates with Wilson intervals, by task and by subtask."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from structrl_ros.evaluation.statistics import Rate
from structrl_ros.models.policies.base import ChunkPolicy
from structrl_ros.training.collector import EVALUATION
from structrl_ros.training.collector import Collector
from structrl_ros.training.collector import MakeWorld
from structrl_ros.training.inference import BATCH
from structrl_ros.training.rollouts import Rollouts
from structrl_ros.training.starts import evaluation_starts
from structrl_ros.types import JsonObject
from structrl_ros.world_types import Bool


@dataclass(frozen=True, slots=True)
class TaskEvaluation:
    """One task: successes, how often each name became true, and mean low-level steps."""

    task: str
    success: Rate
    subtasks: Mapping[str, Rate]
    mean_steps: float


@dataclass(frozen=True, slots=True)
class Evaluation:
    """All tasks; `explore` says whether the noise of training was on."""

    explore: bool
    tasks: tuple[TaskEvaluation, ...]

    @property
    def success(self) -> Rate:
        """Successes over all tasks."""
        return Rate(
            sum(task.success.count for task in self.tasks),
            sum(task.success.n for task in self.tasks),
        )

    @property
    def rates(self) -> dict[str, tuple[int, int]]:
        """Task to (successes, episodes), for a card."""
        return {task.task: (task.success.count, task.success.n) for task in self.tasks}

    def to_json(self) -> JsonObject:
        """Return all numbers."""
        return {
            'explore': self.explore,
            'success': self.success.to_json(),
            'tasks': {
                task.task: {
                    'success': task.success.to_json(),
                    'subtasks': {name: rate.to_json() for name, rate in task.subtasks.items()},
                    'mean_steps': task.mean_steps,
                }
                for task in self.tasks
            },
        }


def evaluate_policy(
    policy: ChunkPolicy,
    make_world: MakeWorld,
    tasks: Sequence[str],
    *,
    episodes: int,
    seed: int,
    initial_states: int = 1,
    explore: bool = False,
    batch: int = BATCH,
) -> Evaluation:
    """Play episodes that no training run plays, in worlds of their own, and count.

    Args:
        policy: As it is.
        make_world: Makes the worlds; they are closed afterwards.
        tasks: Names of tasks.
        episodes: Of each task.
        seed: Of the scenes and of the policy's first noise; the same seed, the same scenes.
        initial_states: Initial states of a task, taken in turn.
        explore: With the noise of training, or without (for a flow: the ODE).
        batch: Rows that the network sees at once.

    Raises:
        CheckpointError: If the policy does not fit the worlds.
        TrainingError: If the worlds fail twice.
        PolicyError: If the policy gives a number that is not finite.
    """
    collector = Collector(make_world, policy, batch=batch)
    try:
        return evaluate_in(
            collector,
            tasks,
            episodes=episodes,
            seed=seed,
            initial_states=initial_states,
            explore=explore,
        )
    finally:
        collector.close()


def evaluate_in(
    collector: Collector,
    tasks: Sequence[str],
    *,
    episodes: int,
    seed: int,
    initial_states: int = 1,
    explore: bool = False,
) -> Evaluation:
    """Evaluate the policy of a collector in its worlds; the arguments are `evaluate_policy`'s."""
    starts = evaluation_starts(tasks, episodes, seed=seed, initial_states=initial_states)
    rollouts = collector.collect(starts, seed=seed, iteration=EVALUATION, explore=explore)
    return Evaluation(explore, tuple(_of_task(rollouts, task) for task in dict.fromkeys(tasks)))


def _of_task(rollouts: Rollouts, task: str) -> TaskEvaluation:
    mine = np.array([start.task == task for start in rollouts.starts])
    count = int(mine.sum())
    return TaskEvaluation(
        task,
        Rate(int(rollouts.success[mine].sum()), count),
        {
            name: Rate(int(done.sum()), count)
            for name, done in _became_true(rollouts, mine).items()
        },
        float(rollouts.steps[mine].sum()) / count,
    )


def _became_true(rollouts: Rollouts, mine: Bool) -> dict[str, Bool]:
    """Return, for every name of the episodes, where it was true at any time."""
    done: dict[str, list[bool]] = {}
    ever: Bool = np.any(rollouts.truth & rollouts.valid[:, :, None], axis=1)
    for episode in np.flatnonzero(mine).tolist():
        for place, name in enumerate(rollouts.tasks[episode].predicate_names):
            done.setdefault(name, []).append(bool(ever[episode, place]))
    return {name: np.array(values) for name, values in done.items()}
