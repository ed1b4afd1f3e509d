"""From the words of a plan to the simulator's names.

Where several objects fit a name (two moka pots), the one in the hand is meant, else one that the
goal still asks for, else the first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

from structrl_ros.errors import SimulationError
from structrl_ros.naming import fold
from structrl_ros.sim.libero.expert import scene
from structrl_ros.sim.libero.predicates import fold_name

if TYPE_CHECKING:
    from collections.abc import Sequence


def object_of(body: Any, words: str) -> str:
    """Return the movable object that `words` means, such as 'alphabet_soup_1'.

    Raises:
        SimulationError: If no movable object fits.
    """
    fitting = [n for n in scene.movable(body) if fold(fold_name(n)) == fold(words)]
    if not fitting:
        known = ', '.join(dict.fromkeys(fold_name(n) for n in scene.movable(body)))
        raise SimulationError(f'nothing to grasp is called {words!r}; known: {known}')
    return min(fitting, key=lambda n: _urgency(body, n))


def _urgency(body: Any, name: str) -> int:
    """Return 0 for the object in the hand, 1 for one with an open goal, 2 for any other."""
    if scene.holds(body, name):
        return 0
    mine = [g for g in scene.goals(body) if len(g) == 3 and g[1] == name]
    return 1 if any(not scene.is_true(body, g) for g in mine) else 2


def conjunct_of(body: Any, arguments: Sequence[str]) -> tuple[str, ...]:
    """Return the conjunct that `place [X, Y]` brings about: of the goal, else made up.

    Raises:
        SimulationError: If X or Y means nothing in this scene.
    """
    name = object_of(body, arguments[0])
    for goal in scene.goals(body):
        if len(goal) == 3 and goal[1] == name:
            return goal
    raise SimulationError(f'the goal says nothing of {arguments[0]!r}')
