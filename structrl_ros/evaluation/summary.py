"""Episodes of one policy as numbers: by task and in all, with intervals."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass

from structrl_ros.evaluation.episode_record import EpisodeRecord
from structrl_ros.evaluation.statistics import Rate
from structrl_ros.types import JsonObject


@dataclass(frozen=True, slots=True)
class TaskSummary:
    """One task, or all of them (`task` is '').

    Attributes:
        task: Name.
        success: By the rule of the protocol.
        subtasks: How often each subtask was done, in the order of the plan; for all tasks together
            empty.
        steps_done: Subtasks done of all subtasks planned.
        mean_duration_s: Mean over the episodes, seconds of the body's clock; None without any.
        mean_success_s: The same over the successes.
        interventions: Takeovers in all episodes.
        causes: Failures by cause, the most frequent first.
    """

    task: str
    success: Rate
    subtasks: Mapping[str, Rate]
    steps_done: Rate
    mean_duration_s: float | None
    mean_success_s: float | None
    interventions: int
    causes: Mapping[str, int]

    def to_json(self) -> JsonObject:
        """Return all numbers."""
        return {
            'task': self.task,
            'success': self.success.to_json(),
            'subtasks': {name: rate.to_json() for name, rate in self.subtasks.items()},
            'steps_done': self.steps_done.to_json(),
            'mean_duration_s': self.mean_duration_s,
            'mean_success_s': self.mean_success_s,
            'interventions': self.interventions,
            'causes': dict(self.causes),
        }


@dataclass(frozen=True, slots=True)
class PolicySummary:
    """All episodes of one policy.

    `macro` is the mean over tasks of their success rates (None without episodes), and
    `macro_interval` an interval of it: the tasks' Wilson intervals put together as independent
    (MOVER; Zou, Huang and Zhang, "A note on confidence interval estimation for a linear function
    of binomial proportions", Computational Statistics & Data Analysis 53 (2009)).
    """

    code: str
    total: TaskSummary
    tasks: tuple[TaskSummary, ...]
    macro: float | None
    macro_interval: tuple[float, float]

    def to_json(self) -> JsonObject:
        """Return all numbers."""
        return {
            'code': self.code,
            'total': self.total.to_json(),
            'tasks': [task.to_json() for task in self.tasks],
            'macro': self.macro,
            'macro_interval': list(self.macro_interval),
        }


def summarise(code: str, episodes: Sequence[EpisodeRecord]) -> PolicySummary:
    """Return the numbers of the episodes of one policy, tasks in the order of appearance."""
    mine = sorted((e for e in episodes if e.code == code), key=lambda e: e.number)
    names = dict.fromkeys(e.task for e in mine)
    tasks = tuple(_of_task(name, [e for e in mine if e.task == name]) for name in names)
    rates = [task.success for task in tasks]
    return PolicySummary(code, _of_all(mine), tasks, macro_rate(rates), macro_interval(rates))


def macro_rate(rates: Sequence[Rate]) -> float | None:
    """Return the mean over tasks of their success rates (StructRL's SR), None if none was tried.

    Rates without episodes are left out.
    """
    known = [rate.count / rate.n for rate in rates if rate.n]
    return sum(known) / len(known) if known else None


def macro_interval(rates: Sequence[Rate]) -> tuple[float, float]:
    """Return the 95 % interval of the mean of independent rates; see `PolicySummary`.

    Rates without episodes are left out; with none left it is (0, 1).
    """
    known = [rate for rate in rates if rate.n]
    if not known:
        return 0.0, 1.0
    if len(known) == 1:
        return known[0].interval
    mean = macro_rate(known)
    assert mean is not None
    below = math.sqrt(sum((_rate(r) - r.interval[0]) ** 2 for r in known)) / len(known)
    above = math.sqrt(sum((r.interval[1] - _rate(r)) ** 2 for r in known)) / len(known)
    return max(0.0, mean - below), min(1.0, mean + above)


def _rate(rate: Rate) -> float:
    return rate.count / rate.n


def _of_task(task: str, episodes: Sequence[EpisodeRecord]) -> TaskSummary:
    done: dict[str, list[bool]] = {}
    for episode in episodes:
        for name, is_done in episode.subtasks:
            done.setdefault(name, []).append(is_done)
    subtasks = {name: Rate(sum(values), len(values)) for name, values in done.items()}
    return _summary(task, episodes, subtasks)


def _of_all(episodes: Sequence[EpisodeRecord]) -> TaskSummary:
    return _summary('', episodes, {})


def _summary(
    task: str, episodes: Sequence[EpisodeRecord], subtasks: Mapping[str, Rate]
) -> TaskSummary:
    steps = [is_done for episode in episodes for _, is_done in episode.subtasks]
    causes = Counter(episode.cause for episode in episodes if episode.cause)
    return TaskSummary(
        task=task,
        success=Rate(sum(e.success for e in episodes), len(episodes)),
        subtasks=subtasks,
        steps_done=Rate(sum(steps), len(steps)),
        mean_duration_s=_mean([e.duration_s for e in episodes]),
        mean_success_s=_mean([e.duration_s for e in episodes if e.success]),
        interventions=sum(e.interventions for e in episodes),
        causes=dict(sorted(causes.items(), key=lambda item: (-item[1], item[0]))),
    )


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None
