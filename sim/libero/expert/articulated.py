"""Expert skills for what moves on a fixture: knobs, drawers and doors.

`turn on`, `turn off`, `open` and `close`, resolved from the words of a plan to the conjunct of
LIBERO that they bring about.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

from structrl_ros.errors import SimulationError
from structrl_ros.naming import match_handle
from structrl_ros.sim.libero.expert import scene
from structrl_ros.sim.libero.expert.articulated_door import CloseDoorSkill
from structrl_ros.sim.libero.expert.articulated_drawer import CloseDrawerSkill
from structrl_ros.sim.libero.expert.articulated_drawer import OpenDrawerSkill
from structrl_ros.sim.libero.expert.articulated_drawer import has_room_below
from structrl_ros.sim.libero.expert.articulated_into import is_hinged
from structrl_ros.sim.libero.expert.articulated_into import skill_into_fixture
from structrl_ros.sim.libero.expert.articulated_joints import joints_of
from structrl_ros.sim.libero.expert.articulated_knob import KnobSkill
from structrl_ros.sim.libero.predicates import fold_name

if TYPE_CHECKING:
    from structrl_ros.sim.libero.expert.skill import Skill
    from structrl_ros.types import Subtask

__all__ = ['VERBS', 'fixture_conjunct', 'make_articulated', 'skill_for', 'skill_into_fixture']

#: Verbs of the skill grammar and LIBERO's predicates.
PREDICATES = {'turn on': 'turnon', 'turn off': 'turnoff', 'open': 'open', 'close': 'close'}
VERBS = tuple(PREDICATES)


def make_articulated(body: Any, subtask: Subtask) -> Skill:
    """Return the skill for a subtask about a fixture.

    Args:
        body: A `LiberoBody` with a scene; the skill keeps no reference to it.
        subtask: Its verb is one of `VERBS`.

    Raises:
        SimulationError: If nothing in the scene fits, or there is no skill for it.
    """
    return skill_for(body, fixture_conjunct(body, subtask.verb, subtask.arguments[0]))


def fixture_conjunct(body: Any, verb: str, words: str) -> tuple[str, str]:
    """Return the conjunct that `verb [words]` brings about; a goal's own goes before its equals.

    Raises:
        SimulationError: If the verb is unknown, or `words` names nothing that moves.
    """
    if verb not in PREDICATES:
        raise SimulationError(f'no fixture skill {verb!r}; allowed: {", ".join(VERBS)}')
    predicate = PREDICATES[verb]
    turns = verb in ('turn on', 'turn off')
    names = [n for n in moving_parts(body) if ('button' in joints_of(body, n)[0]) == turns]
    goals = scene.goals(body)

    def fit(name: str) -> tuple[float, bool]:
        return match_handle(words, name), (predicate, name) in goals

    best = max(names, key=fit, default='')
    if not best or fit(best)[0] <= 0.0:
        known = ', '.join(fold_name(n) for n in names) or 'nothing'
        raise SimulationError(f'nothing to {verb} is called {words!r}; known: {known}')
    return predicate, best


def moving_parts(body: Any) -> tuple[str, ...]:
    """Return the fixtures with one joint and the regions of drawers."""
    env = body.environment
    names = [
        n for n in (*scene.fixed(body), *env.object_sites_dict) if len(joints_of(body, n)) == 1
    ]
    return tuple(dict.fromkeys(names))


def skill_for(body: Any, conjunct: tuple[str, ...]) -> Skill:
    """Return the skill that makes a conjunct about a fixture true.

    Raises:
        SimulationError: If there is none.
    """
    predicate, name = conjunct
    if predicate in ('turnon', 'turnoff'):
        return KnobSkill(conjunct)
    hinged = is_hinged(body, name)
    if predicate == 'close':
        return CloseDoorSkill(conjunct) if hinged else CloseDrawerSkill(conjunct)
    if predicate == 'open' and not hinged:
        if not has_room_below(body, name):
            raise SimulationError(
                f'the expert cannot open {name}: its handle is too low for a hand on its side'
            )
        return OpenDrawerSkill(conjunct)
    raise SimulationError(f'the expert has no skill to {predicate} {name}')
