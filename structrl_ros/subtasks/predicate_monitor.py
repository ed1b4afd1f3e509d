"""The monitor that reads the simulator's truth: REVER's Verify answered by a predicate."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from importlib import import_module

from structrl_ros.errors import ParameterError
from structrl_ros.errors import StaleDataError
from structrl_ros.subtasks.grounding import ground
from structrl_ros.subtasks.grounding import ground_all
from structrl_ros.types import Judgement
from structrl_ros.types import Observation
from structrl_ros.types import Subtask


class PredicateMonitor:
    """Judges a subtask by the predicate that it grounds to; confidence is always 1.

    Privileged: it needs a body that publishes `predicates`. `follow` tells it the plan, so that
    two equal steps look at two things; without a plan every subtask is grounded alone.
    """

    name = 'predicates'

    def __init__(self) -> None:
        """Start without a plan; load what the first judgement needs, so that it is not late."""
        import_module('scipy.optimize')
        self._plan: tuple[Subtask, ...] = ()
        self._names: tuple[str, ...] = ()
        self._grounded: dict[str, str | None] = {}

    def follow(self, subtasks: Sequence[Subtask]) -> None:
        """Take the steps of the plan that is about to be executed."""
        self._plan = tuple(subtasks)
        self._names = ()
        self._grounded = {}

    def predicate(self, subtask: Subtask, names: Sequence[str]) -> str | None:
        """Return the predicate that is looked at for a subtask, None if there is none."""
        if tuple(names) != self._names:
            self._names = tuple(names)
            self._grounded = ground_all(self._plan, names)
        found = self._grounded.get(subtask.id)
        if found is not None:
            return found
        return ground(dataclasses.replace(subtask, id=subtask.id.partition('#')[0]), names)

    def verify(self, subtask: Subtask, start: Observation, now: Observation) -> Judgement:
        """Return whether the subtask's predicate held in the newest chunk.

        Raises:
            StaleDataError: If `now` holds no predicates yet.
            ParameterError: If none of the body's predicates tells of the subtask.
        """
        del start
        if now.predicates is None:
            raise StaleDataError('no predicates have come from the body yet')
        name = self.predicate(subtask, now.predicates.names)
        if name is None:
            known = ', '.join(now.predicates.names) or 'none'
            raise ParameterError(f'no predicate tells of {subtask.id!r}; published: {known}')
        return Judgement(name in now.predicates.truth, 1.0)
