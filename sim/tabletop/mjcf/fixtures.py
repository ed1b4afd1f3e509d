"""Things with a moving part: box with a lid, drawer, button, knob.

Each is built in its fixture's frame, with the joint `<name>_joint` of a body `<name>_part`. Bars
to pull at run along y, with open ends, so that the open fingers fit around them from above.
Nothing beside a bar is as high as the hand is while its fingers hold the bar.
"""

from __future__ import annotations

from xml.etree.ElementTree import Element

from structrl_ros.sim.tabletop.mjcf.elements import FIXED
from structrl_ros.sim.tabletop.mjcf.elements import THING
from structrl_ros.sim.tabletop.mjcf.elements import add
from structrl_ros.sim.tabletop.mjcf.elements import box
from structrl_ros.sim.tabletop.mjcf.elements import capsule
from structrl_ros.sim.tabletop.mjcf.elements import settings
from structrl_ros.sim.tabletop.mjcf.elements import walls
from structrl_ros.sim.tabletop.task_data import Fixture
from structrl_ros.sim.tabletop.task_data import Handle
from structrl_ros.sim.tabletop.task_data import Joint
from structrl_ros.sim.tabletop.task_data import Triple

WALL = 0.005
LID_THICKNESS = 0.006
BAR_RADIUS = 0.006
#: Half the length of a bar, and where its posts stand: beyond the width of a finger.
BAR_HALF = 0.05
POST_RADIUS = 0.004


def add_lidded_box(body: Element, fixture: Fixture) -> None:
    """Append walls, a floor and a lid that turns about the far edge."""
    joint, handle = _parts(fixture)
    assert joint.hinge is not None
    walls(body, (0.0, 0.0, 0.0), fixture.size, WALL, material='box', **FIXED)
    lid = _part(body, fixture, joint.hinge)
    hinge = settings(axis=(0.0, 1.0, 0.0), damping=0.15, frictionloss=0.02, armature=0.001)
    add(lid, 'joint', name=joint_name(fixture), range=(0.0, joint.limit), **hinge)
    half_x, half_y = fixture.size[0] / 2.0, fixture.size[1] / 2.0
    middle = 0.001 + LID_THICKNESS / 2.0
    plate = (half_x, half_y, LID_THICKNESS / 2.0)
    box(lid, (-half_x, 0.0, middle), plate, mass=0.15, material='lid', **THING)
    x, y, z = (handle.offset[i] - joint.hinge[i] for i in range(3))
    _add_bar(lid, (x, y, z), (0.0, 0.0, middle - z))


def add_drawer(body: Element, fixture: Fixture) -> None:
    """Append a cabinet, open to the robot, and a drawer that comes out of it."""
    joint, handle = _parts(fixture)
    half_x, half_y, height = fixture.size[0] / 2.0, fixture.size[1] / 2.0, fixture.size[2]
    side = settings(FIXED, material='cabinet')
    box(body, (0.0, 0.0, height - 0.003), (half_x, half_y, 0.003), **side)
    box(body, (half_x - 0.003, 0.0, height / 2.0), (0.003, half_y, height / 2.0), **side)
    for sign in (-1.0, 1.0):
        centre = (0.0, sign * (half_y - 0.003), height / 2.0)
        box(body, centre, (half_x, 0.003, height / 2.0), **side)
    drawer = _part(body, fixture, (0.0, 0.0, 0.0))
    rail = settings(type='slide', axis=(-1.0, 0.0, 0.0), damping=5.0, frictionloss=0.5)
    add(drawer, 'joint', name=joint_name(fixture), range=(0.0, joint.limit), **rail)
    tray = (2.0 * half_x - 0.012, 2.0 * half_y - 0.016, 0.05)
    floor = 0.02
    walls(drawer, (-0.006, 0.0, floor), tray, WALL, material='drawer', mass=0.08, **THING)
    front = (-half_x - 0.003, 0.0, height / 2.0)
    box(drawer, front, (0.003, half_y, 0.4 * height), mass=0.05, material='drawer', **THING)
    _add_bar(drawer, handle.offset, (-half_x - handle.offset[0], 0.0, 0.0))


def add_button(body: Element, fixture: Fixture) -> None:
    """Append a housing and a cap on a spring, its top at the height of the handle."""
    joint, handle = _parts(fixture)
    half_x, half_y, half_z = (s / 2.0 for s in fixture.size)
    box(body, (0.0, 0.0, half_z), (half_x, half_y, half_z), material='dark', **FIXED)
    cap = _part(body, fixture, handle.offset)
    spring = settings(stiffness=200.0, springref=-0.005, damping=4.0, armature=0.05)
    slide = settings(spring, type='slide', axis=(0.0, 0.0, -1.0))
    add(cap, 'joint', name=joint_name(fixture), range=(0.0, joint.limit), **slide)
    look = settings(type='cylinder', size=(0.025, 0.01), material='accent', mass=0.05)
    add(cap, 'geom', pos=(0.0, 0.0, -0.01), **look, **THING)


def add_knob(body: Element, fixture: Fixture) -> None:
    """Append a housing and a blade that turns about z, across the fingers at the handle's yaw."""
    joint, handle = _parts(fixture)
    half_x, half_y, half_z = (s / 2.0 for s in fixture.size)
    base = 0.6 * half_z
    box(body, (0.0, 0.0, base), (half_x, half_y, base), material='dark', **FIXED)
    blade = _part(body, fixture, handle.offset)
    turn = settings(axis=(0.0, 0.0, 1.0), damping=0.02, frictionloss=0.05, armature=0.001)
    add(blade, 'joint', name=joint_name(fixture), range=(0.0, joint.limit), **turn)
    low, high = 2.0 * base + 0.002 - handle.offset[2], 0.008
    half = (0.009, 0.03, (high - low) / 2.0)
    look = settings(euler=(0.0, 0.0, handle.yaw), mass=0.05, material='accent')
    box(blade, (0.0, 0.0, (low + high) / 2.0), half, **look, **THING)


def joint_name(fixture: Fixture) -> str:
    """Return the name of the fixture's joint."""
    return f'{fixture.name}_joint'


def part_name(fixture: Fixture) -> str:
    """Return the name of the body that the fixture's joint moves."""
    return f'{fixture.name}_part'


def _parts(fixture: Fixture) -> tuple[Joint, Handle]:
    assert fixture.joint is not None
    assert fixture.handle is not None
    return fixture.joint, fixture.handle


def _part(body: Element, fixture: Fixture, position: Triple) -> Element:
    return add(body, 'body', name=part_name(fixture), pos=position)


def _add_bar(body: Element, place: Triple, posts: Triple) -> None:
    """Append a bar along y at a place, and a post from each end by an offset."""
    x, y, z = place
    look = settings(THING, material='metal', mass=0.01)
    capsule(body, (x, y - BAR_HALF, z), (x, y + BAR_HALF, z), BAR_RADIUS, **look)
    for end in (y - BAR_HALF, y + BAR_HALF):
        foot = (x + posts[0], end + posts[1], z + posts[2])
        capsule(body, (x, end, z), foot, POST_RADIUS, **look)
