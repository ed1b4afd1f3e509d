"""A plan of subtasks, where it stands, and the monitor's answers on it."""

from __future__ import annotations

from dataclasses import dataclass

from structrl_ros.types.observation import Observation


@dataclass(frozen=True, slots=True)
class Subtask:
    """One step of a plan: `verb(arguments)`, in a stage (from 0); stages are done in order."""

    id: str
    phrase: str
    verb: str
    arguments: tuple[str, ...]
    stage: int


@dataclass(frozen=True, slots=True)
class Plan:
    """An ordered list of subtasks. Revision 1 opens a task, each retry or replan adds one.

    An empty list of subtasks means: nothing to do, hold.
    """

    stamp_ns: int
    revision: int
    instruction: str
    subtasks: tuple[Subtask, ...]
    reasoning: str = ''
    planner: str = ''

    @property
    def stages(self) -> tuple[tuple[str, ...], ...]:
        """Ids of the subtasks, grouped by stage in ascending order."""
        numbers = sorted({s.stage for s in self.subtasks})
        return tuple(tuple(s.id for s in self.subtasks if s.stage == n) for n in numbers)


@dataclass(frozen=True, slots=True)
class SubtaskStatus:
    """Where the plan stands after a chunk; `current` is '' when there is nothing to do."""

    stamp_ns: int
    episode: int
    chunk: int
    revision: int
    current: str
    completed: tuple[str, ...]
    open: tuple[str, ...]
    blocked: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Judgement:
    """A monitor's answer before it gets a place in the plan."""

    done: bool
    confidence: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """A monitor's answer on one subtask: REVER's Verify(s, o_start, o_now).

    `stop` ends this attempt without success: the body holds until the next plan revision.
    `latency` is in seconds, `confidence` in [0, 1].
    """

    stamp_ns: int
    revision: int
    index: int
    subtask_id: str
    done: bool
    confidence: float
    latency: float
    monitor: str
    stop: bool = False


@dataclass(frozen=True, slots=True)
class FailedAttempt:
    """Why a plan is asked for again: the plan, the index that failed, and the reason."""

    plan: Plan
    index: int
    reason: str


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """A question to a planner. `rejected` holds earlier answers with the exact error of each."""

    instruction: str
    vocabulary: tuple[str, ...] | None
    observation: Observation | None
    failed: FailedAttempt | None = None
    rejected: tuple[tuple[str, str], ...] = ()
