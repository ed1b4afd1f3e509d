"""From the words of a plan to the simulator's names.

A subtask is grounded first on what the body publishes, with the same rules as the tracker, so
that the expert works on the object that the tracker looks at. Where the goal says nothing of it,
on all objects, regions and grasps of the scene.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

from structrl_ros.errors import SimulationError
from structrl_ros.sim.libero.expert import scene
from structrl_ros.sim.libero.predicates import fold_name
from structrl_ros.sim.libero.predicates import predicate_name
from structrl_ros.subtasks.grounding import fitness
from structrl_ros.subtasks.grounding import ground
from structrl_ros.subtasks.grounding import split_predicate

if TYPE_CHECKING:
    from structrl_ros.types import Subtask


def conjunct_of(body: Any, subtask: Subtask) -> tuple[str, ...]:
    """Return what a subtask brings about: ('grasp', X), ('in', X, region) or ('on', X, Y).

    Where several objects fit equally well (two moka pots and a plan that does not number them),
    the one in the hand is meant, else one that the goal still asks for.

    Raises:
        SimulationError: If a name means nothing in this scene.
    """
    published = (*body.predicates.names, *body.predicates.goal)
    name = ground(subtask, published)
    if name is not None and '#' not in subtask.id:
        equals = [n for n in dict.fromkeys(published) if _fits_as_well(subtask, n, name)]
        name = min(equals, key=lambda n: _urgency(body, n))
    if name is None:
        name = ground(subtask, _possible(body, subtask.verb))
    if name is None:
        known = ', '.join(dict.fromkeys(fold_name(n) for n in scene.movable(body)))
        words = ', '.join(repr(a) for a in subtask.arguments)
        raise SimulationError(f'cannot {subtask.verb} {words} here; known objects: {known}')
    kind, arguments = split_predicate(name)
    return (kind, *arguments)


def _fits_as_well(subtask: Subtask, name: str, best: str) -> bool:
    """Whether a predicate fits a subtask as well as the best one does."""
    return fitness(subtask, name) >= fitness(subtask, best) - 1e-9


def _urgency(body: Any, name: str) -> int:
    """Return 0 for the object in the hand, 1 for one with an open goal, 2 for any other."""
    thing = split_predicate(name)[1][0]
    if thing in scene.movable(body) and scene.holds(body, thing):
        return 0
    goals = [g for g in scene.goals(body) if len(g) == 3 and g[1] == thing]
    return 1 if any(not scene.is_true(body, g) for g in goals) else 2


def _possible(body: Any, verb: str) -> list[str]:
    """Return every predicate that a verb could bring about in this scene."""
    things = scene.movable(body)
    if verb == 'grasp':
        return [f'grasp({t})' for t in things]
    sites = [
        ('in' if 'contain' in s or 'heating' in s else 'on', s) for s in scene.region_names(body)
    ]
    targets = [*sites, *(('on', t) for t in things)]
    return [predicate_name([k, t, y]) for t in things for k, y in targets if t != y]
