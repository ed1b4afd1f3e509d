"""The talk with a planner: ask, read the answer, hand an invalid one back with the exact error."""

from __future__ import annotations

import dataclasses

from structrl_ros.errors import PlanSyntaxError
from structrl_ros.naming import expand
from structrl_ros.plan.commands import AskPlanner
from structrl_ros.plan.commands import ExecutiveSettings
from structrl_ros.plan.parse import ParsedPlan
from structrl_ros.plan.parse import parse_plan
from structrl_ros.types import PlanRequest

_TEXT_KEPT = 4000


class Dialogue:
    """One question at a time to one planner; calls are numbered, old answers are no answers."""

    def __init__(self, settings: ExecutiveSettings, planner: str) -> None:
        """Begin silent."""
        self.planner = planner
        self._settings = settings
        self._number = 0
        self._request: PlanRequest | None = None

    def ask(self, request: PlanRequest) -> AskPlanner:
        """Return the question to put to the planner."""
        self._number += 1
        self._request = request
        return AskPlanner(self._number, request)

    def close(self) -> None:
        """Take no more answers."""
        self._request = None

    def expects(self, number: int) -> bool:
        """Tell whether an answer with this number is waited for."""
        return self._request is not None and number == self._number

    def read(self, text: str) -> ParsedPlan | AskPlanner:
        """Return the plan in an answer, or the question to ask again because it is invalid.

        Raises:
            PlanSyntaxError: If this was the last answer allowed; it says how many there were.
        """
        request = self._request
        assert request is not None
        objects = None if request.vocabulary is None else expand(request.vocabulary)
        try:
            parsed = parse_plan(text, objects=objects, max_steps=self._settings.max_steps)
        except PlanSyntaxError as error:
            rejected = (*request.rejected, (text[:_TEXT_KEPT], str(error)))
            if len(rejected) >= self._settings.answers:
                count = f'{len(rejected)} answers'
                raise PlanSyntaxError(
                    f'planner {self.planner} gave no valid plan in {count}: {error}'
                ) from None
            return self.ask(dataclasses.replace(request, rejected=rejected))
        self._request = None
        return parsed
