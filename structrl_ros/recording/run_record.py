"""The numbers of one recorded episode as plain dataclasses: what run.json and the report hold.

Times `*_s` are seconds of the body's clock since the start of the episode.
"""

from __future__ import annotations

import math
from dataclasses import asdict
from dataclasses import dataclass
from typing import Any

from structrl_ros.evaluation.statistics import PeriodStatistics
from structrl_ros.recording.run_curves import ControlSpan
from structrl_ros.recording.run_curves import DoneEntry
from structrl_ros.recording.run_curves import MotionEntry
from structrl_ros.recording.run_curves import ProgressEntry
from structrl_ros.types import JsonObject
from structrl_ros.types import MeasuredRate
from structrl_ros.types import Subtask

#: Version of run.json; a new field keeps it, a changed meaning raises it.
FORMAT = 1


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the task ended: `success` is None while nobody said so (a recording cut short).

    `told_by` is 'task' (the action's result), 'episode' (the body) or 'nobody'.
    """

    success: bool | None
    reason: str
    told_by: str


@dataclass(frozen=True, slots=True)
class EpisodeEntry:
    """An episode of the recording."""

    episode: int
    body: str
    task: str
    instruction: str
    seed: int
    initial_state: int
    objects: tuple[str, ...]
    ended: bool
    success: bool
    end_reason: str


@dataclass(frozen=True, slots=True)
class PlanEntry:
    """A plan revision."""

    t_s: float
    revision: int
    instruction: str
    planner: str
    reasoning: str
    subtasks: tuple[Subtask, ...]


@dataclass(frozen=True, slots=True)
class SubtaskSpan:
    """A stretch of time in which one subtask was pursued.

    `result` is 'done', 'stopped' (the attempt ended without success), 'replaced' (a new revision
    came) or 'open' (the recording ended).
    """

    revision: int
    id: str
    phrase: str
    start_s: float
    end_s: float
    chunks: int
    result: str


@dataclass(frozen=True, slots=True)
class VerdictEntry:
    """A monitor's answer."""

    t_s: float
    revision: int
    index: int
    subtask_id: str
    done: bool
    stop: bool
    confidence: float
    latency_s: float
    monitor: str


@dataclass(frozen=True, slots=True)
class ChunkEntry:
    """A chunk that was sent; `age_s` is the body's time at its arrival less its observation's."""

    t_s: float
    chunk: int
    source: str
    length: int
    step_period_s: float
    age_s: float


@dataclass(frozen=True, slots=True)
class ExecutedEntry:
    """A chunk that the body ran, from `start_s` to `t_s`."""

    start_s: float
    t_s: float
    chunk: int
    executed_steps: int
    terminated: bool
    truncated: bool
    success: bool


@dataclass(frozen=True, slots=True)
class SafetySpan:
    """A stretch of time in one safety state."""

    start_s: float
    end_s: float
    state: str
    reason: str


@dataclass(frozen=True, slots=True)
class RewardEntry:
    """A page of the ledger."""

    t_s: float
    chunk: int
    value: float
    terms: tuple[tuple[str, float], ...]
    episode_return: float


@dataclass(frozen=True, slots=True)
class LedgerCheck:
    """Whether the pure tracker, fed with the recording, gives the recorded rewards again.

    `equal` is None where it could not be run; `first_difference` says why or where.
    """

    equal: bool | None
    compared: int
    first_difference: str


@dataclass(frozen=True, slots=True)
class HeldRate:
    """What the planner measured of its monitor: from start to start of its calls, body's time.

    `dropped` of `due` ticks passed while a call ran.
    """

    calls: int
    due: int
    dropped: int
    wanted_hz: float
    rate_hz: float | None
    period_p50_s: float | None
    period_p99_s: float | None


@dataclass(frozen=True, slots=True)
class MonitorEntry:
    """How regular and how fast the monitor was.

    `held` is None where the planner did not say; `period` is that of the stamps of the verdicts
    within a plan revision, which are the times of the observations that were looked at.
    """

    names: tuple[str, ...]
    verdicts: int
    held: HeldRate | None
    period: PeriodStatistics
    latency_p50_s: float | None
    latency_p99_s: float | None
    latency_max_s: float | None


@dataclass(frozen=True, slots=True)
class PolicyEntry:
    """What the policy said of itself; `measured` are rates of its checkpoint's card."""

    name: str
    trained_by: str
    measured: tuple[MeasuredRate, ...]


@dataclass(frozen=True, slots=True)
class BodyEntry:
    """What the body says of itself on /diagnostics, None where it does not.

    `real_time_factor_*` are body seconds over wall seconds: middle and smallest of the episode.
    """

    rejected_chunks: int | None
    real_time_factor_p50: float | None
    real_time_factor_min: float | None


@dataclass(frozen=True, slots=True)
class FaultEntry:
    """Something that was reported on /diagnostics, or a hole in the recording."""

    t_s: float
    source: str
    level: str
    message: str
    count: int


@dataclass(frozen=True, slots=True)
class RunRecord:
    """Everything the report says."""

    run: str
    recorded_at: str
    wall_s: float
    duration_s: float
    outcome: Outcome
    episode: EpisodeEntry
    other_episodes: tuple[EpisodeEntry, ...]
    plans: tuple[PlanEntry, ...]
    subtasks: tuple[SubtaskSpan, ...]
    verdicts: tuple[VerdictEntry, ...]
    chunks: tuple[ChunkEntry, ...]
    executed: tuple[ExecutedEntry, ...]
    safety: tuple[SafetySpan, ...]
    rewards: tuple[RewardEntry, ...]
    episode_return: float
    sum_of_terms: float
    ledger: LedgerCheck
    monitor: MonitorEntry
    policy: PolicyEntry | None
    body: BodyEntry
    faults: tuple[FaultEntry, ...]
    topics: dict[str, int]
    bag_is_cut: bool
    versions: dict[str, str]
    control: tuple[ControlSpan, ...] = ()
    takeovers: tuple[ControlSpan, ...] = ()
    done: tuple[DoneEntry, ...] = ()
    progress: tuple[ProgressEntry, ...] = ()
    motion: MotionEntry | None = None
    format: int = FORMAT

    @property
    def replans(self) -> int:
        """Number of plan revisions after the first."""
        return max(0, len(self.plans) - 1)

    def to_json(self) -> JsonObject:
        """Return the record as a JSON object."""
        return _plain(asdict(self))


def _plain(value: Any) -> Any:
    """Return lists for tuples, and None for numbers that JSON does not know."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    return [_plain(v) for v in value] if isinstance(value, list | tuple) else value
