"""The whole scene of a task as MJCF: physics settings, light, cameras, table, arm, things.

Only what the task needs is in it: every degree of freedom costs time in each physics step.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from xml.etree.ElementTree import Element
from xml.etree.ElementTree import tostring

from structrl_ros.sim.tabletop.mjcf.elements import NOTHING
from structrl_ros.sim.tabletop.mjcf.elements import TABLE
from structrl_ros.sim.tabletop.mjcf.elements import add
from structrl_ros.sim.tabletop.mjcf.elements import box
from structrl_ros.sim.tabletop.mjcf.elements import settings
from structrl_ros.sim.tabletop.mjcf.fixtures import add_button
from structrl_ros.sim.tabletop.mjcf.fixtures import add_drawer
from structrl_ros.sim.tabletop.mjcf.fixtures import add_knob
from structrl_ros.sim.tabletop.mjcf.fixtures import add_lidded_box
from structrl_ros.sim.tabletop.mjcf.fixtures import part_name
from structrl_ros.sim.tabletop.mjcf.looks import add_materials
from structrl_ros.sim.tabletop.mjcf.looks import object_material
from structrl_ros.sim.tabletop.mjcf.robot import Grip
from structrl_ros.sim.tabletop.mjcf.robot import add_actuators
from structrl_ros.sim.tabletop.mjcf.robot import add_robot
from structrl_ros.sim.tabletop.mjcf.things import add_basket
from structrl_ros.sim.tabletop.mjcf.things import add_bowl
from structrl_ros.sim.tabletop.mjcf.things import add_object
from structrl_ros.sim.tabletop.mjcf.things import add_peg
from structrl_ros.sim.tabletop.task_data import Fixture
from structrl_ros.sim.tabletop.task_data import FixtureKind
from structrl_ros.sim.tabletop.task_data import Task

_BUILDERS: Mapping[FixtureKind, Callable[[Element, Fixture], None]] = MappingProxyType(
    {
        'lidded_box': add_lidded_box,
        'drawer': add_drawer,
        'button': add_button,
        'knob': add_knob,
        'bowl': add_bowl,
        'basket': add_basket,
        'peg': add_peg,
    }
)

GRIP = Grip()
#: Softness of a contact (s) unless the pads say otherwise; below 2 timesteps MuJoCo clamps it.
CONTACT_TIME_S = 0.01


@dataclass(frozen=True, slots=True)
class Physics:
    """Settings that grasps need; each was seen to matter (docs/tabletop.md).

    Attributes:
        timestep_s: Of a physics step.
        integrator: `implicitfast` integrates the servos' damping implicitly.
        cone: Of friction; `elliptic` with a high `impratio` keeps what is held from creeping.
        impratio: Stiffness of friction over that of the normal force.
        grip: Of the fingers.
    """

    timestep_s: float = 0.002
    integrator: str = 'implicitfast'
    cone: str = 'elliptic'
    impratio: float = 10.0
    grip: Grip = GRIP


def scene_xml(task: Task, physics: Physics) -> str:
    """Return the MJCF of a task; things stand at the origin until a reset places them."""
    root = Element('mujoco', model=task.name)
    add(root, 'compiler', angle='radian', autolimits='true')
    add(
        root,
        'option',
        timestep=physics.timestep_s,
        integrator=physics.integrator,
        cone=physics.cone,
        impratio=physics.impratio,
    )
    add(add(root, 'default'), 'geom', solref=(CONTACT_TIME_S, 1.0))
    visual = add(root, 'visual')
    add(visual, 'headlight', ambient=(0.35, 0.35, 0.35), diffuse=(0.35, 0.35, 0.35))
    add(visual, 'map', znear=0.02, zfar=20.0)
    add(visual, 'quality', shadowsize=0, offsamples=2)
    add_materials(add(root, 'asset'))
    world = add(root, 'worldbody')
    _add_room(world)
    add_robot(world, physics.grip)
    contact = add(root, 'contact')
    for fixture in task.fixtures:
        body = add(world, 'body', name=fixture.name)
        if fixture.free:
            add(body, 'freejoint', name=free_joint_name(fixture.name))
        _BUILDERS[fixture.kind](body, fixture)
        if fixture.joint is not None:
            add(contact, 'exclude', body1=fixture.name, body2=part_name(fixture))
    for slot, thing in enumerate(task.objects):
        body = add(world, 'body', name=thing.name)
        add(body, 'freejoint', name=free_joint_name(thing.name))
        add_object(body, thing, object_material(thing.name, slot))
    add_actuators(root, physics.grip)
    return tostring(root, encoding='unicode')


def free_joint_name(thing: str) -> str:
    """Return the name of the joint of a thing that can be carried."""
    return f'{thing}_free'


def _add_room(world: Element) -> None:
    """Append lights, the table and the camera `head`, which looks at the robot."""
    add(world, 'light', pos=(0.2, -0.7, 1.8), dir=(0.15, 0.4, -1.0), diffuse=(0.45, 0.45, 0.45))
    add(world, 'light', pos=(1.2, 0.8, 1.6), dir=(-0.5, -0.5, -1.0), diffuse=(0.3, 0.3, 0.3))
    add(
        world,
        'camera',
        name='head',
        pos=(1.10, 0.0, 0.60),
        xyaxes=(0.0, 1.0, 0.0, -0.56, 0.0, 0.83),
        fovy=56.0,
    )
    box(world, (0.40, 0.0, -0.02), (0.65, 0.75, 0.02), name='table', material='table', **TABLE)
    floor = settings(type='plane', size=(3.0, 3.0, 0.1), pos=(0.0, 0.0, -0.75))
    add(world, 'geom', material='floor', **floor, **NOTHING)
