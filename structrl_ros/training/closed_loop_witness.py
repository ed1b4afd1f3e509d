"""Hears an episode of the suite, beside its account: first plan, truth, untrue verdicts."""

from __future__ import annotations

from structrl_ros.evaluation.episode_account import EpisodeAccount
from structrl_ros.subtasks.grounding import ground_all
from structrl_ros.types import Plan
from structrl_ros.types import Predicates
from structrl_ros.types import Subtask
from structrl_ros.types import Verdict


class Witness:
    """Takes every message and hands it on to the account.

    Attributes:
        first_plan: The first revision, None before any.
        seen_true: Predicates that held in some chunk.
        lies: Verdicts 'done' on a step whose predicate has never held in the episode, and attempts
            that were stopped while it held.
    """

    def __init__(self, account: EpisodeAccount) -> None:
        """Begin with nothing heard."""
        self._account = account
        self.first_plan: Plan | None = None
        self.seen_true: frozenset[str] = frozenset()
        self.lies = 0
        self._names: tuple[str, ...] = ()
        self._now: frozenset[str] = frozenset()
        self._steps: dict[str, Subtask] = {}

    def take(self, value: object) -> None:
        """Take a message."""
        self._account.take(value)
        if isinstance(value, Predicates):
            self._names, self._now = value.names, value.truth
            self.seen_true |= value.truth
        elif isinstance(value, Plan):
            self.first_plan = self.first_plan or value
            self._steps |= {step.id: step for step in value.subtasks}
        elif isinstance(value, Verdict):
            self.lies += self._is_lie(value)

    def _is_lie(self, verdict: Verdict) -> bool:
        if not (verdict.done or verdict.stop) or verdict.subtask_id not in self._steps:
            return False
        name = ground_all(tuple(self._steps.values()), self._names).get(verdict.subtask_id)
        if name is None:
            return False
        return name not in self.seen_true if verdict.done else name in self._now
