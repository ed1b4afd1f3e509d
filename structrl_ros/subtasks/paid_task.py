"""What one task of an episode pays: its first plan, grounded, filtered and paced."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from types import MappingProxyType

from structrl_ros.errors import ParameterError
from structrl_ros.ports import ChunkRewardModel
from structrl_ros.subtasks.grounding import ground_all
from structrl_ros.types import ChunkReward
from structrl_ros.types import JsonObject
from structrl_ros.types import RewardRule
from structrl_ros.types import Subtask

#: Where truth comes from: the body's predicates, or the monitor's verdicts.
TRUTH_SOURCES = ('predicates', 'verdicts')
#: 'auto' is 'demo' where every paid subtask has a duration, else 'uniform'.
PACINGS = ('auto', 'demo', 'uniform', 'fixed')

RewardFactory = Callable[[RewardRule, Iterable[str]], ChunkRewardModel]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackerSettings:
    """How the tracker pays and waits.

    `durations` maps a name, or 'task/name', to T_d in chunks; the others are those of
    `types.RewardRule`. In `lockstep` a chunk waits for the verdict with its stamp.
    """

    beta: float = 0.6
    lambda_c: float = 2.0
    gating: bool = True
    pacing: str = 'auto'
    cap: float | None = None
    durations: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    horizon_chunks: float = 52.0
    truth_source: str = 'predicates'
    lockstep: bool = False

    def __post_init__(self) -> None:
        """Refuse unknown words; numbers are checked by the reward model."""
        if self.pacing not in PACINGS:
            raise ParameterError(f'pacing: unknown {self.pacing!r}; allowed: {", ".join(PACINGS)}')
        if self.truth_source not in TRUTH_SOURCES:
            raise ParameterError(
                f'truth_source: unknown {self.truth_source!r}; allowed: {", ".join(TRUTH_SOURCES)}'
            )


class PaidTask:
    """The decomposition of a task's first plan, and the rewards that it gave, chunk by chunk.

    A subtask is known to the reward by the predicate that it is grounded to, or by its id where
    truth comes from verdicts. One that no predicate expresses is not paid (StructRL Appendix
    B.2, filter (i)), nor is one without duration where pacing is 'demo' (filter (iii)).
    """

    def __init__(
        self,
        label: str,
        task: str,
        subtasks: Sequence[Subtask],
        settings: TrackerSettings,
        make_reward: RewardFactory,
    ) -> None:
        """Take the subtasks of revision 1; `label` names the task in the trace."""
        self.label = label
        self._task = task
        self._subtasks = tuple(subtasks)
        self._settings = settings
        self._make_reward = make_reward
        self._names: dict[str, str] = {s.id: s.id for s in self._subtasks}
        self._verified: set[str] = set()
        self._reward: ChunkRewardModel | None = None
        self._rule: RewardRule | None = None
        self._at_reset: tuple[str, ...] = ()
        self._truth: list[list[str]] = []
        self._success: list[bool] = []

    @property
    def is_grounded(self) -> bool:
        """Whether it is settled what is paid."""
        return self._reward is not None

    def ground(self, names: Sequence[str], at_reset: Iterable[str]) -> list[str]:
        """Settle what is paid, and return one line for each thing that is not paid as asked.

        Args:
            names: Names that the body publishes; not read where truth comes from verdicts.
            at_reset: Names true when the task began.
        """
        lines: list[str] = []
        if self._settings.truth_source == 'predicates':
            grounded = ground_all(self._subtasks, names)
            self._names = {id_: name for id_, name in grounded.items() if name is not None}
            unpaid = [s.id for s in self._subtasks if s.id not in self._names]
            lines.extend(f'{id_} is not paid: no predicate of the body tells it' for id_ in unpaid)
        self._rule, reasons = self._make_rule()
        paid = {name for stage in self._rule.stages for name in stage}
        self._names = {id_: name for id_, name in self._names.items() if name in paid}
        self._at_reset = tuple(sorted(paid & set(at_reset)))
        self._reward = self._make_reward(self._rule, self._at_reset)
        return [f'{self.label}: {line}' for line in (*lines, *reasons)]

    def verify(self, subtask: Subtask) -> None:
        """Note that the monitor saw a subtask done, from whatever revision it comes."""
        for own in self._subtasks:
            is_same = (own.verb, own.arguments) == (subtask.verb, subtask.arguments)
            if is_same and own.id not in self._verified:
                self._verified.add(own.id)
                return

    def step(self, truth: Iterable[str], success: bool) -> ChunkReward:
        """Return what the next chunk earns; `ground` comes first.

        Args:
            truth: Predicates true in the chunk; not read where truth comes from verdicts.
            success: Whether this chunk earns the terminal reward.
        """
        assert self._reward is not None
        if self._settings.truth_source == 'verdicts':
            truth = self._verified
        known = sorted(set(self._names.values()) & set(truth))
        self._truth.append(known)
        self._success.append(success)
        return self._reward.step(known, success)

    def standing(self) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
        """Return the ids that are completed, open and blocked, each in the order of the plan.

        An unpaid subtask is completed once verified, and blocks nothing.
        """
        completed = [s.id for s in self._subtasks if self._is_completed(s.id)]
        waiting = [s for s in self._subtasks if s.id not in completed]
        unmet = [s.stage for s in waiting if s.id in self._names]
        is_free = not unmet or not self._settings.gating
        is_open = {s.id: is_free or s.stage <= min(unmet) for s in waiting}
        return (
            tuple(completed),
            tuple(s.id for s in waiting if is_open[s.id]),
            tuple(s.id for s in waiting if not is_open[s.id]),
        )

    def trace_case(self) -> JsonObject | None:
        """Return a case of `structrl score structured_reward`, None if no chunk was consumed."""
        rule = self._rule
        if rule is None or not self._success:
            return None
        document = {
            'stages': [list(stage) for stage in rule.stages],
            'durations': dict(rule.durations),
            'truth': [list(names) for names in self._truth],
            'success': list(self._success),
            'beta': rule.beta,
            'lambda_c': rule.lambda_c,
            'gating': rule.gating,
            'pacing': rule.pacing,
            'horizon_chunks': rule.horizon_chunks,
            'cap': rule.cap,
            'at_reset': list(self._at_reset),
        }
        return {'name': self.label, 'input': document}

    def _is_completed(self, id_: str) -> bool:
        name = self._names.get(id_)
        if name is None or self._reward is None:
            return id_ in self._verified
        return name in self._reward.completed

    def _make_rule(self) -> tuple[RewardRule, list[str]]:
        settings, lines = self._settings, []
        paid = [s for s in self._subtasks if s.id in self._names]
        timed = {self._names[s.id]: self._duration(self._names[s.id]) for s in paid}
        durations = {name: value for name, value in timed.items() if value is not None}
        pacing = settings.pacing
        untimed = [name for name in timed if name not in durations]
        if pacing == 'auto':
            pacing = 'uniform' if untimed else 'demo'
            if untimed:
                lines.append(f'no duration of {untimed[0]}: paced uniformly over the horizon')
        if pacing == 'demo':
            lines.extend(f'{name} is not paid: no demonstration timed it' for name in untimed)
            paid = [s for s in paid if self._names[s.id] in durations]
        numbers = sorted({s.stage for s in paid})
        stages = (tuple(self._names[s.id] for s in paid if s.stage == n) for n in numbers)
        rule = RewardRule(
            stages=tuple(stages),
            durations=durations,
            beta=settings.beta,
            lambda_c=settings.lambda_c,
            gating=settings.gating,
            pacing=pacing,
            horizon_chunks=settings.horizon_chunks,
            cap=settings.cap,
        )
        return rule, lines

    def _duration(self, name: str) -> float | None:
        durations = self._settings.durations
        return durations.get(f'{self._task}/{name}', durations.get(name))
