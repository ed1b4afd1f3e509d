"""What the operators take hold of in a MuJoCo scene, whichever body it belongs to."""

from __future__ import annotations

import re
from collections.abc import Callable
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from structrl_ros.errors import ParameterError
from structrl_ros.ports import Body
from structrl_ros.types import Float64

#: Static bodies that are scenery; fixtures that a task may be about are not among them.
_SCENERY = re.compile(r'(?:.*_)?(?:world|floor|table)')


@dataclass(frozen=True, slots=True)
class Movable:
    """A free body: its id, and where its pose (position, quaternion wxyz) begins in qpos."""

    body: int
    address: int


@dataclass(frozen=True, slots=True)
class Handles:
    """A scene's parts by what they mean.

    Attributes:
        model: MuJoCo's model of the body.
        data: MuJoCo's data of the body.
        movable: Free bodies by name.
        site: Id of the site between the finger tips.
        cameras: MuJoCo's camera of each role.
        hidden_groups: Geom groups that are not drawn.
        scenery: Ids of drawn geoms of the background.
        truth: Tells the predicates that are true now, by name.
        held: Tells the movable that both fingers touch now, '' if none.
    """

    model: Any
    data: Any
    movable: Mapping[str, Movable]
    site: int
    cameras: Mapping[str, str]
    hidden_groups: tuple[int, ...]
    scenery: tuple[int, ...]
    truth: Callable[[], dict[str, bool]]
    held: Callable[[], str]

    def pose(self, data: Any, name: str) -> Float64:
        """Return position and quaternion wxyz of a movable, metres, world frame, shape (7,)."""
        at = self.movable[name].address
        return np.array(data.qpos[at : at + 7])

    def drawn_geoms(self, name: str) -> list[int]:
        """Return the geoms of a movable that are seen."""
        body = self.movable[name].body
        hidden = set(self.hidden_groups)
        return [
            geom
            for geom in range(self.model.ngeom)
            if self.model.body_rootid[self.model.geom_bodyid[geom]] == body
            and int(self.model.geom_group[geom]) not in hidden
        ]


def handles_of(body: Body) -> Handles:
    """Return the handles of a body that has a scene.

    Raises:
        ParameterError: If the body has no MuJoCo scene that is known here.
    """
    if body.spec.name == 'tabletop':
        return _tabletop(body)
    if body.spec.name == 'libero':
        return _libero(body)
    raise ParameterError(
        f'no counterfactual pictures of body {body.spec.name!r}; allowed: libero, tabletop'
    )


def _tabletop(body: Any) -> Handles:
    model, task = body.model, body.task
    names = [f.name for f in task.fixtures if f.free] + [o.name for o in task.objects]

    def held() -> str:
        found = np.flatnonzero(body.view.held[0])
        return task.objects[found[0]].name if found.size else ''

    return Handles(
        model=model,
        data=body.data,
        movable={name: _movable(model, name, f'{name}_free') for name in names},
        site=model.site('tcp').id,
        cameras={role: role for role in body.spec.roles},
        hidden_groups=(4,),
        scenery=_scenery(model, (4,)),
        truth=lambda: dict(zip(task.predicate_names, body.view.truth[0].tolist(), strict=True)),
        held=held,
    )


def _libero(body: Any) -> Handles:
    model, environment, predicates = body.model, body.environment, body.predicates
    movable = {
        name: _movable(model, f'{name}_main', thing.joints[0])
        for name, thing in environment.objects_dict.items()
    }
    graspable = [n.removeprefix('grasp(')[:-1] for n in predicates.names if n.startswith('grasp(')]

    def held() -> str:
        return next((name for name in graspable if predicates.grasped(name)), '')

    return Handles(
        model=model,
        data=body.data,
        movable=movable,
        site=model.site('gripper0_grip_site').id,
        cameras={'head': 'agentview', 'left_wrist': 'robot0_eye_in_hand'},
        hidden_groups=(0,),
        scenery=_scenery(model, (0,)),
        truth=lambda: dict(zip(predicates.names, predicates.evaluate()[0], strict=True)),
        held=held,
    )


def _movable(model: Any, body: str, joint: str) -> Movable:
    return Movable(model.body(body).id, int(model.joint(joint).qposadr[0]))


def _scenery(model: Any, hidden_groups: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(
        geom
        for geom in range(model.ngeom)
        if _SCENERY.fullmatch(model.body(model.geom_bodyid[geom]).name)
        and int(model.geom_group[geom]) not in hidden_groups
    )
