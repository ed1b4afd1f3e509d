"""What the expert knows of a LIBERO scene (privileged): shapes, contacts, regions, goals.

Every function reads the simulator at the moment of the call; nothing is kept, so that a skill
can be carried from one world to its twin. `body` is a `LiberoBody` with a scene. World frame,
SI. LIBERO's collision shapes are boxes (a few capsules and cylinders, taken as their bounding
boxes).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from typing import Any

import numpy as np

from structrl_ros.sim.libero.expert.heightmap import box_points

if TYPE_CHECKING:
    from structrl_ros.types import Float64

_BOX = 6
_CAPSULE = 3
_CYLINDER = 5


@dataclass(frozen=True, slots=True)
class Region:
    """Where an object's origin must come to rest.

    Attributes:
        center: Middle (m), shape (3,).
        rotation: Axes of the region, shape (3, 3).
        half_size: Half sizes along its axes (m), shape (3,).
        kind: 'in' (origin inside the box), 'on' (origin over the site's rectangle, touching its
            parent) or 'object' (origin within 3 cm of another object's origin, on top of it).
        parent: Name of the object or fixture that the region belongs to ('' for the table).
    """

    center: Float64
    rotation: Float64
    half_size: Float64
    kind: str
    parent: str


def movable(body: Any) -> tuple[str, ...]:
    """Return the names of the movable objects, such as 'alphabet_soup_1'."""
    return tuple(body.environment.objects_dict)


def fixed(body: Any) -> tuple[str, ...]:
    """Return the names of the fixtures that have a shape of their own."""
    return tuple(n for n in body.environment.fixtures_dict if n in body.environment.obj_body_id)


def pose(body: Any, name: str) -> tuple[Float64, Float64]:
    """Return the origin (m), shape (3,), and the rotation, shape (3, 3), of an object."""
    env = body.environment
    index = env.obj_body_id[name]
    data = env.sim.data
    return np.array(data.body_xpos[index]), np.array(data.body_xmat[index]).reshape(3, 3)


def _extent(model: Any, geom: int) -> Float64:
    """Return the half sizes of a geom's bounding box in its own frame (m), shape (3,)."""
    kind, size = model.geom_type[geom], model.geom_size[geom]
    if kind == _CAPSULE:
        return np.array([size[0], size[0], size[0] + size[1]])
    if kind == _CYLINDER:
        return np.array([size[0], size[0], size[1]])
    if kind == _BOX:
        return np.array(size)
    return np.full(3, float(model.geom_rbound[geom]))


def surface(body: Any, name: str) -> Float64:
    """Return points on the collision surface of an object or fixture (m), shape (N, 3)."""
    sim = body.environment.sim
    clouds = []
    for geom_name in body.environment.get_object(name).contact_geoms:
        geom = sim.model.geom_name2id(geom_name)
        half = _extent(sim.model, geom)
        rotation = np.array(sim.data.geom_xmat[geom]).reshape(3, 3)
        clouds.append(box_points(-half, half) @ rotation.T + sim.data.geom_xpos[geom])
    return np.concatenate(clouds) if clouds else np.zeros((0, 3))


def lowest(body: Any, name: str) -> float:
    """Return the height (m) of the lowest point of an object's collision shape."""
    model, data = body.environment.sim.model, body.data
    bottoms = []
    for geom in _geoms(body, name):
        down = np.abs(np.array(data.geom_xmat[geom]).reshape(3, 3)[2])
        bottoms.append(data.geom_xpos[geom][2] - down @ _extent(model, geom))
    return float(min(bottoms))


def surroundings(body: Any, without: str = '') -> Float64:
    """Return surface points of all objects and fixtures but one (m), shape (N, 3)."""
    names = [n for n in movable(body) + fixed(body) if n != without]
    return np.concatenate([np.zeros((0, 3)), *(surface(body, n) for n in names)])


def slabs(body: Any) -> Float64:
    """Return the low and high corners of the arena's boxes (m), shape (S, 2, 3): tables, walls.

    They belong to no object, stand still, and are axis-parallel up to a permutation of axes.
    """
    env = body.environment
    model, data = env.sim.model, env.sim.data
    named: set[int] = set()
    for name in movable(body) + fixed(body):
        named.update(model.geom_name2id(g) for g in env.get_object(name).contact_geoms)
    out = []
    for geom in range(model.ngeom):
        label = model.geom_id2name(geom) or ''
        own = geom in named or label.startswith(('robot', 'gripper', 'mount'))
        if own or model.geom_type[geom] != _BOX or not model.geom_contype[geom]:
            continue
        spread = np.abs(np.array(data.geom_xmat[geom]).reshape(3, 3)) @ model.geom_size[geom]
        out.append([data.geom_xpos[geom] - spread, data.geom_xpos[geom] + spread])
    return np.array(out).reshape(-1, 2, 3)


def holds(body: Any, name: str) -> bool:
    """Whether both finger pads touch the object (LIBERO's own test of a grasp)."""
    env = body.environment
    robot = env.robots[0]
    return bool(env._check_grasp(gripper=robot.gripper, object_geoms=env.get_object(name)))


def held(body: Any) -> str:
    """Return the movable object that both finger pads touch, or ''."""
    return next((n for n in movable(body) if holds(body, n)), '')


def _geoms(body: Any, name: str) -> set[int]:
    """Return the numbers of the geoms that make up an object's collision shape."""
    model = body.environment.sim.model
    return {model.geom_name2id(g) for g in body.environment.get_object(name).contact_geoms}


def _contacts(body: Any) -> list[tuple[int, int]]:
    """Return the pairs of geoms that touch now, each in both orders."""
    data = body.data
    pairs = [(int(a), int(b)) for a, b in data.contact.geom[: data.ncon]]
    return pairs + [(b, a) for a, b in pairs]


def rests(body: Any, name: str) -> bool:
    """Whether the object touches anything but the gripper."""
    own = _geoms(body, name)
    label = body.environment.sim.model.geom_id2name
    return any(
        one in own and two not in own and not (label(two) or '').startswith('gripper')
        for one, two in _contacts(body)
    )


def touched(body: Any) -> tuple[str, ...]:
    """Return the movable objects that a finger touches."""
    label = body.environment.sim.model.geom_id2name
    geoms = {two for one, two in _contacts(body) if 'finger' in (label(one) or '')}
    return tuple(n for n in movable(body) if geoms and geoms & _geoms(body, n))


def speed(body: Any, name: str) -> float:
    """Return the speed of an object's origin (m/s)."""
    index = body.environment.obj_body_id[name]
    return float(np.linalg.norm(body.data.cvel[index][3:]))


def region(body: Any, name: str, predicate: str) -> Region:
    """Return the region that a goal conjunct speaks of.

    Args:
        body: The world.
        name: Second argument of the conjunct: a site such as 'basket_1_contain_region', or an
            object.
        predicate: 'in' or 'on'.
    """
    env = body.environment
    if name in env.object_sites_dict:
        site = env.object_sites_dict[name]
        parent = site.parent_name or ''
        return Region(
            center=np.array(env.sim.data.get_site_xpos(name)),
            rotation=np.array(env.sim.data.get_site_xmat(name)).reshape(3, 3),
            half_size=np.array(site.size, dtype=float),
            kind='in' if predicate == 'in' else 'on',
            parent=parent if parent in env.obj_body_id else '',
        )
    center, rotation = pose(body, name)
    return Region(center, rotation, np.array([0.03, 0.03, 0.1]), 'object', name)


def is_true(body: Any, conjunct: tuple[str, ...]) -> bool:
    """Evaluate a goal conjunct such as ('in', 'butter_1', 'basket_1_contain_region')."""
    return bool(body.environment._eval_predicate(list(conjunct)))


def goals(body: Any) -> tuple[tuple[str, ...], ...]:
    """Return the conjuncts of the task's goal."""
    return tuple(tuple(g) for g in body.environment.parsed_problem['goal_state'])


def region_names(body: Any) -> tuple[str, ...]:
    """Return the names of the regions (sites) that something can be put in or on."""
    return tuple(body.environment.object_sites_dict)
