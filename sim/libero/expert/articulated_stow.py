"""The skill `place [X, drawer]`: lay an object flat into an open drawer, under what overhangs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from typing import Any

import numpy as np

from structrl_ros.sim.libero.expert import motion
from structrl_ros.sim.libero.expert import scene
from structrl_ros.sim.libero.expert.articulated_joints import read_drawer
from structrl_ros.sim.libero.expert.grasp_skill import GraspSkill
from structrl_ros.sim.libero.expert.grasp_skill import travel_height
from structrl_ros.sim.libero.expert.grasping import TIP
from structrl_ros.sim.libero.expert.grasping import turned
from structrl_ros.sim.libero.expert.motion import CLOSE
from structrl_ros.sim.libero.expert.place_skill import PlaceSkill
from structrl_ros.sim.libero.expert.skill import Transit

if TYPE_CHECKING:
    from structrl_ros.sim.libero.expert.motion import Hand
    from structrl_ros.types import Float32
    from structrl_ros.types import Float64

#: Room kept between things (m).
ROOM = 0.004
#: Half the hand's thickness, and how far an opening finger reaches from the grip site (m).
HALF_PALM = 0.0316
FINGER_REACH = 0.0665
#: Thickness of a drawer's floor above the lower face of its region, and room for letting go (m).
FLOOR = 0.004
RELEASE_GAP = 0.003
#: Widening: how deep the object is inside the drawer (m), where the drawer stops (m), steps.
BITE = 0.010
STOP = -0.157
WIDENING_STEPS = 30
#: Control steps to the drawer, at most.
CARRYING_STEPS = 120
#: A gap this much (m) narrower than the object still lets it through, a little tilted.
SLACK = 0.002
#: Nearer to the middle of the drawer than this (m) a thing is in the way.
ABOUT = 0.13


@dataclass(frozen=True, slots=True)
class Space:
    """The room in a drawer, seen along its direction of opening.

    Attributes:
        middle: Middle of the drawer's region (m), shape (3,).
        out: Direction of opening, shape (3,).
        side: Direction of the width, shape (3,).
        half: Half sizes along `out`, `side` and up (m), shape (3,).
        overhang: How far things above reach out, from the middle along `out` (m); -inf if none.
        underside: Height of the lowest of them (m).
    """

    middle: Float64
    out: Float64
    side: Float64
    half: Float64
    overhang: float
    underside: float

    @property
    def gap(self) -> float:
        """Room between the drawer's front and what overhangs it (m)."""
        return float(self.half[0]) - self.overhang

    @property
    def edge(self) -> float:
        """Height of the drawer's upper edge (m)."""
        return float(self.middle[2] + self.half[2])


def read_space(body: Any, name: str, without: str) -> Space:
    """Read the room in a drawer; `without` is the object that is to go in."""
    region = scene.region(body, name, 'in')
    drawer = read_drawer(body, name)
    axes = np.stack([drawer.out, drawer.side, [0.0, 0.0, 1.0]])
    half = np.abs(axes @ region.rotation) @ region.half_size
    points = (scene.surroundings(body, without) - region.center) @ axes.T
    above = points[(points[:, 2] > half[2] + 0.008) & (np.abs(points[:, 1]) < half[1])]
    above = above[np.abs(above[:, 0]) < 2.0 * half[0]]
    overhang = float(above[:, 0].max(initial=-np.inf))
    lowest = float(above[above[:, 0] > overhang - 0.02][:, 2].min(initial=np.inf))
    under = region.center[2] + lowest
    return Space(region.center, drawer.out, drawer.side, half, overhang, float(under))


def lies_low(body: Any, conjunct: tuple[str, ...]) -> bool:
    """Whether the object of ('in', object, drawer region) is in, and the drawer shuts over it."""
    space = read_space(body, conjunct[2], conjunct[1])
    top = float(scene.surface(body, conjunct[1])[:, 2].max())
    return scene.is_true(body, conjunct) and top < space.underside - ROOM


def lies_about(body: Any, conjunct: tuple[str, ...]) -> bool:
    """Whether the object is over the drawer or beside it, so that it may get in the way."""
    space = read_space(body, conjunct[2], conjunct[1])
    away = scene.pose(body, conjunct[1])[0] - space.middle
    return float(np.linalg.norm(away[:2])) < ABOUT


class StowSkill(PlaceSkill):
    """Place an object in an open drawer, flat on its floor.

    The closing axis is laid across the drawer, where the wide hand fits between the drawer's front
    and the handles above. Where these leave no way straight down, the lowest part of the object
    first pushes the drawer further open. Where that does not help, the object goes down in front
    of the handles until its rim is below, then inwards, then down: a drawer does not shut over a
    bowl that leans on a wall.

    Args:
        conjunct: ('in', object, drawer region).
    """

    def __init__(self, conjunct: tuple[str, ...]) -> None:
        """Start by looking at what the hand holds now."""
        super().__init__(conjunct)
        self.via: Float64 = np.zeros(3)
        self.widened = False
        self.inside = False

    def _look(self, body: Any, hand: Hand) -> Float32 | None:
        """Decide what to do first."""
        if scene.holds(body, self.name):
            self._go('settle')
        elif lies_low(body, self.conjunct):
            self._go('retreat', 'it is there')
        else:
            self.grasp = GraspSkill(self.name)
            self._go('grasp', 'it is not in the hand')
        return None

    def _plan(self, body: Any, hand: Hand) -> Float32 | None:
        """Choose the place and the way to it."""
        space = read_space(body, self.conjunct[2], self.name)
        points = scene.surface(body, self.name)
        origin = scene.pose(body, self.name)[0]
        turn = self._turn(hand, space)
        held = turned(points - origin, turn)
        self.via, self.goal = self._places(space, held, turned(hand.position - origin, turn))
        narrow = space.gap < float(np.ptp(held @ space.out)) - SLACK
        travel = read_drawer(body, self.conjunct[2]).travel
        if narrow and not self.widened and travel > STOP:
            self.via[2] = space.edge - BITE - float(held[:, 2].min())
        depth = max(TIP, float(hand.position[2] - points[:, 2].min()))
        site = self.via + turned(hand.position - origin, turn)
        height = travel_height(body, hand, site, depth, self.name)
        self.transit = Transit(site, motion.hand_down(hand.yaw + turn), height)
        self.lost = 0
        low = float(points[:, 2].min()) < space.edge
        self.inside = low and abs(turn) < 0.1 and lies_about(body, self.conjunct)
        self._go('carry', f'turn {turn:.2f} via {self.via.round(3)} to {self.goal.round(3)}')
        return None

    def _turn(self, hand: Hand, space: Space) -> float:
        """Return the turn (rad) that lays the closing axis across the drawer, least wrist."""
        wish = float(np.arctan2(space.side[1], space.side[0])) - hand.yaw
        turns = sorted((motion.wrap(wish + flip) for flip in (0.0, np.pi)), key=abs)
        goal = space.middle
        for turn in turns:
            if abs(motion.wrist_after(hand, goal, hand.yaw + turn)) < motion.WRIST_LIMIT:
                return turn
        return turns[0]

    def _places(self, space: Space, held: Float64, site: Float64) -> tuple[Float64, Float64]:
        """Return where the object's origin goes first, and where it is let go (m), (3,) each.

        Args:
            space: The drawer.
            held: The object's surface from its origin (m), shape (N, 3), turned as it will be.
            site: The grip site from the origin (m), shape (3,), turned likewise.
        """
        up = np.array([0.0, 0.0, 1.0])
        reach = held @ space.out
        front = float(space.half[0] - reach.max()) - ROOM
        clear = space.overhang - float(reach.min()) + ROOM
        palm = space.overhang - float(site @ space.out) + HALF_PALM + ROOM
        across = held @ space.side
        tip = float(site @ space.side)
        low = max(-float(across.min()), FINGER_REACH - tip) + ROOM - space.half[1]
        high = space.half[1] - max(float(across.max()), FINGER_REACH + tip) - ROOM
        aside = float(np.clip(0.0, low, high)) if low < high else 0.5 * (low + high)
        inwards = float(np.clip(0.0, min(max(clear, palm), front), front))
        floor = FLOOR + RELEASE_GAP - float(space.half[2]) - float(held[:, 2].min())
        goal = space.middle + inwards * space.out + aside * space.side + floor * up
        if clear <= front:
            return goal, goal
        goal = goal + (min(max(palm, 0.0), front) - inwards) * space.out
        rim = space.underside - ROOM - float(held[:, 2].max())
        ahead = clear - float((goal - space.middle) @ space.out)
        return goal + ahead * space.out + (rim - goal[2]) * up, goal

    def _carry(self, body: Any, hand: Hand) -> Float32 | None:
        """Travel to the first place."""
        assert self.transit is not None
        self.lost = 0 if scene.holds(body, self.name) else self.lost + 1
        if self.lost >= 4:
            self._go('look', 'lost it on the way')
            return None
        self.transit.position = self._site(body, hand, self.via)
        if self.transit.arrived(hand) or self.transit.stalled() or self.clock >= CARRYING_STEPS:
            space = read_space(body, self.conjunct[2], self.name)
            biting = self.via[2] > space.edge - BITE - ROOM
            phase = 'widen' if biting and not self.widened else 'tuck'
            self._go(phase, f'off by {(hand.position - self.transit.position).round(3)}')
            return None
        if self.inside:
            return self._level_first(hand)
        return self.transit.action(hand, CLOSE)

    def _level_first(self, hand: Hand) -> Float32:
        """Return the action towards the transit's goal: across at this height, then up or down."""
        assert self.transit is not None
        site = self.transit.position
        flat = float(np.linalg.norm((site - hand.position)[:2]))
        target = site if flat < 0.006 else np.array([site[0], site[1], hand.position[2]])
        return motion.servo(hand, target, self.transit.rotation, CLOSE, speed=0.5)

    def _widen(self, body: Any, hand: Hand) -> Float32 | None:
        """Push the drawer's front outwards with what is already inside."""
        assert self.transit is not None
        space = read_space(body, self.conjunct[2], self.name)
        if self.clock >= WIDENING_STEPS or read_drawer(body, self.conjunct[2]).travel < STOP:
            self.widened = True
            self._go('plan', f'gap {space.gap:.3f}')
            return None
        target = hand.position + 0.04 * space.out
        return motion.servo(hand, target, self.transit.rotation, CLOSE, speed=0.4)

    def _tuck(self, body: Any, hand: Hand) -> Float32 | None:
        """Inwards below the overhang, then down."""
        assert self.transit is not None
        site = self._site(body, hand, self.goal)
        self.transit.position = site
        if self.transit.arrived(hand, 0.004) or self.clock >= 30:
            self._go('release', f'off by {(hand.position - site).round(3)}')
            return None
        return self._level_first(hand)

    def _site(self, body: Any, hand: Hand, place: Float64) -> Float64:
        """Return the grip site that brings the object's origin to a place."""
        assert self.transit is not None
        turn = motion.wrap(motion.yaw_of(self.transit.rotation) - hand.yaw)
        origin = scene.pose(body, self.name)[0] - hand.position
        return place - turned(origin, turn)
