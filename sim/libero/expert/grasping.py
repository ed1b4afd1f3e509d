"""Where to grasp: a search over yaw, place and depth for a hand that points down.

The open hand is lowered over a height map (`heightmap`), which gives the depth that it can reach
without touching anything. At that depth the part of the object between the pads must be narrow
enough, and the more parallel its two sides are to the pads the better. The same search finds a
grasp over the whole width of a box or a can and a grasp of the rim of a bowl or a mug, because
the piece between the fingers need not be the whole object. Pure geometry, world frame, metres
and radians.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from structrl_ros.sim.libero.expert.heightmap import CELL
from structrl_ros.sim.libero.expert.heightmap import HeightMap
from structrl_ros.sim.libero.expert.heightmap import box_points

if TYPE_CHECKING:
    from structrl_ros.types import Float64

#: Geometry of robosuite's Panda gripper, measured in the model: relative to the grip site, z up.
TIP = 0.0092
PAD_LOW, PAD_HIGH = -0.0044, 0.0116
PAD_HALF_WIDTH = 0.008
PALM = 0.031
HALF_OPENING = 0.0385
FINGER_HALF_WIDTH = 0.0105

#: Widest piece that is grasped (m): the opening, less room for errors.
WIDEST = 0.072

#: Most that the sides of the piece may be off from parallel to the pads (m): about 40 degrees;
#: where nothing else is free a little more, and no room to the sides.
MOST_UNEVEN = 0.010
AT_LAST_UNEVEN = 0.011

#: Room between hand and anything else (m): kept always downwards, and kept sideways if possible.
DEPTH_MARGIN = 0.003
SIDE_MARGIN = 0.002
WISHED_MARGIN = 0.007

YAWS = np.arange(0.0, np.pi, np.pi / 24)


@dataclass(frozen=True, slots=True)
class Grasp:
    """A place to close the hand at.

    Attributes:
        position: Grip site (m), shape (3,).
        yaw: Angle of the closing axis (rad), in [0, pi).
        width: Width of the piece between the pads (m).
        cost: Lower is better.
    """

    position: Float64
    yaw: float
    width: float
    cost: float


def hand_boxes(margin: float) -> list[tuple[Float64, Float64]]:
    """Return the open hand as boxes (low, high) about its grip site, x closing, z up (m)."""
    y = FINGER_HALF_WIDTH + margin
    near = HALF_OPENING - margin
    boxes = []
    for x0, x1, low in ((near, 0.054 + margin, -TIP), (0.054, 0.066 + margin, TIP)):
        boxes.append(((x0, -y, low), (x1, y, low + CELL)))
        boxes.append(((-x1, -y, low), (-x0, y, low + CELL)))
    for half, low in ((0.020 + margin, PALM), (0.033 + margin, 0.065)):
        boxes.append(((-0.104 - margin, -half, low), (0.104 + margin, half, low + CELL)))
    return [(np.array(low), np.array(high)) for low, high in boxes]


def open_hand(margin: float) -> Float64:
    """Return surface points of the open hand relative to its grip site, z up, shape (N, 3)."""
    return np.concatenate([box_points(*box) for box in hand_boxes(margin)])


def turned(points: Float64, yaw: float) -> Float64:
    """Return points (..., 3) turned about the vertical by `yaw`."""
    c, s = np.cos(yaw), np.sin(yaw)
    x, y, z = np.moveaxis(points, -1, 0)
    return np.stack([c * x - s * y, s * x + c * y, z], axis=-1)


def _pieces(values: Float64, gap: float) -> list[tuple[float, float]]:
    """Split sorted values at gaps wider than `gap`; return the ends of each run."""
    ordered = np.sort(values)
    breaks = np.flatnonzero(np.diff(ordered) > gap)
    firsts = np.concatenate([[0], breaks + 1])
    lasts = np.concatenate([breaks, [len(ordered) - 1]])
    return [(float(ordered[a]), float(ordered[b])) for a, b in zip(firsts, lasts, strict=True)]


def _unevenness(u: Float64, v: Float64) -> float:
    """Return how far the sides, at v min and max, are from parallel over the pads (m)."""
    lows, highs = [], []
    for first, last in ((-0.009, -0.0027), (-0.0027, 0.0027), (0.0027, 0.009)):
        strip = v[(u >= first) & (u <= last)]
        if len(strip):
            lows.append(strip.min())
            highs.append(strip.max())
    if len(lows) < 2:
        return 0.02
    return 2.0 / (len(lows) - 1) * float(max(np.ptp(lows), np.ptp(highs)))


class GraspSearch:
    """Search for grasps of one object in a scene.

    Args:
        points: Surface points of the object (m), shape (N, 3).
        others: Surface points of everything else (m), shape (M, 3).
        slabs: Boxes of the arena (m), shape (S, 2, 3).
    """

    def __init__(self, points: Float64, others: Float64, slabs: Float64) -> None:
        """Build the two height maps: with the object and without it."""
        self._points = points
        self._most_uneven = MOST_UNEVEN
        self._middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
        self._reach = 0.5 * float(np.linalg.norm(np.ptp(points[:, :2], axis=0))) + 0.11
        half = 1.45 * self._reach
        near = np.all(np.abs(others[:, :2] - self._middle[:2]) < half, axis=1)
        others = others[near]
        everything = np.concatenate([points, others])
        self._all = HeightMap.of_points(everything, slabs, self._middle, half)
        self._others = HeightMap.of_points(others, slabs, self._middle, half)

    def best(self, wish_yaw: float, count: int = 12) -> list[Grasp]:
        """Return up to `count` grasps, best first, of different yaw or place.

        Args:
            wish_yaw: Yaw of the hand now (rad): less turning is a little better.
            count: Limit of the list.
        """
        for self._most_uneven, margin in ((MOST_UNEVEN, SIDE_MARGIN), (AT_LAST_UNEVEN, 0.0)):
            grasps = [g for yaw in YAWS for g in self._at_yaw(float(yaw), wish_yaw, margin)]
            if grasps:
                break
        return sorted(grasps, key=lambda g: g.cost)[:count]

    def _floors(self, yaw: float, least: float) -> tuple[Float64, Float64]:
        """Return the lowest free height of the grip site over each cell: tight and wide margin.

        The maps are in the frame of the hand: first axis along the closing direction.
        """
        size = self._reach
        everything = self._all.turned(self._middle, yaw, size)
        others = self._others.turned(self._middle, yaw, size)
        floors = []
        for margin in (least, WISHED_MARGIN):
            sweep = np.array([HALF_OPENING, FINGER_HALF_WIDTH + margin, -TIP])
            floor = others.lowest_box(sweep * [-1, -1, 1], sweep)
            for low, high in hand_boxes(margin):
                np.maximum(floor, everything.lowest_box(low, high), out=floor)
            floors.append(floor)
        return floors[0], floors[1]

    def _at_yaw(self, yaw: float, wish_yaw: float, margin: float) -> list[Grasp]:
        """Return the good grasps at one yaw."""
        floors = self._floors(yaw, margin)
        local = turned(self._points - self._middle, -yaw)
        turn = abs((yaw - wish_yaw + np.pi / 2) % np.pi - np.pi / 2)
        found = []
        for u0 in np.arange(local[:, 1].min() + 0.004, local[:, 1].max(), 0.005):
            slab = local[np.abs(local[:, 1] - u0) <= FINGER_HALF_WIDTH + 0.001]
            if not len(slab):
                continue
            for depth in (0.006, 0.014, 0.022, 0.028):
                wish = float(slab[:, 2].max()) + self._middle[2] - depth
                found += self._at_depth(slab, u0, wish, yaw, floors, turn)
        return found

    def _at_depth(
        self,
        slab: Float64,
        u0: float,
        wish: float,
        yaw: float,
        floors: tuple[Float64, Float64],
        turn: float,
    ) -> list[Grasp]:
        """Return a grasp for each piece of the slab that the hand can take at height `wish`."""
        tight, roomy = floors
        half = len(tight) // 2
        z = slab[:, 2] + self._middle[2] - wish
        wide = np.abs(slab[:, 1] - u0) <= PAD_HALF_WIDTH + 0.001
        zone = slab[wide & (z >= PAD_LOW) & (z <= PAD_HIGH)]
        found = []
        for low, high in _pieces(zone[:, 0], 0.016) if len(zone) else []:
            if high - low > WIDEST:
                continue
            v0 = 0.5 * (low + high)
            xy = turned(np.array([v0, u0, 0.0]), yaw)[:2] + self._middle[:2]
            i, j = int(np.rint(v0 / CELL)) + half, int(np.rint(u0 / CELL)) + half
            height = max(wish, float(tight[i, j]) + DEPTH_MARGIN)
            top = float(slab[:, 2].max()) + self._middle[2]
            grip = min(top - height - PAD_LOW, PAD_HIGH - PAD_LOW)
            if height > wish + 0.008 or grip < 0.006:
                continue
            piece = zone[(zone[:, 0] >= low) & (zone[:, 0] <= high)]
            offset = float(np.hypot(v0, u0))
            uneven = _unevenness(piece[:, 1] - u0, piece[:, 0])
            if uneven > self._most_uneven:
                continue
            cost = 3.0 * uneven + 0.25 * offset
            cost += 3.0 * self._protrusion(slab, height, low, high)
            cost += 0.5 * (PAD_HIGH - PAD_LOW - grip) + 0.008 * turn
            cost += 0.01 * float(roomy[i, j] + DEPTH_MARGIN > height + 1e-9)
            cost += 0.05 * max(0.0, high - low - 0.05)
            found.append(Grasp(np.array([*xy, height]), yaw, high - low, float(cost)))
        return found

    def _protrusion(self, slab: Float64, height: float, low: float, high: float) -> float:
        """Return by how much (m) the object is wider than [low, high] before the whole fingers.

        Such a part meets a finger before the pads do, and only pads hold.
        """
        z = slab[:, 2] + self._middle[2] - height
        before = slab[(z >= -TIP) & (z <= PALM), 0]
        before = before[(before > low - 0.012) & (before < high + 0.012)]
        if not len(before):
            return 0.0
        return float(max(0.0, low - before.min()) + max(0.0, before.max() - high))
