"""From a subtask to the skill that carries it out."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

from structrl_ros.errors import SimulationError
from structrl_ros.sim.libero.expert.articulated import VERBS
from structrl_ros.sim.libero.expert.articulated import make_articulated
from structrl_ros.sim.libero.expert.articulated import skill_into_fixture
from structrl_ros.sim.libero.expert.grasp_skill import GraspSkill
from structrl_ros.sim.libero.expert.naming import conjunct_of
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
    if subtask.verb in ('grasp', 'place'):
        goal = conjunct_of(body, subtask)
        if (special := skill_into_fixture(body, goal)) is not None:
            return special
        return GraspSkill(goal[1]) if subtask.verb == 'grasp' else PlaceSkill(goal)
    if subtask.verb in VERBS:
        return make_articulated(body, subtask)
    allowed = ', '.join(['grasp', 'place', *VERBS])
    raise SimulationError(f'the expert has no skill {subtask.verb!r}; allowed: {allowed}')
