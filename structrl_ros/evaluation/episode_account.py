"""Keeps the account of one episode, from the messages of the contract, wherever they come from.

The same object stands behind the episodes of this process and behind those over topics, so that
both are counted alike.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence

from structrl_ros.evaluation.episode_record import EpisodeRecord
from structrl_ros.evaluation.failures import FailureEvidence
from structrl_ros.evaluation.failures import failure_cause
from structrl_ros.evaluation.failures import tells_grasps
from structrl_ros.evaluation.protocol import Trial
from structrl_ros.types import SUCCESS_TERM
from structrl_ros.types import ChunkDone
from structrl_ros.types import Episode
from structrl_ros.types import Intervention
from structrl_ros.types import Plan
from structrl_ros.types import Predicates
from structrl_ros.types import Reward
from structrl_ros.types import Safety
from structrl_ros.types import SafetyState
from structrl_ros.types import Subtask
from structrl_ros.types import Verdict

#: Subtasks and the names that the body publishes to the name of each subtask, None for none.
Ground = Callable[[Sequence[Subtask], Sequence[str]], Mapping[str, str | None]]

#: How the reason of a task begins whose time was up, and of one that was cancelled.
_TIME_UP = 'time limit'
_CANCELLED = 'cancelled'
#: How the body says why an episode ended.
_BODY_ENDS = {'success': 'success', 'horizon': 'horizon', '': ''}


class EpisodeAccount:
    """Takes messages in any order between topics; `record` closes the account."""

    def __init__(self, trial: Trial, start: Episode, *, judged_by: str, ground: Ground) -> None:
        """Open the account of an episode.

        Args:
            trial: Its place in the schedule.
            start: Its start.
            judged_by: Rule of success.
            ground: `subtasks.grounding.ground_all`.
        """
        self._trial = trial
        self._start = start
        self._judged_by = judged_by
        self._ground = ground
        self._end: Episode | None = None
        self._plan: Plan | None = None
        self._names: tuple[str, ...] = ()
        self._truth: dict[int, frozenset[str]] = {}
        self._done: dict[int, ChunkDone] = {}
        self._paid: set[str] = set()
        self._verified: set[str] = set()
        self._return = (0, 0.0)
        self._state = SafetyState.OK
        self._stops = 0
        self._taken_over = False
        self._takeovers = 0

    @property
    def has_ended(self) -> bool:
        """Whether the body has ended the episode."""
        return self._end is not None

    @property
    def chunks(self) -> int:
        """Chunks that the body ran."""
        return len(self._done)

    @property
    def is_settled(self) -> bool:
        """Whether all that belongs to the newest chunk has come: its reward, the body's end."""
        last = max(self._done, default=0)
        is_last = last > 0 and (self._done[last].terminated or self._done[last].truncated)
        return self._return[0] >= last and (self.has_ended or not is_last)

    def take(self, value: object) -> None:
        """Take a message; what is of another episode, or of no interest, is left out."""
        if not isinstance(value, Safety) and not self._is_mine(value):
            return
        if isinstance(value, Episode):
            self._end = value if value.ended else self._end
        elif isinstance(value, Plan):
            self._plan = value if value.revision == 1 else self._plan
        elif isinstance(value, Verdict):
            self._verified |= {value.subtask_id} if value.done else set()
        elif isinstance(value, Predicates):
            self._names = value.names
            self._truth[value.chunk] = value.truth
        elif isinstance(value, ChunkDone):
            self._done[value.chunk] = value
        elif isinstance(value, Reward):
            self._pay(value)
        elif isinstance(value, Safety | Intervention):
            self._note_person(value)

    def record(
        self,
        *,
        success: bool,
        reason: str,
        replans: int,
        mark: bool | None = None,
        broken: str = '',
    ) -> EpisodeRecord:
        """Return the episode's record.

        Args:
            success: Whether the task ended well, as the planner told it.
            reason: Why it ended, in words.
            replans: New plans after the first.
            mark: Judgement from outside: a person's, needed where the rule is 'person', or of a
                goal that is not the body's own; it counts before the rule.
            broken: 'policy_error', 'body_error' or 'cancelled' where that ended the episode.
        """
        subtasks = self._subtasks()
        is_done = self._is_success(subtasks, mark)
        end = broken or self._how(success, reason)
        predicates = self._predicates()
        cause, detail = failure_cause(
            FailureEvidence(
                success=is_done,
                end=end,
                subtasks=subtasks,
                truth=[self._truth[chunk] for chunk in sorted(self._truth) if chunk],
                tells_grasps=tells_grasps(self._names),
                predicates=predicates,
            )
        )
        start, trial = self._trial.start, self._trial
        return EpisodeRecord(
            number=trial.number,
            code=trial.code,
            task=start.task,
            seed=start.seed,
            initial_state=start.initial_state,
            repetition=start.repetition,
            success=is_done,
            judged_by=self._judged_by,
            end=end,
            reason=reason,
            cause=cause,
            cause_detail=detail,
            subtasks=subtasks,
            steps=sum(done.executed_steps for done in self._done.values()),
            chunks=len(self._done),
            duration_s=self._duration_s(),
            interventions=self._takeovers,
            safety_stops=self._stops,
            replans=replans,
            episode_return=self._return[1],
        )

    def _is_mine(self, value: object) -> bool:
        """Whether a message is of this episode; plans and verdicts are told by their stamps."""
        number = getattr(value, 'episode', None)
        if number is not None:
            return bool(number == self._start.episode)
        return bool(getattr(value, 'stamp_ns', -1) >= self._start.stamp_ns)

    def _pay(self, reward: Reward) -> None:
        self._paid |= {name for name, _ in reward.terms if name != SUCCESS_TERM}
        self._return = max(self._return, (reward.chunk, reward.episode_return))

    def _note_person(self, value: Safety | Intervention) -> None:
        if isinstance(value, Intervention):
            self._takeovers += value.active and not self._taken_over
            self._taken_over = value.active
            return
        is_new = value.state.is_latched and not self._state.is_latched
        self._stops += is_new and value.stamp_ns >= self._start.stamp_ns
        self._state = value.state

    def _predicates(self) -> dict[str, str]:
        plan = self._plan
        if plan is None or not self._names:
            return {}
        found = self._ground(plan.subtasks, self._names)
        return {subtask: name for subtask, name in found.items() if name is not None}

    def _subtasks(self) -> tuple[tuple[str, bool], ...]:
        """Return the subtasks of the first plan: done is what was paid or verified."""
        if self._plan is None:
            return ()
        known, done = self._predicates(), self._paid | self._verified
        ids = [subtask.id for subtask in self._plan.subtasks]
        return tuple((id_, id_ in done or known.get(id_) in self._paid) for id_ in ids)

    def _is_success(self, subtasks: Sequence[tuple[str, bool]], mark: bool | None) -> bool:
        if mark is not None or self._judged_by == 'person':
            return bool(mark)
        if self._judged_by == 'subtasks':
            return bool(subtasks) and all(done for _, done in subtasks)
        told = any(done.success for done in self._done.values())
        return told or (self._end is not None and self._end.success)

    def _how(self, success: bool, reason: str) -> str:
        if self._state.is_latched:
            return 'safety_stop'
        if self._end is not None:
            return _BODY_ENDS.get(self._end.end_reason, 'body_error') or 'horizon'
        if success:
            return 'success'
        if self._plan is None:
            return 'no_plan'
        if reason.startswith(_TIME_UP):
            return 'horizon'
        return 'cancelled' if reason.startswith(_CANCELLED) else 'gave_up'

    def _duration_s(self) -> float:
        stamps = [done.stamp_ns for done in self._done.values()]
        stamps += [self._end.stamp_ns] if self._end is not None else []
        return (max(stamps, default=self._start.stamp_ns) - self._start.stamp_ns) / 1e9
