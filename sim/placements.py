"""Where the things of a simulated scene are, in the frame of the robot's base."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from structrl_ros.errors import SimulationError
from structrl_ros.ports import Body
from structrl_ros.types import Float64


@dataclass(frozen=True, slots=True)
class Placement:
    """Pose of a thing: `position` in metres (3,), `quat_xyzw` (4,), in the base frame.

    The origin is the thing's own: its centre, or the foot of a fixture. A thing that `is_fixed`
    is used where it stands.
    """

    name: str
    position: Float64
    quat_xyzw: Float64
    is_fixed: bool = False

    @property
    def turn_deg(self) -> float:
        """Turn about the base's z in degrees, (-180, 180]."""
        x, y, z, w = self.quat_xyzw
        return float(np.degrees(np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))))

    @property
    def tilt_deg(self) -> float:
        """Angle between the thing's z and the base's in degrees, [0, 180]."""
        x, y = self.quat_xyzw[:2]
        return float(np.degrees(np.arccos(np.clip(1 - 2 * (x * x + y * y), -1.0, 1.0))))


def placements(body: Body) -> tuple[Placement, ...]:
    """Return the poses of the things of a body's scene as they are now (privileged).

    Raises:
        SimulationError: If there is no scene, or the body does not tell.
    """
    readers = {
        'kinematic': _kinematic,
        'libero': _libero,
        'tabletop': _tabletop,
        'twin': _tabletop,
    }
    read = readers.get(body.spec.name)
    if read is None:
        known = ', '.join(sorted(readers))
        raise SimulationError(f'body {body.spec.name} tells no placements; allowed: {known}')
    return read(body)


def _tabletop(body: Any) -> tuple[Placement, ...]:
    view, task = body.view, body.task
    return (
        *(
            Placement(o.name, view.objects[0, i].copy(), _turned(view.object_yaws[0, i]))
            for i, o in enumerate(task.objects)
        ),
        *(
            Placement(
                f.name, view.fixtures[0, i].copy(), _turned(view.fixture_yaws[0, i]), not f.free
            )
            for i, f in enumerate(task.fixtures)
        ),
    )


def _kinematic(body: Any) -> tuple[Placement, ...]:
    scene = body.scene
    basket = Placement('basket', np.append(scene.basket, 0.0), _turned(0.0), is_fixed=True)
    cans = (
        Placement(name, place.copy(), _turned(0.0))
        for name, place in zip(body.cans, scene.cans, strict=True)
    )
    return (*cans, basket)


def _libero(body: Any) -> tuple[Placement, ...]:
    environment, data = body.environment, body.data
    base = body.model.body(environment.robots[0].robot_model.root_body).id
    turn = data.xmat[base].reshape(3, 3)
    found = []
    for name in (*environment.objects_dict, *environment.fixtures_dict):
        thing = environment.obj_body_id[name]
        matrix = turn.T @ data.xmat[thing].reshape(3, 3)
        place = turn.T @ (data.xpos[thing] - data.xpos[base])
        quat_xyzw = Rotation.from_matrix(matrix).as_quat()
        found.append(Placement(name, place, quat_xyzw, name in environment.fixtures_dict))
    return tuple(found)


def _turned(yaw: float) -> Float64:
    """Return the quaternion xyzw of a turn about z."""
    return np.array([0.0, 0.0, np.sin(yaw / 2.0), np.cos(yaw / 2.0)])
