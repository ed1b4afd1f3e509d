"""Small functions that write MJCF elements; numbers go in, text comes out."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from types import MappingProxyType
from xml.etree.ElementTree import Element
from xml.etree.ElementTree import SubElement

from structrl_ros.sim.tabletop.task_data import Triple

Numbers = float | str | Iterable[float]

#: Collision bits: what a geom is, and what it collides with. The arm never collides with itself,
#: nor what stands fast with what stands fast.
ARM: Mapping[str, Numbers] = MappingProxyType({'contype': 1, 'conaffinity': 2})
THING: Mapping[str, Numbers] = MappingProxyType({'contype': 2, 'conaffinity': 3})
FIXED: Mapping[str, Numbers] = MappingProxyType({'contype': 4, 'conaffinity': 3})
TABLE: Mapping[str, Numbers] = MappingProxyType({'contype': 8, 'conaffinity': 3})
#: Part of a thing whose other parts carry it: it meets everything but the table.
CARRIED: Mapping[str, Numbers] = MappingProxyType({'contype': 16, 'conaffinity': 23})
NOTHING: Mapping[str, Numbers] = MappingProxyType({'contype': 0, 'conaffinity': 0})


def settings(*groups: Mapping[str, Numbers], **more: Numbers) -> dict[str, Numbers]:
    """Return attributes that several elements share, groups such as `THING` first."""
    joined: dict[str, Numbers] = {}
    for group in groups:
        joined.update(group)
    return joined | more


def add(parent: Element, tag: str, **attributes: Numbers) -> Element:
    """Append an element; `class_` stands for `class`, sequences become numbers in a row."""
    texts = {name.rstrip('_'): _text(value) for name, value in attributes.items()}
    return SubElement(parent, tag, texts)


def box(
    parent: Element, position: Iterable[float], half: Iterable[float], **more: Numbers
) -> None:
    """Append a box geom: centre and half extents, metres."""
    add(parent, 'geom', type='box', pos=position, size=half, **more)


def capsule(parent: Element, start: Triple, end: Triple, radius: float, **more: Numbers) -> None:
    """Append a capsule geom between two points, metres."""
    add(parent, 'geom', type='capsule', fromto=(*start, *end), size=radius, **more)


def walls(parent: Element, foot: Triple, size: Triple, thickness: float, **more: Numbers) -> None:
    """Append a tray: a floor and four walls, outer extents `size`, metres."""
    x, y, z = foot
    half_x, half_y, half_z = (s / 2.0 for s in size)
    thin = thickness / 2.0
    box(parent, (x, y, z + thin), (half_x, half_y, thin), **more)
    for sign in (-1.0, 1.0):
        across = (thin, half_y, half_z)
        box(parent, (x + sign * (half_x - thin), y, z + half_z), across, **more)
        along = (half_x - thickness, thin, half_z)
        box(parent, (x, y + sign * (half_y - thin), z + half_z), along, **more)


def _text(value: Numbers) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return repr(value)
    return ' '.join(repr(float(x)) for x in value)
