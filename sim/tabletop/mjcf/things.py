"""Things without a moving part: objects to carry, and bowl, basket and peg to carry them to."""

from __future__ import annotations

from collections.abc import Mapping
from math import pi
from xml.etree.ElementTree import Element

from structrl_ros.sim.tabletop.mjcf.elements import CARRIED
from structrl_ros.sim.tabletop.mjcf.elements import FIXED
from structrl_ros.sim.tabletop.mjcf.elements import NOTHING
from structrl_ros.sim.tabletop.mjcf.elements import THING
from structrl_ros.sim.tabletop.mjcf.elements import Numbers
from structrl_ros.sim.tabletop.mjcf.elements import add
from structrl_ros.sim.tabletop.mjcf.elements import box
from structrl_ros.sim.tabletop.mjcf.elements import settings
from structrl_ros.sim.tabletop.mjcf.elements import walls
from structrl_ros.sim.tabletop.task_data import Fixture
from structrl_ros.sim.tabletop.task_data import FreeObject

#: Flat pieces of a round bowl's wall.
PIECES = 12
#: Kilograms a cubic metre.
DENSITY = 500.0
#: Sliding, spinning and rolling friction of a round thing: it must come to rest by itself.
ROLLING = (1.0, 0.01, 0.002)


def add_object(body: Element, thing: FreeObject, material: str) -> None:
    """Append the shape of a free object around its centre."""
    half = tuple(s / 2.0 for s in thing.size)
    look = settings(THING, material=material, density=DENSITY)
    if thing.shape == 'sphere':
        add(body, 'geom', type='sphere', size=half[0], condim=6, friction=ROLLING, **look)
    elif thing.shape == 'box':
        box(body, (0.0, 0.0, 0.0), half, **look)
    else:
        inner = thing.hole / 2.0
        wide = (half[0] - inner) / 2.0
        for sign in (-1.0, 1.0):
            across = (wide, half[1], half[2])
            box(body, (sign * (inner + wide), 0.0, 0.0), across, **look)
            along = (inner, (half[1] - inner) / 2.0, half[2])
            box(body, (0.0, sign * (inner + along[1]), 0.0), along, **{**look, **CARRIED})


def add_basket(body: Element, fixture: Fixture) -> None:
    """Append a floor and four walls."""
    walls(body, (0.0, 0.0, 0.0), fixture.size, 0.006, material='basket', **_bits(fixture))


def add_bowl(body: Element, fixture: Fixture) -> None:
    """Append a flat floor and a ring of pieces that lean outwards."""
    radius, height = fixture.size[0] / 2.0, fixture.size[2]
    look = settings(_bits(fixture), material='bowl', density=300.0)
    seen = settings(NOTHING, material='bowl', mass=0.0)
    size = (0.75 * radius, 0.003)
    add(body, 'geom', type='cylinder', size=size, pos=(0.0, 0.0, 0.0031), **seen)
    foot = 0.53 * radius
    box(body, (0.0, 0.0, 0.003), (foot, foot, 0.003), **look)  # stands firmer than a disc
    lean = 0.35
    middle = 0.86 * radius
    half = (0.0035, 1.05 * middle * pi / PIECES, 0.49 * height)
    for piece in range(PIECES):
        turn = 2.0 * pi * piece / PIECES
        spoke = add(body, 'frame', euler=(0.0, 0.0, turn))
        box(spoke, (middle, 0.0, height / 2.0), half, euler=(0.0, lean, 0.0), **look)


def add_peg(body: Element, fixture: Fixture) -> None:
    """Append a square peg whose top quarter is narrower, to find into a hole."""
    half_x, half_y, height = fixture.size[0] / 2.0, fixture.size[1] / 2.0, fixture.size[2]
    look = settings(_bits(fixture), material='accent')
    low = 0.375 * height
    box(body, (0.0, 0.0, low), (half_x, half_y, low), **look)
    tip = 0.125 * height
    box(body, (0.0, 0.0, height - tip), (0.7 * half_x, 0.7 * half_y, tip), **look)


def _bits(fixture: Fixture) -> Mapping[str, Numbers]:
    return THING if fixture.free else FIXED
