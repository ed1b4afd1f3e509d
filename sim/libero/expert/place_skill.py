"""The skill `place [X, Y]`: carry the object over its goal region, lower it, let go, look."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import numpy as np

from structrl_ros.sim.libero.expert import motion
from structrl_ros.sim.libero.expert import scene
from structrl_ros.sim.libero.expert.grasp_skill import GraspSkill
from structrl_ros.sim.libero.expert.grasp_skill import travel_height
from structrl_ros.sim.libero.expert.grasping import TIP
from structrl_ros.sim.libero.expert.grasping import turned
from structrl_ros.sim.libero.expert.heightmap import HeightMap
from structrl_ros.sim.libero.expert.motion import CLOSE
from structrl_ros.sim.libero.expert.motion import OPEN
from structrl_ros.sim.libero.expert.motion import Hand
from structrl_ros.sim.libero.expert.placing import Placement
from structrl_ros.sim.libero.expert.placing import height_band
from structrl_ros.sim.libero.expert.placing import placements
from structrl_ros.sim.libero.expert.skill import PhasedSkill
from structrl_ros.sim.libero.expert.skill import Transit

if TYPE_CHECKING:
    from structrl_ros.sim.libero.expert.scene import Region
    from structrl_ros.types import Float32
    from structrl_ros.types import Float64

#: Rotations about the vertical that are tried (rad).
TURNS = np.concatenate([[0.0], np.repeat(np.arange(1, 18) * np.pi / 18, 2) * np.tile([1, -1], 17)])


class PlaceSkill(PhasedSkill):
    """Bring one movable object to rest where a goal conjunct wants it.

    Args:
        conjunct: ('in' or 'on', object, region or object), in the simulator's names.
    """

    def __init__(self, conjunct: tuple[str, ...]) -> None:
        """Start by looking at what the hand holds now."""
        super().__init__('look')
        self.conjunct = conjunct
        self.name = conjunct[1]
        self.shared = (conjunct[0], *conjunct[2:])
        self.grasp: GraspSkill | None = None
        self.transit: Transit | None = None
        self.goal = np.zeros(3)
        self.over = 0.0
        self.lost = 0
        self.stuck = 0
        self.attempts = 0

    def _look(self, body: Any, hand: Hand) -> Float32 | None:
        """Decide what to do first."""
        if scene.holds(body, self.name):
            self._go('settle')
        elif scene.is_true(body, self.conjunct):
            self._go('retreat', 'it is there')
        else:
            self.grasp = GraspSkill(self.name)
            self._go('grasp', 'it is not in the hand')
        return None

    def _grasp(self, body: Any, hand: Hand) -> Float32 | None:
        """Grasp it (again)."""
        assert self.grasp is not None
        action = self.grasp.action(body)
        if self.grasp.finished:
            self.log += [f'   {line}' for line in self.grasp.log]
            self._go('settle')
        return action

    def _settle(self, body: Any, hand: Hand) -> Float32 | None:
        """Wait until the fingers rest on it."""
        if not scene.holds(body, self.name) and self.clock > 4:
            self._go('look', 'not in the hand')
            return None
        if self.clock >= 8 or (self.clock and abs(hand.opening_rate) < 0.02):
            self._go('plan')
            return None
        return motion.hold(hand, CLOSE)

    def _plan(self, body: Any, hand: Hand) -> Float32 | None:
        """Choose the place and the way to it."""
        options = self._options(body, hand)
        origin = scene.pose(body, self.name)[0] - hand.position
        if not options:
            self._go('wait', 'no place is free')
            return None
        place = options[0]
        depth = max(TIP, float(hand.position[2] - scene.lowest(body, self.name)))
        height = travel_height(body, hand, place.position, depth, self.name)
        region = scene.region(body, self.conjunct[2], self.conjunct[0])
        inside = region.kind == 'in'
        if inside:  # the conjunct must not come true on the way, far from the place
            height = max(height, height_band(region)[1] - origin[2] + 0.01)
        rotation = motion.hand_down(hand.yaw + place.turn)
        self.transit = Transit(place.position, rotation, height, 0.012 if inside else 0.03)
        self.lost = 0
        self.over = height - depth
        self.goal = place.position + turned(origin, place.turn)
        self._go('carry', f'fall {place.fall:.3f} turn {place.turn:.2f} cost {place.cost:.3f}')
        return None

    def _options(self, body: Any, hand: Hand) -> list[Placement]:
        """Return the places that the wrist can reach, best first."""
        region = scene.region(body, self.conjunct[2], self.conjunct[0])
        half = float(np.linalg.norm(region.half_size[:2])) + 0.3
        tops = HeightMap.of_points(
            scene.surroundings(body, self.name), scene.slabs(body), region.center, half
        )
        held = scene.surface(body, self.name) - hand.position
        origin = scene.pose(body, self.name)[0] - hand.position
        wish = self._wish(body, hand, region)
        for turns in (TURNS[:1], TURNS):
            found = placements(held, origin, hand.yaw, region, tops, turns, wish)
            found = [
                p
                for p in found
                if abs(motion.wrist_after(hand, p.position, hand.yaw + p.turn))
                < motion.WRIST_LIMIT
            ]
            if found and found[0].fall < (0.12 if region.kind == 'in' else 0.02):
                return found
        return found

    def _wish(self, body: Any, hand: Hand, region: Region) -> Float64 | None:
        """Return where in a region that others share the origin should be, shape (2,), or None.

        The places of the objects lie along the region's axis that is more across the fingers, in
        the order of the goal, so that opening does not push the neighbour.
        """
        sharing = [g[1] for g in scene.goals(body) if (g[0], *g[2:]) == self.shared]
        if len(sharing) < 2 or self.name not in sharing:
            return None
        share = (2 * sharing.index(self.name) + 1) / len(sharing) - 1.0
        across = np.array([-np.sin(hand.yaw), np.cos(hand.yaw)])
        axes = region.rotation[:2, :] * region.half_size
        axis = axes[:, int(np.argmax(np.abs(across @ axes)))]
        return region.center[:2] + share * axis

    def _wait(self, body: Any, hand: Hand) -> Float32 | None:
        """No place is free: rise and look again."""
        if self.clock >= 10:
            self._go('look')
            return None
        return motion.servo(hand, hand.position + np.array([0.0, 0.0, 0.03]), hand.rotation, CLOSE)

    def _where(self, body: Any) -> str:
        """Say where the object is, relative to the middle of its region."""
        middle = scene.region(body, self.conjunct[2], self.conjunct[0]).center
        origin, rotation = scene.pose(body, self.name)
        return f'at {(origin - middle).round(3)} up {rotation[2].round(2)}'

    def _carry(self, body: Any, hand: Hand) -> Float32 | None:
        """Travel to the place and lower the object."""
        assert self.transit is not None
        self.lost = 0 if scene.holds(body, self.name) else self.lost + 1
        if self.lost >= 4:
            self._go('look', 'lost it on the way')
            return None
        turn = motion.wrap(motion.yaw_of(self.transit.rotation) - hand.yaw)
        origin = scene.pose(body, self.name)[0] - hand.position
        self.transit.position = self.goal - turned(origin, turn)
        depth = float(hand.position[2] - scene.lowest(body, self.name))
        self.transit.height = max(self.transit.height, self.over + depth)
        flat = float(np.linalg.norm(self.transit.position[:2] - hand.position[:2]))
        low = hand.position[2] - self.transit.position[2]
        if self.transit.stalled() and self.transit.distance(hand) > 0.04 and self.stuck < 3:
            self.stuck += 1
            self._go('plan', f'stuck {self.transit.distance(hand):.3f} from the place')
            return None
        if self.transit.arrived(hand) or self.transit.stalled():
            self._go('release', f'{flat:.3f} aside {low:.3f} above after {self.clock} steps')
            return None
        return self.transit.action(hand, CLOSE)

    def _release(self, body: Any, hand: Hand) -> Float32 | None:
        """Open on the spot until nothing touches the pads."""
        assert self.transit is not None
        if self.clock >= 3 and (self.clock >= 12 or self.name not in scene.touched(body)):
            self._go('retreat', self._where(body))
            return None
        return motion.servo(hand, self.transit.position, self.transit.rotation, OPEN)

    def _retreat(self, body: Any, hand: Hand) -> Float32 | None:
        """Rise, then look whether the object is where it should be."""
        done = scene.is_true(body, self.conjunct) and not scene.touched(body)
        if self.clock < 8 and not self.finished and not (done and self.clock > 1):
            up = hand.position + np.array([0.0, 0.0, 0.06])
            return motion.servo(hand, up, hand.rotation, OPEN)
        self.finished = scene.is_true(body, self.conjunct)
        if not self.finished:
            self.attempts += 1
            self._go('look', f'not there yet after {self.attempts} attempts: {self._where(body)}')
            return None
        return motion.hold(hand, OPEN)
