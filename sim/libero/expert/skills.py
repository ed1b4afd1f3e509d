"""From a subtask to the skill that carries it out."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING
from typing import Any

from structrl_ros.errors import SimulationError
from structrl_ros.sim.libero.expert.grasp_skill import GraspSkill
from structrl_ros.sim.libero.expert.naming import conjunct_of
from structrl_ros.sim.libero.expert.naming import object_of
from structrl_ros.sim.libero.expert.place_skill import PlaceSkill

if TYPE_CHECKING:
    from structrl_ros.sim.libero.expert.skill import Skill
    from structrl_ros.types import Subtask


def make_skill(body: Any, subtask: Subtask) -> Skill:
    """Return the skill for a subtask, resolved to the simulator's names.

    Args:
        body: A `LiberoBody` with a scene; the skill keeps no reference to it.
        subtask: `grasp`, `place`, `open`, `close`, `turn on` or `turn off`.

    Raises:
        SimulationError: If the verb is unknown or a name means nothing in this scene.
    """
    if subtask.verb == 'grasp':
        return GraspSkill(object_of(body, subtask.arguments[0]))
    if subtask.verb == 'place':
        return PlaceSkill(conjunct_of(body, subtask.arguments))
    articulated = import_module('structrl_ros.sim.libero.expert.articulated')
    if subtask.verb in articulated.VERBS:
        return articulated.make_articulated(body, subtask)
    allowed = ', '.join(['grasp', 'place', *articulated.VERBS])
    raise SimulationError(f'the expert has no skill {subtask.verb!r}; allowed: {allowed}')
