"""Shapes that are drawn into a picture without being part of the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from structrl_ros.types import Float64

#: Colours that are far apart, RGB in [0, 1].
PALETTE: tuple[tuple[float, float, float], ...] = (
    (0.85, 0.10, 0.10),
    (0.10, 0.55, 0.15),
    (0.10, 0.25, 0.80),
    (0.90, 0.75, 0.05),
    (0.55, 0.10, 0.60),
    (0.05, 0.70, 0.75),
    (0.95, 0.45, 0.05),
    (0.15, 0.15, 0.15),
    (0.95, 0.60, 0.75),
)
SHAPES = ('box', 'ellipsoid', 'cylinder', 'capsule')


@dataclass(frozen=True, slots=True)
class ExtraGeom:
    """One shape in the world frame.

    Attributes:
        shape: One of `SHAPES`.
        half: Half extents along its axes, metres; of a cylinder or capsule the first is the
            radius, the third half its length.
        position: Metres, shape (3,).
        rotation: Columns are its axes, shape (3, 3).
        colour: RGB in [0, 1].
    """

    shape: str
    half: tuple[float, float, float]
    position: Float64
    rotation: Float64
    colour: tuple[float, float, float]


def draw_extra(scene: Any, geoms: list[ExtraGeom]) -> None:
    """Append shapes to an `mjvScene` that has been updated; those beyond its room are left out."""
    import mujoco

    for geom in geoms:
        if scene.ngeom >= scene.maxgeom:
            return
        mujoco.mjv_initGeom(
            scene.geoms[scene.ngeom],
            getattr(mujoco.mjtGeom, f'mjGEOM_{geom.shape.upper()}'),
            np.array(geom.half),
            np.asarray(geom.position, dtype=np.float64),
            np.asarray(geom.rotation, dtype=np.float64).ravel(),
            np.array([*geom.colour, 1.0], dtype=np.float32),
        )
        scene.ngeom += 1


def unlike(colour: Float64, rng: np.random.Generator) -> tuple[float, float, float]:
    """Return a colour of the palette that is far from a given one, shape (3,)."""
    distances = np.linalg.norm(np.array(PALETTE) - np.asarray(colour)[:3], axis=1)
    far = np.argsort(-distances)[:4]
    return PALETTE[int(rng.choice(far))]
