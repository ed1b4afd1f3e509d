"""The skill `grasp [X]`: reach over the object, close, and try another way if that failed."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import numpy as np

from structrl_ros.sim.libero.expert import motion
from structrl_ros.sim.libero.expert import scene
from structrl_ros.sim.libero.expert.grasping import TIP
from structrl_ros.sim.libero.expert.grasping import Grasp
from structrl_ros.sim.libero.expert.grasping import GraspSearch
from structrl_ros.sim.libero.expert.heightmap import HeightMap
from structrl_ros.sim.libero.expert.motion import CLOSE
from structrl_ros.sim.libero.expert.motion import OPEN
from structrl_ros.sim.libero.expert.motion import Hand
from structrl_ros.sim.libero.expert.skill import PhasedSkill
from structrl_ros.sim.libero.expert.skill import Transit

if TYPE_CHECKING:
    from structrl_ros.types import Float32
    from structrl_ros.types import Float64

#: Half width of the way that the hand sweeps (m).
SWEEP = 0.07


def travel_height(body: Any, hand: Hand, goal: Float64, depth: float, without: str = '') -> float:
    """Return the height of the grip site (m) that clears everything on the way to `goal`.

    Args:
        body: The world.
        hand: The hand now.
        goal: Where it goes (m), shape (3,).
        depth: How far the lowest thing in the hand is below the grip site (m).
        without: Object that does not stand in the way, because it is in the hand.
    """
    middle = 0.5 * (hand.position + goal)
    half = 0.5 * float(np.abs(goal[:2] - hand.position[:2]).max()) + SWEEP + 0.01
    points = scene.surroundings(body, without)
    tops = HeightMap.of_points(points, scene.slabs(body), middle, half)
    return tops.corridor(hand.position, goal, SWEEP) + depth + 0.015


class GraspSkill(PhasedSkill):
    """Grasp one movable object until both finger pads touch it.

    Args:
        name: Name of the object in the simulator, such as 'butter_1'.
    """

    def __init__(self, name: str) -> None:
        """Start by looking at what the hand holds now."""
        super().__init__('look')
        self.name = name
        self.tried: list[Grasp] = []
        self.grasp: Grasp | None = None
        self.transit: Transit | None = None
        self.seen: Float64 = np.zeros(3)
        self.steady = 0

    def _look(self, body: Any, hand: Hand) -> Float32 | None:
        """Decide what to do first."""
        if scene.holds(body, self.name):
            self._go('close', 'both pads touch it')
        elif scene.touched(body):
            self._go('free', f'letting go of {" and ".join(scene.touched(body))}')
        else:
            self._go('plan')
        return None

    def _free(self, body: Any, hand: Hand) -> Float32 | None:
        """Open on the spot until nothing touches the pads."""
        if self.clock >= 3 and (self.clock >= 12 or not scene.touched(body)):
            self._go('plan')
            return None
        return motion.hold(hand, OPEN)

    def _plan(self, body: Any, hand: Hand) -> Float32 | None:
        """Choose a grasp and the way to it."""
        if self.clock < 20 and scene.speed(body, self.name) > 0.02:
            return motion.hold(hand, OPEN)
        points = scene.surface(body, self.name)
        search = GraspSearch(points, scene.surroundings(body, self.name), scene.slabs(body))
        options = [(g, y) for g in search.best(hand.yaw, 400) for y in self._yaws(hand, g)]
        if not options:
            self._go('wait', 'no grasp is free')
            return None
        grasp, yaw = options[0]
        self.grasp = grasp
        height = travel_height(body, hand, grasp.position, TIP)
        self.transit = Transit(grasp.position, motion.hand_down(yaw), height)
        self.seen = scene.pose(body, self.name)[0]
        self._go('reach', f'cost {grasp.cost:.3f} width {grasp.width:.3f}')
        return None

    def _yaws(self, hand: Hand, grasp: Grasp) -> list[float]:
        """Return the best yaw for a grasp, or nothing if it was tried or is out of reach."""
        for old in self.tried:
            turn = abs((grasp.yaw - old.yaw + np.pi / 2) % np.pi - np.pi / 2)
            shift = float(np.linalg.norm(grasp.position - old.position))
            if shift < 0.008 and turn < 0.2:
                return []
        return motion.reachable_yaws(hand, grasp.position, grasp.yaw)[:1]

    def _wait(self, body: Any, hand: Hand) -> Float32 | None:
        """Nothing can be grasped now: rise a little and look again."""
        if self.clock >= 10:
            self.tried = []
            self._go('look')
            return None
        above = scene.pose(body, self.name)[0][2] + 0.2
        target = np.array([*hand.position[:2], max(above, min(hand.position[2], above + 0.2))])
        return motion.servo(hand, target, motion.hand_down(hand.yaw), OPEN)

    def _reach(self, body: Any, hand: Hand) -> Float32 | None:
        """Travel to the grasp."""
        assert self.transit is not None
        if np.linalg.norm(scene.pose(body, self.name)[0] - self.seen) > 0.012:
            self._go('plan', 'it moved')
            return None
        if self.transit.stalled() and self.transit.distance(hand) > 0.04:
            self._give_up(f'stuck {self.transit.distance(hand):.3f} from the grasp')
            return None
        if self.transit.arrived(hand) or self.transit.stalled():
            error = (hand.position - self.transit.position).round(3)
            self._go('close', f'off by {error} after {self.clock} steps')
            self.steady = 0
            return None
        return self.transit.action(hand, OPEN)

    def _close(self, body: Any, hand: Hand) -> Float32 | None:
        """Close until the fingers rest on the object."""
        grip = scene.holds(body, self.name)
        self.steady = self.steady + 1 if grip and abs(hand.opening_rate) < 0.02 else 0
        if self.steady >= 2:
            self._go('done', f'opening {hand.opening:.3f} after {self.clock} steps')
            return None
        if self.clock >= 14 and not grip:
            self._give_up(f'closed on nothing: opening {hand.opening:.3f}')
            return None
        if self.transit is None:
            return motion.hold(hand, CLOSE)
        return motion.servo(hand, self.transit.position, self.transit.rotation, CLOSE)

    def _give_up(self, why: str) -> None:
        """Try another grasp."""
        if self.grasp is not None:
            self.tried.append(self.grasp)
        self._go('free', why)

    def _done(self, body: Any, hand: Hand) -> Float32 | None:
        """Keep hold."""
        self.finished = scene.holds(body, self.name)
        if not self.finished and self.clock > 2:
            self._go('look', 'lost it')
            return None
        return motion.hold(hand, CLOSE)
