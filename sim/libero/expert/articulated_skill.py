"""What the skills for fixtures share: look, let go of things, travel, work, leave, look again.

A plan goes on as soon as the predicate of a subtask is true, often before its skill has ended: a
bowl counts as in the drawer while the hand still holds it. So a skill begins with what was left
undone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import numpy as np

from structrl_ros.sim.libero.expert import motion
from structrl_ros.sim.libero.expert import scene
from structrl_ros.sim.libero.expert.articulated_into import placing_skill
from structrl_ros.sim.libero.expert.articulated_pose import depth_below
from structrl_ros.sim.libero.expert.grasp_skill import travel_height
from structrl_ros.sim.libero.expert.motion import CLOSE
from structrl_ros.sim.libero.expert.motion import OPEN
from structrl_ros.sim.libero.expert.motion import Hand
from structrl_ros.sim.libero.expert.skill import PhasedSkill
from structrl_ros.sim.libero.expert.skill import Skill
from structrl_ros.sim.libero.expert.skill import Transit

if TYPE_CHECKING:
    from structrl_ros.types import Float32
    from structrl_ros.types import Float64

#: Control steps that the hand takes to leave a fixture, at most.
LEAVING_STEPS = 9

#: Control steps that the hand takes to reach a fixture, at most; and how near (m) a hand that
#: stands still goes straight on.
REACHING_STEPS = 90
STRAIGHT_ON = 0.08


class FixtureSkill(PhasedSkill):
    """Move a joint of a fixture until a conjunct such as ('close', 'microwave_1') holds.

    A subclass plans in `_start` and works in its own phases, from `_arrived` on; it ends with
    `_go('leave')`.

    Attributes:
        conjunct: What has to become true.
        exit: Direction in which the hand leaves, shape (3,).
        fist: Whether the hand travels closed.
    """

    fist = True

    def __init__(self, conjunct: tuple[str, ...]) -> None:
        """Start by looking whether there is anything to do."""
        super().__init__('look')
        self.conjunct = conjunct
        self.name = conjunct[1]
        self.transit: Transit | None = None
        self.placing: Skill | None = None
        self.exit: Float64 = np.array([0.0, 0.0, 1.0])
        self.attempts = 0

    def _start(self, body: Any, hand: Hand) -> tuple[Float64, Float64]:
        """Return where the hand begins its work: grip site (m) and rotation."""
        raise NotImplementedError

    def _arrived(self, body: Any, hand: Hand) -> str:
        """Return the phase that begins the work."""
        raise NotImplementedError

    def _look(self, body: Any, hand: Hand) -> Float32 | None:
        """Decide what to do first."""
        if scene.is_true(body, self.conjunct):
            self._go('rest', 'it is done')
        elif undone := self._undone(body):
            self.placing = placing_skill(body, undone)
            self._go('finish', f'the hand still has to do {undone}')
        elif scene.touched(body):
            self._go('free', f'letting go of {" and ".join(scene.touched(body))}')
        else:
            self._go('plan')
        return None

    def _undone(self, body: Any) -> tuple[str, ...]:
        """Return the placement in the goal of what the hand holds, or ()."""
        thing = scene.held(body)
        return next((g for g in scene.goals(body) if len(g) == 3 and g[1] == thing), ())

    def _finish(self, body: Any, hand: Hand) -> Float32 | None:
        """Put down what the hand holds where the goal wants it."""
        assert self.placing is not None
        action = self.placing.action(body)
        if self.placing.finished:
            self.log += [f'   {line}' for line in getattr(self.placing, 'log', ())]
            self._go('plan')
        return action

    def _free(self, body: Any, hand: Hand) -> Float32 | None:
        """Open on the spot until nothing touches the fingers, then rise a little."""
        if self.clock >= 4 and (self.clock >= 16 or not scene.touched(body)):
            self._go('plan')
            return None
        return motion.hold(hand, OPEN)

    def _plan(self, body: Any, hand: Hand) -> Float32 | None:
        """Plan the way to where the work begins."""
        self.attempts += 1
        position, rotation = self._start(body, hand)
        depth = max(depth_below(rotation), depth_below(hand.rotation))
        height = travel_height(body, hand, position, depth)
        self.transit = Transit(position, rotation, height)
        self._go('reach', f'attempt {self.attempts}')
        return None

    def _reach(self, body: Any, hand: Hand) -> Float32 | None:
        """Travel there."""
        assert self.transit is not None
        gripper = CLOSE if self.fist else OPEN
        if self.transit.arrived(hand, 0.012) or self.clock >= REACHING_STEPS:
            error = (hand.position - self.transit.position).round(3)
            self._go(self._arrived(body, hand), f'off by {error} after {self.clock} steps')
            return None
        if self.transit.stalled() and self.transit.distance(hand) < STRAIGHT_ON:
            return motion.servo(hand, self.transit.position, self.transit.rotation, gripper)
        return self.transit.action(hand, gripper)

    def _leave(self, body: Any, hand: Hand) -> Float32 | None:
        """Move away along `exit`, then look whether it is done."""
        if self.clock >= LEAVING_STEPS:
            self._go('look')
            return None
        return motion.servo(hand, hand.position + 0.06 * self.exit, hand.rotation, OPEN)

    def _rest(self, body: Any, hand: Hand) -> Float32 | None:
        """Hold the arm as long as it stays done."""
        self.finished = scene.is_true(body, self.conjunct)
        if not self.finished:
            self._go('look', 'it is not done any more')
            return None
        return motion.hold(hand, OPEN)
