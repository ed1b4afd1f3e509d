"""From a task to its static decompositions: stages, evidence, filters, durations.

for decomposition in decompose_task(DecomposeRequest(body='libero', task='long/0')): ...
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field

from structrl_ros.errors import ParameterError
from structrl_ros.plan.parse import parse_plan
from structrl_ros.plan.parse import to_plan
from structrl_ros.plan.rules import RulePlanner
from structrl_ros.ports import Policy
from structrl_ros.sim.decompositions import PLAN_VARIANT
from structrl_ros.sim.registry import make_body
from structrl_ros.sim.registry import make_expert
from structrl_ros.subtasks.decomposition import Decomposition
from structrl_ros.subtasks.decomposition import Demonstration
from structrl_ros.subtasks.decomposition import Provenance
from structrl_ros.subtasks.decomposition import measured_durations
from structrl_ros.subtasks.filters import RELAXED
from structrl_ros.subtasks.filters import Candidate
from structrl_ros.subtasks.filters import Evidence
from structrl_ros.subtasks.filters import FilterLimits
from structrl_ros.subtasks.filters import apply_filters
from structrl_ros.subtasks.filters import ground_candidates
from structrl_ros.subtasks.goal_conjuncts import goal_candidates
from structrl_ros.subtasks.goal_conjuncts import phrase_of
from structrl_ros.training.evidence import Counts
from structrl_ros.training.evidence import gather
from structrl_ros.training.task_ladder import checkpoint_names
from structrl_ros.training.task_ladder import own_stages
from structrl_ros.training.task_ladder import rungs
from structrl_ros.types import PlanRequest
from structrl_ros.types import Subtask
from structrl_ros.types import TaskInfo
from structrl_ros.world_types import EpisodeStart

#: Bodies whose tasks are data with stages of their own.
DATA_BODIES = ('tabletop', 'twin')
#: Words that name a source on the command line.
SOURCE_WORDS = {'data': 'task data', 'rules': 'rule planner', 'goal': 'goal conjuncts'}
_VARIANTS = {
    'task data': 'data',
    'rule planner': PLAN_VARIANT,
    'goal conjuncts': 'goal',
    'model text': 'text',
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DecomposeRequest:
    """What to decompose, and from what.

    Attributes:
        body: Name of the body.
        task: Name of the task.
        sources: Of `SOURCE_WORDS`; empty for the body's own. The first of a body has no variant.
        text: A model's text in the form of Appendix B.1, instead of the sources.
        density: Also every level of the ladder, and the variant with earlier checkpoints.
        counts: How much is looked at.
        chunk_length: Low-level steps of the chunks in which durations are written.
        command: What was typed, for the file.
    """

    body: str
    task: str
    sources: tuple[str, ...] = ()
    text: str = ''
    density: bool = False
    counts: Counts = field(default_factory=Counts)
    chunk_length: int = 8
    command: str = ''


def default_source(body: str) -> str:
    """Return where a body's own decomposition comes from."""
    if body in DATA_BODIES:
        return 'task data'
    return 'goal conjuncts' if body == 'libero' else 'rule planner'


def decompose_task(request: DecomposeRequest) -> tuple[Decomposition, ...]:
    """Return the decompositions that are asked for, the body's own first.

    Raises:
        ParameterError: If a word of the request is unknown.
        PlanSyntaxError: If the text, or the instruction of the task, is no plan.
        SimulationError: If the task is unknown or the body does not run here.
    """
    sources = _sources(request)
    known = _Known(request)
    try:
        known.look(sources)
    finally:
        known.close()
    found = [_decomposition(known, source, known.candidates(source)) for source in sources]
    return (*found, *(_ladder(known) if request.density else ()))


class _Known:
    """The body of a request, what it tells of the task, and what was seen there."""

    def __init__(self, request: DecomposeRequest) -> None:
        counts, self.request = request.counts, request
        most = max(counts.resets, counts.idle, counts.demonstrations, 1)
        self._starts = _starts(request, most)
        options = {'checkpoints': checkpoint_names(request.task)} if request.density else {}
        self._body = make_body(request.body, **options)
        first = self._starts[0]
        self.info: TaskInfo = self._body.reset(first.task, first.seed, first.initial_state)
        #: All conjuncts of LIBERO's goal, those true at reset included.
        self.goal: tuple[str, ...] = ()
        if request.body == 'libero':
            self.goal = self._body.predicates.goal  # type: ignore[attr-defined]
        self.plan: tuple[Subtask, ...] = ()
        self.evidence = Evidence(known=())
        self.attempts = 0

    def look(self, sources: Sequence[str]) -> None:
        """Make the plan where one is needed, and gather what the filters judge by."""
        request, counts = self.request, self.request.counts
        text = request.text
        if not text and ('rule planner' in sources or counts.demonstrations):
            asked = PlanRequest(self.info.instruction, self.info.objects, None)
            text = RulePlanner().propose(asked)
        if text:
            self.plan = to_plan(parse_plan(text))

        # The skills of LIBERO's expert run on within a chunk, as in the deployed graph; the
        # others are functions of the state, and are asked at every step.
        rows = request.chunk_length if request.body == 'libero' else 1

        def expert() -> Policy:
            return make_expert(request.body, chunk_length=rows)

        counts = dataclasses.replace(counts, resets=max(counts.resets, counts.demonstrations))
        self.evidence, self.attempts = gather(
            self._body, expert, self.plan, self._starts, counts, self.goal
        )

    def candidates(self, source: str) -> list[Candidate]:
        """Return the subtasks of a source before the filters."""
        if source == 'task data':
            return _given(own_stages(self.request.task))
        if source == 'goal conjuncts':
            is_long = self.info.task.startswith('long/')
            return goal_candidates(self.goal, self.info.instruction, grasps=not is_long)
        return ground_candidates(self.plan, self.evidence.known)

    def close(self) -> None:
        """Free the body."""
        self._body.close()


def _sources(request: DecomposeRequest) -> tuple[str, ...]:
    if request.text:
        return ('model text',)
    for word in request.sources:
        if word not in SOURCE_WORDS:
            allowed = ', '.join(SOURCE_WORDS)
            raise ParameterError(f'source: unknown {word!r}; allowed: {allowed}')
    chosen = tuple(SOURCE_WORDS[word] for word in request.sources)
    for source, bodies in (('goal conjuncts', ('libero',)), ('task data', DATA_BODIES)):
        if source in chosen and request.body not in bodies:
            raise ParameterError(
                f'source: body {request.body!r} has no {source}; allowed: {", ".join(bodies)}'
            )
    if request.density and request.body not in DATA_BODIES:
        raise ParameterError(
            f'density: body {request.body!r} publishes no checkpoints; '
            f'allowed: {", ".join(DATA_BODIES)}'
        )
    return chosen or (default_source(request.body),)


def _starts(request: DecomposeRequest, count: int) -> list[EpisodeStart]:
    """Return episodes: LIBERO's initial states in order, elsewhere seeds in order."""
    if request.body == 'libero':
        return [EpisodeStart(request.task, 0, number) for number in range(count)]
    return [EpisodeStart(request.task, number, 0) for number in range(count)]


def _decomposition(
    known: _Known,
    source: str,
    candidates: Sequence[Candidate],
    variant: str = '',
    limits: FilterLimits | None = None,
) -> Decomposition:
    request, evidence = known.request, known.evidence
    stages, dropped = apply_filters(candidates, evidence, limits)
    names = [[subtask.predicate for subtask in stage] for stage in stages]
    demos = _demonstrations_of({name for stage in names for name in stage}, evidence)
    durations, coverage = measured_durations(names, demos, request.chunk_length)
    is_own = source == default_source(request.body)
    return Decomposition(
        task=known.info.task,
        body=request.body,
        instruction=known.info.instruction,
        stages=stages,
        durations={request.chunk_length: durations} if durations else {},
        coverage=coverage if demos else {},
        dropped=dropped,
        demonstrations=demos,
        provenance=Provenance(
            source=source,
            command=request.command,
            demonstrator=f'{request.body} expert' if known.attempts else '',
            attempts=known.attempts,
            resets=evidence.resets,
            idle=evidence.idle,
        ),
        variant=variant or ('' if is_own else _VARIANTS[source]),
    )


def _demonstrations_of(names: set[str], evidence: Evidence) -> tuple[Demonstration, ...]:
    """Return the demonstrations with the truth of some names alone."""
    return tuple(
        dataclasses.replace(
            demo, first_true={n: step for n, step in demo.first_true.items() if n in names}
        )
        for demo in evidence.demonstrations
        if names
    )


def _ladder(known: _Known) -> list[Decomposition]:
    """Return every rung of the density ladder."""
    return [
        _decomposition(known, 'density ladder', _given(names), variant, RELAXED)
        for variant, names in rungs(known.request.task).items()
    ]


def _given(stages: Sequence[Sequence[str]]) -> list[Candidate]:
    return [
        Candidate(number, phrase_of(name), name)
        for number, stage in enumerate(stages)
        for name in stage
    ]
