"""The monitor that reads the GRM's potential: REVER's Verify for bodies without predicates.

The potential tells of the whole task, not of a step. So a plan's steps share what is missing to
`high` evenly: a step that begins at potential p with M steps left, itself included, is done at
p + (high - p) / M, and the last step at `high`. That the steps take equal shares is an assumption:
a policy that waits for the verdict of each step stands still for ever behind a step whose share is
smaller. `marks`, read off a demonstration, replace the assumption.
"""

from __future__ import annotations

from collections.abc import Sequence

from structrl_ros.errors import ParameterError
from structrl_ros.errors import StaleDataError
from structrl_ros.types import Judgement
from structrl_ros.types import Observation
from structrl_ros.types import Progress
from structrl_ros.types import Subtask


class PotentialMonitor:
    """Judges a step by the potential, with hysteresis; confidence is the potential, at least 0.

    A step once done stays so until the potential falls below its threshold by more than
    `high - low`, or the gate says that the state is off the way (negative branch).
    """

    name = 'grm'

    def __init__(
        self, *, high: float = 0.9, low: float = 0.8, marks: Sequence[float] = ()
    ) -> None:
        """Begin without a plan.

        Args:
            high: Potential at which the last step is done, in (0, 1].
            low: Potential below which it is not done any more, in [0, high].
            marks: Potential at which each step of the task is done, in (0, 1]; of a plan of what
                is left the last ones count. A longer plan than that, or none, is shared evenly.

        Raises:
            ParameterError: If a threshold is outside its range.
        """
        if not 0.0 < high <= 1.0 or not 0.0 <= low <= high:
            raise ParameterError(
                f'high {high:g}, low {low:g}; allowed: high in (0, 1], low in [0, high]'
            )
        if not all(0.0 < mark <= 1.0 for mark in marks):
            raise ParameterError(f'marks {", ".join(f"{m:g}" for m in marks)}; allowed: in (0, 1]')
        self._high, self._band, self._marks = high, high - low, tuple(marks)
        self._plan: tuple[str, ...] = ()
        self._attempt: tuple[str, int] = ('', 0)
        self._is_done = False

    def follow(self, subtasks: Sequence[Subtask]) -> None:
        """Take the steps of the plan that is about to be executed."""
        self._plan = tuple(subtask.id for subtask in subtasks)

    def threshold(self, subtask: Subtask, start: Progress | None) -> float:
        """Return the potential at which a step is done that began at `start`.

        Raises:
            ParameterError: If the step is not of the plan.
        """
        if subtask.id not in self._plan:
            known = ', '.join(self._plan) or 'none'
            raise ParameterError(f'step {subtask.id!r} is not of the plan; its steps: {known}')
        left = len(self._plan) - self._plan.index(subtask.id)
        if left <= len(self._marks):
            return self._marks[-left]
        before = 0.0 if start is None else min(max(start.potential, 0.0), self._high)
        return before + (self._high - before) / left

    def verify(self, subtask: Subtask, start: Observation, now: Observation) -> Judgement:
        """Return whether the potential has reached what the step must reach.

        Raises:
            StaleDataError: If `now` holds no valid progress.
            ParameterError: If the step is not of the plan.
        """
        progress = now.progress
        if progress is None:
            raise StaleDataError('no progress has come from grm_node yet')
        if not progress.valid:
            raise StaleDataError('the newest progress of grm_node is not valid')
        attempt = (subtask.id, start.stamp_ns)
        if attempt != self._attempt:
            self._attempt, self._is_done = attempt, False
        limit = self.threshold(subtask, start.progress)
        kept = limit - self._band if self._is_done else limit
        self._is_done = progress.potential >= kept and not progress.negative_branch
        return Judgement(self._is_done, min(1.0, max(0.0, progress.potential)))
