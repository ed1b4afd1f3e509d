"""What the executive asks of the world around it, and how it is set."""

from __future__ import annotations

import math
from dataclasses import dataclass
from dataclasses import fields
from enum import Enum

from structrl_ros.errors import ParameterError
from structrl_ros.types import Observation
from structrl_ros.types import Plan
from structrl_ros.types import PlanRequest
from structrl_ros.types import Subtask
from structrl_ros.types import Verdict


class State(Enum):
    """Where a task stands."""

    IDLE = 'idle'
    PLANNING = 'planning'
    EXECUTING = 'executing'
    REPLANNING = 'replanning'
    DONE = 'done'
    FAILED = 'failed'
    CANCELLED = 'cancelled'

    @property
    def is_running(self) -> bool:
        """Whether a task is under way."""
        return self in (State.PLANNING, State.EXECUTING, State.REPLANNING)


@dataclass(frozen=True, slots=True)
class Goal:
    """A task: the sentence, what is in the scene, and its limit in seconds (0: the default).

    `body_judges` says that the body knows this very task and tells when it has succeeded; then a
    plan that is done is no success until the body agrees.
    """

    instruction: str
    time_limit_s: float = 0.0
    vocabulary: tuple[str, ...] | None = None
    body_judges: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutiveSettings:
    """Limits of REVER's Algorithm 1, which names timeout and attempts but no values for them.

    Attributes:
        subtask_timeout_s: Time for one attempt at a step, seconds of the body's clock.
        attempts: Attempts at a step before a new plan is asked for, from 1.
        replans: New plans in one task, from 0.
        answers: Texts of a planner that may be invalid before the task ends, from 1.
        confirmations: Observations in a row on which the monitor must say done, from 1.
        monitor_failures: Failed calls of the monitor in a row that end the task, from 1.
        time_limit_s: Time for a task that sets no limit of its own.
        max_steps: Longest plan that is accepted.
    """

    subtask_timeout_s: float = 15.0
    attempts: int = 2
    replans: int = 2
    answers: int = 3
    confirmations: int = 1
    monitor_failures: int = 3
    time_limit_s: float = 600.0
    max_steps: int = 20

    def __post_init__(self) -> None:
        """Refuse limits that are no limits."""
        for setting in fields(self):
            value = getattr(self, setting.name)
            lowest = 0 if setting.name == 'replans' else 1
            in_seconds = setting.name.endswith('_s')
            is_valid = (math.isfinite(value) and value > 0) if in_seconds else value >= lowest
            if not is_valid:
                allowed = 'positive' if in_seconds else f'at least {lowest}'
                raise ParameterError(f'{setting.name} is {value}; allowed: {allowed}')


@dataclass(frozen=True, slots=True)
class AskPlanner:
    """Call the planner with the request; answer with the same number."""

    number: int
    request: PlanRequest


@dataclass(frozen=True, slots=True)
class AskMonitor:
    """Call Verify(subtask, start, now); answer with the same number."""

    number: int
    subtask: Subtask
    start: Observation
    now: Observation


@dataclass(frozen=True, slots=True)
class PublishPlan:
    """Publish a new revision of the plan; an empty one means hold."""

    plan: Plan


@dataclass(frozen=True, slots=True)
class PublishVerdict:
    """Publish a verdict."""

    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Finish:
    """The task has ended, for this reason."""

    success: bool
    reason: str


Command = AskPlanner | AskMonitor | PublishPlan | PublishVerdict | Finish
