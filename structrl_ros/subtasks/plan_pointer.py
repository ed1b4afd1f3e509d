"""Where the execution of one plan revision stands."""

from __future__ import annotations

from structrl_ros.types import Plan
from structrl_ros.types import Subtask
from structrl_ros.types import Verdict


class PlanPointer:
    """The subtask of a revision that is pursued; verdicts move it forward, a stop empties it."""

    def __init__(self, plan: Plan) -> None:
        """Begin at the first subtask."""
        self.plan = plan
        self._index = 0
        self._is_stopped = False
        self._verified: set[int] = set()

    @property
    def current(self) -> str:
        """Id of the subtask to do now, '' if there is none."""
        if self._is_stopped or self._index >= len(self.plan.subtasks):
            return ''
        return self.plan.subtasks[self._index].id

    def subtask(self, verdict: Verdict) -> Subtask | None:
        """Return the subtask that a verdict is about, None if it is not about this revision."""
        plan = self.plan
        if verdict.revision != plan.revision or verdict.stamp_ns < plan.stamp_ns:
            return None
        if verdict.index >= len(plan.subtasks):
            return None
        subtask = plan.subtasks[verdict.index]
        return subtask if subtask.id == verdict.subtask_id else None

    def apply(self, verdict: Verdict) -> bool:
        """Move by a verdict of this revision; True if `current` is another one now.

        A verdict on a subtask that the pointer has passed is a duplicate and does nothing. One on
        a later subtask says that the planner is there: verdicts were lost, as by a restart.
        """
        before = self.current
        if verdict.index >= self._index:
            self._index = verdict.index + int(verdict.done)
            self._is_stopped |= verdict.stop
        return self.current != before

    def verify(self, index: int) -> bool:
        """Note that a subtask was seen done; True for the first time only."""
        is_new = index not in self._verified
        self._verified.add(index)
        return is_new
