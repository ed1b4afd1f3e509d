"""Which skill puts a thing into a fixture: an open drawer, a microwave."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

from structrl_ros.sim.libero.expert import scene
from structrl_ros.sim.libero.expert.articulated_handle import HandleGraspSkill
from structrl_ros.sim.libero.expert.articulated_joints import joints_of
from structrl_ros.sim.libero.expert.articulated_microwave import MicrowaveSkill
from structrl_ros.sim.libero.expert.articulated_stow import StowSkill
from structrl_ros.sim.libero.expert.place_skill import PlaceSkill

if TYPE_CHECKING:
    from structrl_ros.sim.libero.expert.skill import Skill


def is_hinged(body: Any, name: str) -> bool:
    """Whether a fixture, or the fixture that a region belongs to, has a hinged door."""
    site = body.environment.object_sites_dict.get(name)
    owner = site.parent_name if site is not None and site.parent_name else name
    return any('microjoint' in joint for joint in joints_of(body, owner))


def skill_into_fixture(body: Any, item: tuple[str, ...]) -> Skill | None:
    """Return the skill for a grasp or placement that a hand from above cannot do, or None.

    Args:
        body: A `LiberoBody` with a scene.
        item: ('grasp', object) or a conjunct ('in' or 'on', object, region).
    """
    if item[0] == 'grasp':
        hot = any(g[:2] == ('in', item[1]) and is_hinged(body, g[2]) for g in scene.goals(body))
        return HandleGraspSkill(item[1]) if hot else None
    if item[0] == 'in' and is_hinged(body, item[2]):
        return MicrowaveSkill(item)
    if item[0] == 'in' and joints_of(body, item[2]) and 'level' in joints_of(body, item[2])[0]:
        return StowSkill(item)
    return None


def placing_skill(body: Any, conjunct: tuple[str, ...]) -> Skill:
    """Return the skill that makes a conjunct ('in' or 'on', object, region) true."""
    return skill_into_fixture(body, conjunct) or PlaceSkill(conjunct)
