"""Colours and textures of the tabletop; all are made by MuJoCo, none is loaded from a file."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from structrl_ros.sim.tabletop.mjcf.elements import add
from structrl_ros.sim.tabletop.mjcf.elements import settings

Colour = tuple[float, float, float, float]

_COLOURS: dict[str, Colour] = {
    'shell': (0.93, 0.94, 0.95, 1.0),
    'joint': (0.22, 0.23, 0.25, 1.0),
    'metal': (0.55, 0.57, 0.60, 1.0),
    'dark': (0.25, 0.26, 0.28, 1.0),
    'accent': (0.90, 0.45, 0.10, 1.0),
    'box': (0.16, 0.42, 0.62, 1.0),
    'lid': (0.35, 0.62, 0.80, 1.0),
    'cabinet': (0.55, 0.38, 0.24, 1.0),
    'drawer': (0.75, 0.56, 0.36, 1.0),
    'basket': (0.72, 0.52, 0.28, 1.0),
    'bowl': (0.90, 0.88, 0.82, 1.0),
    'floor': (0.42, 0.44, 0.46, 1.0),
    'red': (0.80, 0.14, 0.12, 1.0),
    'yellow': (0.95, 0.82, 0.15, 1.0),
    'green': (0.25, 0.60, 0.25, 1.0),
    'purple': (0.48, 0.28, 0.62, 1.0),
    'roast': (0.78, 0.50, 0.24, 1.0),
}
#: What colour a name makes one expect; other objects take these in turn.
_EXPECTED = {
    'chicken': 'roast',
    'apple': 'red',
    'lemon': 'yellow',
    'cheese': 'yellow',
    'orange': 'accent',
    'red': 'red',
    'green': 'green',
}
_TURNS = ('red', 'green', 'purple', 'yellow')


def add_materials(asset: Element) -> None:
    """Append all materials, a light sky and the table's wood to the assets."""
    sky = settings(rgb1=(0.80, 0.86, 0.92), rgb2=(0.55, 0.62, 0.70))
    add(asset, 'texture', type='skybox', builtin='gradient', width=64, height=384, **sky)
    wood = settings(rgb1=(0.80, 0.70, 0.56), rgb2=(0.77, 0.66, 0.52))
    size = settings(width=64, height=64)
    add(asset, 'texture', name='wood', type='2d', builtin='checker', **wood, **size)
    add(asset, 'material', name='table', texture='wood', texrepeat=(2.0, 8.0), specular=0.1)
    for name, colour in _COLOURS.items():
        add(asset, 'material', name=name, rgba=colour, specular=0.3, shininess=0.3)


def object_material(name: str, slot: int) -> str:
    """Return the material of a free object by its name, else by its slot."""
    return _EXPECTED.get(name.split('_')[0], _TURNS[slot % len(_TURNS)])
