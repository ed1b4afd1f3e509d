"""Planners of the closed-loop suite: the true plan, and a planner whose scene is seen wrongly."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import replace

from structrl_ros.errors import PlanSyntaxError
from structrl_ros.evaluation.closed_loop import AbstractInstruction
from structrl_ros.naming import fold
from structrl_ros.ontology import ATTRIBUTES
from structrl_ros.ontology import FIXTURES
from structrl_ros.plan.rules import remaining_phrases
from structrl_ros.ports import Planner
from structrl_ros.types import PlanRequest


class ReferencePlanner:
    """Gives the first true plan of an instruction: the upper bound, where only control fails."""

    name = 'reference'

    def __init__(self, instruction: AbstractInstruction) -> None:
        """Take the instruction; what is asked is not read."""
        self._phrases = list(instruction.plans[0].phrases)

    def propose(self, request: PlanRequest) -> str:
        """Return the plan, or what is left of it after a failed attempt."""
        phrases = self._phrases
        if request.failed is not None:
            phrases = remaining_phrases(request.failed, phrases)
        return json.dumps({'stages': [[phrase] for phrase in phrases]})


@dataclass(frozen=True, slots=True)
class Misperception:
    """One thing that a planner is not shown as it is.

    Attributes:
        thing: The scene's own name.
        called: What it is taken for, a name that is not in the scene; '' if it is not seen.
    """

    thing: str
    called: str

    @property
    def words(self) -> str:
        """The same in words."""
        return f'{self.thing} as {self.called}' if self.called else f'{self.thing} missing'


def draw_misperception(
    objects: Sequence[str], rate: float, key: tuple[object, ...]
) -> Misperception | None:
    """Return what is seen wrongly in an episode: nothing, a thing missing, or one misnamed.

    Any movable thing may be hit. A misnamed one is called like a thing of the ontology that is not
    in the scene.

    Args:
        objects: Names in the scene.
        rate: Share of episodes with one misperception, 0 to 1.
        key: What the draw depends on.
    """
    drawn = random.Random(repr(key))
    movable = [name for name in objects if fold(name).split()[-1] not in FIXTURES]
    if not movable or drawn.random() >= rate:
        return None
    thing = drawn.choice(movable)
    if drawn.random() < 0.5:
        return Misperception(thing, '')
    words = {word for name in objects for word in fold(name).split()}
    others = [name for name in ATTRIBUTES if words.isdisjoint(name.split())]
    return Misperception(thing, drawn.choice(others))


class WatchedPlanner:
    """Any planner, shown a scene as it was perceived; notes how it answered at first.

    Names in its text are put back to those of the scene, since a controller acts on the thing that
    was meant, however it is called.

    Attributes:
        seen: What is seen wrongly, None for nothing.
        answer: 'plan' (text came), 'refused', 'down', or '' before the first question.
        refuses_truth: Whether a planner that refused would have refused the scene as it is, too.
    """

    def __init__(self, planner: Planner, seen: Misperception | None = None) -> None:
        """Stand before a planner."""
        self._planner = planner
        self.seen = seen
        self.name = planner.name
        self.answer = ''
        self.refuses_truth = False

    def propose(self, request: PlanRequest) -> str:
        """Return the planner's text.

        Raises:
            StructRLError: What the planner raises.
        """
        try:
            text = self._planner.propose(self._perceived(request))
        except PlanSyntaxError:
            if not self.answer:
                self.answer, self.refuses_truth = 'refused', self._refuses(request)
            raise
        except Exception:
            self.answer = self.answer or 'down'
            raise
        self.answer = self.answer or 'plan'
        return self._put_back(text)

    def _refuses(self, request: PlanRequest) -> bool:
        try:
            self._planner.propose(request)
        except PlanSyntaxError:
            return True
        return False

    def _perceived(self, request: PlanRequest) -> PlanRequest:
        seen = self.seen
        if seen is None or request.vocabulary is None:
            return request
        named = (seen.called if v == seen.thing else v for v in request.vocabulary)
        return replace(request, vocabulary=tuple(name for name in named if name))

    def _put_back(self, text: str) -> str:
        seen = self.seen
        if seen is None or not seen.called:
            return text
        return re.sub(rf'\b{re.escape(seen.called)}\b', seen.thing, text)
