"""The static decomposition of a task: what StructRL pays for, fixed before training.

Stages of grounded subtasks, their reference durations, what was left out by which filter, and
where all of it came from (StructRL Sections 3.1 and 4.1, Appendix B.2). No language model runs in
training: the file is read (`decomposition_file`), and `reward_rule` turns it into what is paid.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from types import MappingProxyType

from structrl_ros.errors import ParameterError
from structrl_ros.subtasks.durations import demo_durations
from structrl_ros.subtasks.durations import keep_names
from structrl_ros.types import RewardRule

#: Version of the file; another one is refused.
FORMAT_VERSION = 1

#: Where the stages came from.
SOURCES = ('task data', 'rule planner', 'model text', 'goal conjuncts', 'density ladder')

#: The filters of StructRL, Appendix B.2.
FILTERS: Mapping[str, str] = MappingProxyType(
    {
        'i': 'no predicate template',
        'ii': 'true at reset, or no sign of progress',
        'iii': 'not timed by the demonstrations',
        'iv': 'duplicates another predicate',
    }
)


@dataclass(frozen=True, slots=True)
class GroundedSubtask:
    """A subtask in words, and the predicate that tells that it is done."""

    phrase: str
    predicate: str


@dataclass(frozen=True, slots=True)
class DroppedSubtask:
    """A subtask that is not paid: `filter` is a key of `FILTERS`, `predicate` '' if none fits."""

    phrase: str
    predicate: str
    filter: str
    reason: str


@dataclass(frozen=True, slots=True)
class Demonstration:
    """A clean, successful episode: in which low-level step (from 0) each name was first true.

    `first_true` has None where a name never was; `steps` is the length in low-level steps.
    """

    seed: int
    initial_state: int
    steps: int
    first_true: Mapping[str, int | None]


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a decomposition came from.

    Attributes:
        source: One of `SOURCES`.
        command: The command that wrote the file, '' if none did.
        demonstrator: Which policy gave the demonstrations, '' without any.
        attempts: Episodes that it tried; those that succeeded are the demonstrations.
        resets: Initial states that were looked at for filter (ii).
        idle: Rollouts without purpose that were looked at for filter (ii).
    """

    source: str
    command: str = ''
    demonstrator: str = ''
    attempts: int = 0
    resets: int = 0
    idle: int = 0


@dataclass(frozen=True, slots=True)
class Decomposition:
    """What is paid for one task of one body.

    Attributes:
        task: The task's name, as `TaskInfo.task` has it.
        body: Name of the body that publishes the predicates.
        instruction: The task as a sentence.
        stages: Subtasks in order: all of a stage come before the next stage (StructRL Eq. 2).
        durations: Chunk length in low-level steps to T_d of each name, in chunks.
        coverage: Demonstrations that count for T_d of each name.
        dropped: Subtasks that a filter took out.
        demonstrations: What T_d was measured on, so that it is known for any chunk length.
        provenance: Where it came from.
        variant: '' for the task's own decomposition, else a word such as 'density_10'.
    """

    task: str
    body: str
    instruction: str
    stages: tuple[tuple[GroundedSubtask, ...], ...]
    provenance: Provenance
    durations: Mapping[int, Mapping[str, float]] = field(default_factory=dict)
    coverage: Mapping[str, int] = field(default_factory=dict)
    dropped: tuple[DroppedSubtask, ...] = ()
    demonstrations: tuple[Demonstration, ...] = ()
    variant: str = ''

    def __post_init__(self) -> None:
        """Refuse what cannot be paid by."""
        _check(self)

    @property
    def stage_names(self) -> tuple[tuple[str, ...], ...]:
        """Predicates of each stage."""
        return tuple(tuple(s.predicate for s in stage) for stage in self.stages)

    @property
    def names(self) -> tuple[str, ...]:
        """All predicates, in order."""
        return tuple(name for stage in self.stage_names for name in stage)

    def durations_at(self, chunk_length: int) -> dict[str, float]:
        """Return T_d of each timed name in chunks of a length.

        Raises:
            ParameterError: If the file has neither that length nor demonstrations.
        """
        if chunk_length in self.durations:
            return dict(self.durations[chunk_length])
        if self.demonstrations:
            return measured_durations(self.stage_names, self.demonstrations, chunk_length)[0]
        if not self.durations:
            return {}
        known = ', '.join(map(str, sorted(self.durations)))
        raise ParameterError(
            f'{self.task}: no durations for chunks of {chunk_length} steps; known: {known}'
        )


def measured_durations(
    stages: Sequence[Sequence[str]],
    demonstrations: Sequence[Demonstration],
    chunk_length: int,
) -> tuple[dict[str, float], dict[str, int]]:
    """Return T_d in chunks (StructRL Section 3.2.2) and coverage; untimed names are left out.

    Raises:
        ParameterError: If a name is missing from a demonstration, or the length is below 1.
    """
    names = [name for stage in stages for name in stage]
    for demo in demonstrations:
        for name in names:
            if name not in demo.first_true:
                raise ParameterError(f'demonstrations: {name} is missing from one')
    seen = [{name: demo.first_true[name] for name in names} for demo in demonstrations]
    measured = demo_durations(stages, seen, chunk_length)
    timed = {name: value for name, value in measured.durations.items() if value is not None}
    return timed, measured.coverage


def reward_rule(
    decomposition: Decomposition,
    published: Collection[str],
    *,
    chunk_length: int,
    horizon_steps: int,
    beta: float = 0.6,
    lambda_c: float = 2.0,
    gating: bool = True,
    pacing: str = 'demo',
    cap: float | None = None,
) -> RewardRule:
    """Return what is paid in an episode.

    A name that the body does not publish in this episode, because it is true at reset, leaves the
    rule: it is neither paid nor waited for, as in tracker_node.

    Args:
        decomposition: The task's static file.
        published: `TaskInfo.predicate_names` of the episode.
        chunk_length: Low-level steps a chunk, L.
        horizon_steps: Limit of the episode in low-level steps, H; only 'uniform' reads it.
        beta: Largest payment for one subtask (StructRL Eq. 4).
        lambda_c: Terminal reward.
        gating: Whether a subtask is paid only after every earlier stage.
        pacing: 'demo', 'fixed' or 'uniform', see `types.RewardRule`.
        cap: Bound of the sum of intermediate payments, None for none.

    Raises:
        ParameterError: If pacing is 'demo' and a name has no duration.
    """
    stages = keep_names(decomposition.stage_names, published)
    durations: dict[str, float] = {}
    if pacing == 'demo' and stages:
        timed = decomposition.durations_at(chunk_length)
        for name in (name for stage in stages for name in stage):
            if name not in timed:
                raise ParameterError(
                    f"{decomposition.task}: no duration of {name}; allowed: pacing 'uniform' or "
                    "'fixed', or a file from structrl decompose --demos"
                )
            durations[name] = timed[name]
    return RewardRule(
        stages=stages,
        durations=durations,
        beta=beta,
        lambda_c=lambda_c,
        gating=gating,
        pacing=pacing,
        horizon_chunks=horizon_steps / chunk_length,
        cap=cap,
    )


def stages_from(
    subtasks: Iterable[tuple[int, GroundedSubtask]],
) -> tuple[tuple[GroundedSubtask, ...], ...]:
    """Group subtasks by the number of their stage; empty stages are removed."""
    grouped: dict[int, list[GroundedSubtask]] = {}
    for number, subtask in subtasks:
        grouped.setdefault(number, []).append(subtask)
    return tuple(tuple(grouped[number]) for number in sorted(grouped))


def _check(decomposition: Decomposition) -> None:
    names = decomposition.names
    for name in names:
        if not name or names.count(name) > 1:
            raise ParameterError(f'stages: {name!r} is empty or listed twice; once is allowed')
    if any(not stage for stage in decomposition.stages):
        raise ParameterError('stages: an empty stage; leave it out')
    if decomposition.provenance.source not in SOURCES:
        raise ParameterError(
            f'provenance.source: unknown {decomposition.provenance.source!r}; '
            f'allowed: {", ".join(SOURCES)}'
        )
    for dropped in decomposition.dropped:
        if dropped.filter not in FILTERS:
            raise ParameterError(
                f'dropped: unknown filter {dropped.filter!r}; allowed: {", ".join(FILTERS)}'
            )
    for length, durations in decomposition.durations.items():
        if length < 1:
            raise ParameterError(f'durations: chunk length {length}; allowed: 1 or more')
        for name, value in durations.items():
            if name not in names:
                raise ParameterError(f'durations.{length}.{name}: no subtask of stages')
            if not (math.isfinite(value) and value > 0):
                raise ParameterError(
                    f'durations.{length}.{name}: must be finite and > 0 chunks, got {value}'
                )
