"""What the expert reads of fixtures that move: knobs, drawers and doors (privileged).

Everything is read at the moment of the call. World frame, SI. A fixture or region is named as in a
goal conjunct: 'flat_stove_1', 'white_cabinet_1_bottom_region', 'microwave_1'.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from typing import Any

import numpy as np

if TYPE_CHECKING:
    from structrl_ros.types import Float64

_BOX = 6
_CAPSULE = 3
_UP = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True, slots=True)
class Knob:
    """A knob with a bar on top that turns about a vertical axis.

    Attributes:
        angle: Joint angle (rad), counter-clockwise seen from above.
        axis: A point of the axis (m), shape (3,): x, y, and the height of the joint's frame.
        bar: Direction of the bar, a horizontal unit vector, shape (3,).
        grip: Middle of the bar where both its sides are high (m), shape (3,).
        top: Height of the bar's upper edge (m).
    """

    angle: float
    axis: Float64
    bar: Float64
    grip: Float64
    top: float


@dataclass(frozen=True, slots=True)
class Drawer:
    """A drawer with a horizontal bar as handle.

    Attributes:
        travel: Joint position (m): 0 closed, negative open.
        out: Direction in which it opens, a horizontal unit vector, shape (3,).
        side: Direction of the handle's bar, shape (3,).
        handle: Middle of the handle's bar (m), shape (3,).
        thickness: Half the bar's thickness along `out` (m).
    """

    travel: float
    out: Float64
    side: Float64
    handle: Float64
    thickness: float


@dataclass(frozen=True, slots=True)
class Door:
    """A door that turns about a vertical hinge and has a vertical bar as handle.

    Attributes:
        angle: Joint angle (rad): 0 closed, negative open.
        hinge: A point of the hinge (m), shape (3,).
        along: From the hinge to the free edge, a horizontal unit vector, shape (3,).
        closing: Direction in which the panel moves when it closes, shape (3,).
        panel: Middle of the panel (m), shape (3,).
        half_size: Half sizes of the panel (m): along, thick, high.
        handle: Middle of the handle's bar (m), shape (3,).
    """

    angle: float
    hinge: Float64
    along: Float64
    closing: Float64
    panel: Float64
    half_size: Float64
    handle: Float64


def joints_of(body: Any, name: str) -> tuple[str, ...]:
    """Return the names of the joints that a conjunct about `name` looks at; empty if none."""
    env = body.environment
    if name in env.object_sites_dict:
        return tuple(env.object_sites_dict[name].joints or ())
    if name in env.fixtures_dict and name in env.obj_body_id:
        return tuple(env.get_object(name).joints)
    return ()


def read_knob(body: Any, name: str) -> Knob:
    """Read the knob of a stove."""
    model, data = _simulator(body)
    joint = model.joint_name2id(joints_of(body, name)[0])
    boxes = _geoms(model, model.jnt_bodyid[joint], _BOX)
    tall = max(boxes, key=lambda g: data.geom_xpos[g][2] + _reach(model, data, g, _UP))
    bar = _flat(_axis(data, tall, int(np.argmax(model.geom_size[tall]))))
    axis = np.array(data.xanchor[joint])
    top = float(data.geom_xpos[tall][2] + _reach(model, data, tall, _UP))
    off = 0.5 * float((data.geom_xpos[tall] - axis) @ bar)
    return Knob(_angle(model, data, joint), axis, bar, axis + off * bar, top)


def read_drawer(body: Any, name: str) -> Drawer:
    """Read a drawer of a cabinet."""
    model, data = _simulator(body)
    joint = model.joint_name2id(joints_of(body, name)[0])
    out = -np.array(data.xaxis[joint])
    boxes = _geoms(model, model.jnt_bodyid[joint], _BOX)
    bar = max(boxes, key=lambda g: data.geom_xpos[g] @ out + _reach(model, data, g, out))
    return Drawer(
        travel=_angle(model, data, joint),
        out=out,
        side=np.cross(_UP, out),
        handle=np.array(data.geom_xpos[bar]),
        thickness=_reach(model, data, bar, out),
    )


def read_door(body: Any, name: str) -> Door:
    """Read the door of a microwave."""
    model, data = _simulator(body)
    joint = model.joint_name2id(joints_of(body, name)[0])
    root = model.jnt_bodyid[joint]
    panel = max(_geoms(model, root, _BOX), key=lambda g: float(np.prod(model.geom_size[g])))
    bar = max(_geoms(model, root, _CAPSULE), key=lambda g: float(model.geom_size[g][1]))
    hinge = np.array(data.xanchor[joint])
    along = _flat(data.geom_xpos[panel] - hinge)
    along = max((s * _axis(data, panel, k) for k in range(3) for s in (1, -1)), key=along.dot)
    closing = np.cross(_UP, along)
    return Door(
        angle=_angle(model, data, joint),
        hinge=hinge,
        along=along,
        closing=closing,
        panel=np.array(data.geom_xpos[panel]),
        half_size=np.array([_reach(model, data, panel, d) for d in (along, closing, _UP)]),
        handle=np.array(data.geom_xpos[bar]),
    )


def _simulator(body: Any) -> tuple[Any, Any]:
    """Return robosuite's model and data, which know names."""
    sim = body.environment.sim
    return sim.model, sim.data


def _angle(model: Any, data: Any, joint: int) -> float:
    return float(data.qpos[model.jnt_qposadr[joint]])


def _geoms(model: Any, root: int, kind: int) -> list[int]:
    """Return the collision geoms of one kind that belong to a body itself."""
    own = np.flatnonzero((model.geom_bodyid == root) & (model.geom_type == kind))
    return [int(g) for g in own if model.geom_contype[g] or model.geom_conaffinity[g]]


def _axis(data: Any, geom: int, index: int) -> Float64:
    return np.array(data.geom_xmat[geom]).reshape(3, 3)[:, index]


def _reach(model: Any, data: Any, geom: int, direction: Float64) -> float:
    """Return half the extent of a box along a direction (m)."""
    rotation = np.array(data.geom_xmat[geom]).reshape(3, 3)
    return float(np.abs(direction @ rotation) @ model.geom_size[geom])


def _flat(vector: Float64) -> Float64:
    """Return the horizontal part of a vector at length 1."""
    flat = np.array([vector[0], vector[1], 0.0])
    return flat / float(np.linalg.norm(flat))
