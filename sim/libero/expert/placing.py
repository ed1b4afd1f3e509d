"""Where to put down what the hand holds: a search over place and yaw, straight down.

The held object and the hand are lowered together over a height map of everything else; a place
is good if the object's origin comes to rest well inside the goal region, low, and without a long
fall. Pure geometry, world frame, metres and radians.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from structrl_ros.sim.libero.expert.grasping import SIDE_MARGIN
from structrl_ros.sim.libero.expert.grasping import open_hand
from structrl_ros.sim.libero.expert.grasping import turned
from structrl_ros.sim.libero.expert.heightmap import CELL
from structrl_ros.sim.libero.expert.heightmap import HeightMap
from structrl_ros.sim.libero.expert.heightmap import profile_of

if TYPE_CHECKING:
    from structrl_ros.sim.libero.expert.scene import Region
    from structrl_ros.types import Float64

#: The object is let go this far above the place where it would touch (m).
RELEASE_GAP = 0.003


@dataclass(frozen=True, slots=True)
class Placement:
    """Where to let go.

    Attributes:
        position: Grip site (m), shape (3,).
        turn: Rotation of hand and object about the vertical from now (rad).
        fall: Distance that the object falls when let go (m).
        cost: Lower is better.
    """

    position: Float64
    turn: float
    fall: float
    cost: float


def inside(region: Region, origins: Float64) -> tuple[Float64, Float64]:
    """Return how far origins are inside a region, and how far from its middle, horizontally.

    Mirrors LIBERO's own tests: 'in' takes the box's bounding box, 'on' the site's axes.

    Args:
        region: The region.
        origins: Origins of the object (m), shape (..., 3).

    Returns:
        Margins to the nearest edge (m, negative outside), and distances (m), both shape (...).
    """
    offset = origins - region.center
    flat = np.linalg.norm(offset[..., :2], axis=-1)
    if region.kind == 'object':
        return region.half_size[0] - flat, flat
    if region.kind == 'in':
        half = np.abs(region.rotation @ region.half_size)
        local = offset
    else:
        half = region.half_size
        local = offset @ region.rotation.T
    return np.min(half[:2] - np.abs(local[..., :2]), axis=-1), flat


def height_band(region: Region) -> tuple[float, float]:
    """Return between which heights (m) the origin must come to rest."""
    low, high = region.center[2], region.center[2]
    if region.kind == 'in':
        half = float(np.abs(region.rotation @ region.half_size)[2])
        return low - half - 0.01, high + half
    if region.kind == 'on':
        return low + float(region.half_size[2]) - 0.005, high + float(region.half_size[2]) + 0.10
    return low, high + 0.15


def widened(points: Float64, margin: float) -> Float64:
    """Return points with copies moved sideways by `margin` (m), shape (5 N, 3)."""
    steps = np.array([[0, 0, 0], [1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0]]) * margin
    return (points[None] + steps[:, None]).reshape(-1, 3)


def placements(
    held: Float64,
    origin: Float64,
    yaw: float,
    region: Region,
    tops: HeightMap,
    turns: Float64,
    wish: Float64 | None = None,
) -> list[Placement]:
    """Return places to let go, best first; empty if the region cannot be reached straight down.

    Args:
        held: Surface points of the object relative to the grip site (m), world axes, shape (N, 3).
        origin: Origin of the object relative to the grip site (m), shape (3,).
        yaw: Yaw of the hand now (rad).
        region: Where the origin has to come to rest.
        tops: Height map of everything but the object and the hand.
        turns: Rotations about the vertical to try (rad), shape (K,).
        wish: Horizontal position (m), shape (2,), that the origin should be near; default the
            middle.
    """
    found: list[Placement] = []
    hand = open_hand(SIDE_MARGIN)
    reach = float(np.linalg.norm(region.half_size[:2]))
    for turn in map(float, turns):
        shift = turned(origin, turn)
        low = region.center[:2] - reach - shift[:2]
        xs, ys = tops.window(low, region.center[:2] + reach - shift[:2])
        body = tops.lowest(profile_of(turned(widened(held, CELL), turn)), xs, ys)
        palm = tops.lowest(profile_of(turned(hand, yaw + turn)), xs, ys)
        site = np.maximum(body, palm) + RELEASE_GAP
        rest = np.stack([*np.meshgrid(xs, ys, indexing='ij'), body], axis=-1) + shift
        cost = _costs(rest, site - body, region, wish) + 0.02 * abs(turn)
        for index in np.argsort(cost, axis=None)[:3]:
            i, j = np.unravel_index(index, cost.shape)
            if np.isfinite(cost[i, j]):
                place = np.array([xs[i], ys[j], site[i, j]])
                fall = float(site[i, j] - body[i, j])
                found.append(Placement(place, turn, fall, float(cost[i, j])))
    return sorted(found, key=lambda p: p.cost)


def _costs(rest: Float64, falls: Float64, region: Region, wish: Float64 | None) -> Float64:
    """Return the cost of each place, shape (A, B); infinite where the object would lie outside.

    Args:
        rest: Origin of the object where it touches (m), shape (A, B, 3).
        falls: How far it falls to there (m), shape (A, B).
        region: Where it has to come to rest.
        wish: Horizontal position (m), shape (2,), or None for the middle.
    """
    margin, distance = inside(region, rest)
    if wish is not None:
        distance = np.linalg.norm(rest[..., :2] - wish, axis=-1)
    band = height_band(region)
    height = rest[..., 2]
    ok = (margin > 0.004) & (height > band[0]) & (height < band[1])
    cost = distance + 1.0 * (height - height[ok].min(initial=np.inf)) + 0.6 * falls
    cost += 2.0 * np.maximum(0.0, 0.015 - margin)
    return np.where(ok, cost, np.inf)
