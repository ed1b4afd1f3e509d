"""`KinematicExpert`: a scripted, privileged policy for the kinematic world.

It sets a twin of the world to the state it is given, plays its skill closed-loop in the twin for
one chunk and returns the actions that this took. The skill is a function of the state alone, so a
chunk asked for in mid-flight continues the same motion.
"""

from __future__ import annotations

import numpy as np

from structrl_ros.errors import SimulationError
from structrl_ros.naming import match_handle
from structrl_ros.sim.kinematic.body import KinematicBody
from structrl_ros.sim.kinematic.scene import BASKET_RIM
from structrl_ros.sim.kinematic.scene import FOLLOWING
from structrl_ros.sim.kinematic.scene import HALF_HEIGHT
from structrl_ros.sim.kinematic.scene import TRANSLATION_M
from structrl_ros.sim.kinematic.scene import Scene
from structrl_ros.sim.privileged_policy import expert_spec
from structrl_ros.sim.privileged_policy import needed_state
from structrl_ros.types import Episode
from structrl_ros.types import Float32
from structrl_ros.types import Float64
from structrl_ros.types import Observation
from structrl_ros.types import Subtask

#: Heights of the gripper above the table, metres: travelling, and letting go over the basket.
TRAVEL = 0.25
RELEASE = BASKET_RIM + HALF_HEIGHT
#: Near enough to go on with the next part of a motion, metres.
NEAR = 0.005
OPEN, CLOSE = -1.0, 1.0


class KinematicExpert:
    """Knows `grasp X` and `place X in the basket`; `place` grasps first where it must."""

    def __init__(self, *, chunk_length: int = 8) -> None:
        """Make an expert without a scene.

        Args:
            chunk_length: Rows of a chunk, 1 to 200.

        Raises:
            SimulationError: If the chunk length is outside its range.
        """
        self.spec = expert_spec('expert', chunk_length)
        self._twin = KinematicBody()

    def reset(self, episode: Episode) -> None:
        """Set the twin to the episode's scene."""
        self._twin.reset(episode.task, episode.seed, episode.initial_state)

    def act(self, observation: Observation, subtask: Subtask, instruction: str) -> Float32:
        """Return actions of shape (chunk_length, 7), float32, that follow the committed ones.

        Raises:
            StaleDataError: If the observation lacks the simulator's state.
            SimulationError: If there is no such skill, or the subtask names nothing in the scene.
        """
        self._twin.set_simulator_state(needed_state(observation).state)
        for row in () if observation.committed is None else observation.committed:
            self._twin.step(row)
        can = self._find(subtask)
        actions = np.empty((self.spec.chunk_length, 7), dtype=np.float32)
        for row in actions:
            row[:] = next_action(self._twin.scene, subtask.verb, can)
            self._twin.step(row)
        return actions

    def close(self) -> None:
        """Free the twin; a second call does nothing."""
        self._twin.close()

    def _find(self, subtask: Subtask) -> int:
        if subtask.verb not in ('grasp', 'place'):
            raise SimulationError(f'no skill {subtask.verb!r}; known: grasp, place')
        thing = subtask.arguments[0] if subtask.arguments else ''
        scores = [match_handle(thing, name) for name in self._twin.cans]
        if not scores or max(scores) <= 0.0:
            known = ', '.join(self._twin.cans)
            raise SimulationError(f'{thing!r} is not in the scene; known: {known}')
        return int(np.argmax(scores))


def next_action(scene: Scene, verb: str, can: int) -> Float32:
    """Return the skill's next action, shape (7,), a function of the state alone."""
    if scene.held == can:
        return _carry(scene) if verb == 'place' else _go(scene, _above(scene.gripper), CLOSE)
    if scene.held >= 0 or (verb == 'place' and scene.is_in_basket(can)):
        return _go(scene, _above(scene.gripper), OPEN)
    return _reach(scene, scene.cans[can])


def _reach(scene: Scene, can: Float64) -> Float32:
    """Go above the can, down around it, close."""
    aside = np.abs(can[:2] - scene.gripper[:2]).max()
    if aside > NEAR:
        low = scene.gripper[2] < TRAVEL - NEAR and aside > 4 * NEAR
        goal = _above(scene.gripper) if low else np.append(can[:2], TRAVEL)
        return _go(scene, goal, OPEN)
    if abs(can[2] - scene.gripper[2]) > NEAR:
        return _go(scene, can, OPEN)
    return _go(scene, can, CLOSE)


def _carry(scene: Scene) -> Float32:
    """Lift, go above the basket, down to its rim, open."""
    aside = np.abs(scene.basket - scene.gripper[:2]).max()
    if aside > NEAR:
        low = scene.gripper[2] < TRAVEL - NEAR
        goal = _above(scene.gripper) if low else np.append(scene.basket, TRAVEL)
        return _go(scene, goal, CLOSE)
    goal = np.append(scene.basket, RELEASE)
    return _go(scene, goal, OPEN if scene.gripper[2] < RELEASE + NEAR else CLOSE)


def _above(place: Float64) -> Float64:
    return np.array([place[0], place[1], TRAVEL])


def _go(scene: Scene, goal: Float64, gripper: float) -> Float32:
    """Return the action towards a place: proportional, at full speed when far."""
    action = np.zeros(7, dtype=np.float32)
    action[:3] = np.clip((goal - scene.gripper) / (FOLLOWING * TRANSLATION_M), -1.0, 1.0)
    action[6] = gripper
    return action
