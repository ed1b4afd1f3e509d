"""The skill `place [mug, microwave]`: by the handle, with a leaning hand.

A hand from above cannot reach into a microwave. So the mug is taken by its handle with a hand that
leans back, its handle is turned away from the microwave, and it goes straight in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import numpy as np

from structrl_ros.sim.libero.expert import motion
from structrl_ros.sim.libero.expert import scene
from structrl_ros.sim.libero.expert.articulated_handle import HandleGraspSkill
from structrl_ros.sim.libero.expert.articulated_handle import find_handle
from structrl_ros.sim.libero.expert.articulated_joints import read_door
from structrl_ros.sim.libero.expert.articulated_pose import depth_below
from structrl_ros.sim.libero.expert.grasp_skill import travel_height
from structrl_ros.sim.libero.expert.motion import CLOSE
from structrl_ros.sim.libero.expert.motion import OPEN
from structrl_ros.sim.libero.expert.place_skill import PlaceSkill
from structrl_ros.sim.libero.expert.skill import Transit

if TYPE_CHECKING:
    from structrl_ros.sim.libero.expert.motion import Hand
    from structrl_ros.types import Float32
    from structrl_ros.types import Float64

_UP = np.array([0.0, 0.0, 1.0])

#: A hand that leans less than this (rad) did not grasp the handle.
LEAST_LEAN = 0.7
#: Room to the sill on the way in, to the floor when let go, to the door and to walls (m).
SILL = 0.012
RELEASE_GAP = 0.004
ROOM = 0.005
#: How far to the free side of the cavity the mug goes: the open door is on the other (m).
ASIDE = 0.012
#: Distance that the hand backs out (m), and steps that it takes at most.
RETREAT = 0.16
BACKING_STEPS = 24


class MicrowaveSkill(PlaceSkill):
    """Put a mug into an open microwave, deep enough for the door to close.

    Args:
        conjunct: ('in', mug, heating region).
    """

    def __init__(self, conjunct: tuple[str, ...]) -> None:
        """Start by looking at what the hand holds now."""
        super().__init__(conjunct)
        self.into: Float64 = np.array([0.0, 1.0, 0.0])
        self.start: Float64 = np.zeros(3)

    def _look(self, body: Any, hand: Hand) -> Float32 | None:
        """Decide what to do first."""
        if scene.holds(body, self.name):
            leans = float(np.arccos(np.clip(-hand.rotation[2, 2], -1.0, 1.0)))
            self._go('settle' if leans > LEAST_LEAN else 'lower', f'the hand leans {leans:.2f}')
        elif scene.is_true(body, self.conjunct):
            self._go('retreat', 'it is there')
        else:
            self.grasp = HandleGraspSkill(self.name)
            self._go('grasp', 'it is not in the hand')
        return None

    def _lower(self, body: Any, hand: Hand) -> Float32 | None:
        """Put down what was not grasped by its handle."""
        if scene.rests(body, self.name) or self.clock >= 60:
            self.grasp = HandleGraspSkill(self.name)
            self._go('grasp', 'by the handle instead')
            return None
        below = hand.position - np.array([0.0, 0.0, 0.03])
        return motion.servo(hand, below, hand.rotation, CLOSE)

    def _plan(self, body: Any, hand: Hand) -> Float32 | None:
        """Plan the way to the sill and in."""
        points = scene.surface(body, self.name)
        origin, now = scene.pose(body, self.name)
        region = scene.region(body, self.conjunct[2], 'in')
        self.into = scene.pose(body, region.parent)[1][:, 1]
        rotation = self._upright(now, find_handle(points).inwards) @ now.T @ hand.rotation
        held = (points - origin) @ hand.rotation @ rotation.T
        self.start, self.goal = self._places(body, held)
        site = self.start + rotation @ hand.rotation.T @ (hand.position - origin)
        depth = max(depth_below(rotation), depth_below(hand.rotation))
        depth = max(depth, float(hand.position[2] - points[:, 2].min()))
        height = travel_height(body, hand, site, depth, self.name)
        self.transit = Transit(site, rotation, height)
        self.lost = 0
        inside = (
            float((origin - self.start) @ self.into) > 0.03
            and abs(float((origin - self.start) @ np.cross(self.into, _UP))) < 0.03
        )
        phase = 'enter' if inside else 'carry'
        self._go(phase, f'via {self.start.round(3)} to {self.goal.round(3)}')
        return None

    def _upright(self, now: Float64, inwards: Float64) -> Float64:
        """Return the mug's rotation as it should be: upright, its handle towards the front."""
        turn = np.arctan2(self.into[1], self.into[0]) - np.arctan2(inwards[1], inwards[0])
        heading = turn + np.arctan2(now[1, 0], now[0, 0])
        c, s = np.cos(heading), np.sin(heading)
        return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])

    def _places(self, body: Any, held: Float64) -> tuple[Float64, Float64]:
        """Return where the mug's origin enters, and where it is let go (m), shape (3,) each.

        Args:
            body: The world.
            held: The mug's surface from its origin (m), shape (N, 3), turned as it will be.
        """
        region = scene.region(body, self.conjunct[2], 'in')
        door = read_door(body, region.parent)
        side = np.cross(self.into, _UP)
        axes = np.stack([side, self.into, _UP])
        walls = (scene.surface(body, region.parent) - region.center) @ axes.T
        hinge = (door.hinge - region.center) @ axes.T
        front = hinge[1]
        inner = walls[(walls[:, 1] > front + 0.02) & (np.abs(walls[:, 2]) < 0.04)]
        back = float(inner[np.abs(inner[:, 0]) < 0.02][:, 1].min())
        middle = inner[inner[:, 1] < back - 0.02]
        left = float(middle[middle[:, 0] < 0.0][:, 0].max())
        right = float(middle[middle[:, 0] > 0.0][:, 0].min())
        around = np.all(np.abs(walls[:, :2]) < 0.04, axis=1)
        floor = float(walls[around & (walls[:, 2] < 0.0)][:, 2].max())
        reach = held @ axes.T
        deep = min(front + ROOM - reach[:, 1].min(), back - ROOM - reach[:, 1].max())
        aside = 0.5 * (left + right) - ASIDE * float(np.sign(hinge[0]))
        low = floor + RELEASE_GAP - float(reach[:, 2].min())
        ahead = front - 0.03 - ROOM - float(reach[:, 1].max())
        goal = np.array([aside, deep, low])
        start = np.array([aside, ahead, low + SILL - RELEASE_GAP])
        return region.center + start @ axes, region.center + goal @ axes

    def _site(self, body: Any, hand: Hand, place: Float64) -> Float64:
        """Return the grip site that brings the mug's origin to a place."""
        assert self.transit is not None
        offset = hand.rotation.T @ (hand.position - scene.pose(body, self.name)[0])
        return place + self.transit.rotation @ offset

    def _carry(self, body: Any, hand: Hand) -> Float32 | None:
        """Travel to the sill."""
        assert self.transit is not None
        self.lost = 0 if scene.holds(body, self.name) else self.lost + 1
        if self.lost >= 4:
            self._go('look', 'lost it on the way')
            return None
        self.transit.position = self._site(body, hand, self.start)
        if self.transit.arrived(hand, 0.008) or self.transit.stalled():
            self._go('enter', f'off by {(hand.position - self.transit.position).round(3)}')
            return None
        return self.transit.action(hand, CLOSE)

    def _enter(self, body: Any, hand: Hand) -> Float32 | None:
        """Straight in, then down."""
        assert self.transit is not None
        site = self._site(body, hand, self.goal)
        self.transit.position = site
        off = hand.position - site
        if float(np.linalg.norm(off)) < 0.004 or self.clock >= 50:
            self._go('release', f'off by {off.round(3)}')
            return None
        inside = float(np.linalg.norm(off[:2])) < 0.01
        target = site if inside else site + (SILL - RELEASE_GAP) * _UP
        return motion.servo(hand, target, self.transit.rotation, CLOSE, speed=0.7)

    def _retreat(self, body: Any, hand: Hand) -> Float32 | None:
        """Back straight out, then look whether the mug is where it should be."""
        assert self.transit is not None or scene.is_true(body, self.conjunct)
        if self.transit is not None and self.clock < BACKING_STEPS and not self.finished:
            out = float((self.transit.position - hand.position) @ self.into)
            if out < RETREAT:
                target = hand.position - 0.06 * self.into
                return motion.servo(hand, target, self.transit.rotation, OPEN)
        self.finished = scene.is_true(body, self.conjunct)
        if not self.finished:
            self.attempts += 1
            self._go('look', f'not there yet after {self.attempts} attempts: {self._where(body)}')
            return None
        return motion.hold(hand, OPEN)
