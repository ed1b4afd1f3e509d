"""`KinematicBody`: the kinematic world behind the Body port."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from structrl_ros.errors import SimulationError
from structrl_ros.sim.kinematic.picture import draw
from structrl_ros.sim.kinematic.scene import Scene
from structrl_ros.sim.kinematic.scene import place_scene
from structrl_ros.types import BodySpec
from structrl_ros.types import Float32
from structrl_ros.types import Float64
from structrl_ros.types import Proprioception
from structrl_ros.types import StepOutcome
from structrl_ros.types import TaskInfo
from structrl_ros.types import UInt8

CONTROL_RATE_HZ = 20.0
REGION = 'basket_1_contain_region'


@dataclass(frozen=True, slots=True)
class KinematicTask:
    """A sentence and the cans that it is about; all of them belong in the basket."""

    instruction: str
    cans: tuple[str, ...]


_BOTH = 'put both the alphabet soup and the tomato sauce in the basket'
TASKS = {
    'kinematic/two_in_basket': KinematicTask(_BOTH, ('alphabet_soup_1', 'tomato_sauce_1')),
    'kinematic/soup_in_basket': KinematicTask(
        'put the alphabet soup in the basket', ('alphabet_soup_1',)
    ),
}


def find_task(name: str) -> KinematicTask:
    """Return a task.

    Raises:
        SimulationError: If there is none of this name.
    """
    found = TASKS.get(name)
    if found is None:
        raise SimulationError(f'unknown task {name!r}; known: {", ".join(sorted(TASKS))}')
    return found


class KinematicBody:
    """A point gripper over a table with cans and a basket; see `scene.Scene`.

    Actions are `ee_delta_pose` as in `types.ActionChunk`; of the gripper only the sign counts.
    """

    def __init__(self, *, image_size: int = 96, horizon_steps: int = 400) -> None:
        """Prepare a body without a scene.

        Args:
            image_size: Width and height of pictures in pixels, 16 to 1024.
            horizon_steps: Limit reported in `TaskInfo`, low-level steps, 1 or more.

        Raises:
            SimulationError: If an argument is outside its range.
        """
        if not 16 <= image_size <= 1024:
            raise SimulationError(f'image size {image_size} px; allowed: 16 to 1024')
        if horizon_steps < 1:
            raise SimulationError(f'horizon of {horizon_steps} steps; allowed: 1 or more')
        self.spec = BodySpec(
            name='kinematic',
            control_rate_hz=CONTROL_RATE_HZ,
            action_space='ee_delta_pose',
            action_dimension=7,
            roles=('head', 'left_wrist'),
        )
        self._image_size = image_size
        self._horizon_steps = horizon_steps
        self._scene: Scene | None = None
        self._cans: tuple[str, ...] = ()

    def reset(self, task: str, seed: int, initial_state: int) -> TaskInfo:
        """Set the scene; the same arguments give the same scene, always.

        Raises:
            SimulationError: If the task is unknown or the initial state does not exist.
        """
        found = find_task(task)
        self._scene = place_scene(len(found.cans), seed, initial_state)
        self._cans = found.cans
        goals = [f'in({can}, {REGION})' for can in found.cans]
        grasps = [f'grasp({can})' for can in found.cans]
        return TaskInfo(
            task=task,
            instruction=found.instruction,
            horizon_steps=self._horizon_steps,
            predicate_names=(*goals, *grasps),
            objects=(*(c.removesuffix('_1').replace('_', ' ') for c in found.cans), 'basket'),
        )

    def step(self, action: Float32) -> StepOutcome:
        """Apply one action of shape (7,) for 0.05 s.

        Raises:
            SimulationError: If there is no scene, or the action is not 7 finite numbers.
        """
        if np.shape(action) != (7,) or not np.isfinite(action).all():
            raise SimulationError(f'action {action!r}; allowed: 7 finite numbers')
        scene = self.scene
        scene.step(np.asarray(action, dtype=np.float32))
        inside = tuple(scene.is_in_basket(i) for i in range(len(self._cans)))
        held = tuple(scene.held == i for i in range(len(self._cans)))
        return StepOutcome((*inside, *held), all(inside))

    def hold_action(self) -> Float32:
        """Return zero deltas with the gripper command of the last step, shape (7,)."""
        return np.array([0, 0, 0, 0, 0, 0, self.scene.command], dtype=np.float32)

    def proprioception(self, stamp_ns: int) -> Proprioception:
        """Return the gripper's pose, and as joints its three coordinates (m) and turns (rad)."""
        scene = self.scene
        angle = float(np.linalg.norm(scene.rotation))
        axis = scene.rotation / angle if angle > 0.0 else np.array([0.0, 0.0, 1.0])
        quat_xyzw = np.append(np.sin(angle / 2.0) * axis, np.cos(angle / 2.0))
        return Proprioception(
            stamp_ns=stamp_ns,
            joint_names=('x', 'y', 'z', 'turn_x', 'turn_y', 'turn_z'),
            joint_positions=np.concatenate([scene.gripper, scene.rotation]),
            joint_velocities=np.concatenate([scene.velocity, np.zeros(3)]),
            ee_pose=np.concatenate([scene.gripper, quat_xyzw]),
            gripper=np.full(2, scene.finger),
        )

    def render(self, role: str) -> UInt8:
        """Return the picture of a camera role, uint8 RGB (size, size, 3).

        Raises:
            SimulationError: If the role is unknown.
        """
        if role not in self.spec.roles:
            raise SimulationError(f'no camera {role!r}; allowed: {", ".join(self.spec.roles)}')
        return draw(self.scene, role, self._image_size)

    def vertical_fov(self, role: str) -> None:
        """Return None: its pictures are drawings, without a lens."""

    def simulator_state(self) -> Float64:
        """Return all that decides the future of this scene, for `set_simulator_state`."""
        return self.scene.pack()

    def set_simulator_state(self, state: Float64) -> None:
        """Continue from a state of the same task, bit for bit.

        Raises:
            SimulationError: If the state has another size or is not finite.
        """
        self.scene.unpack(np.asarray(state, dtype=np.float64))

    def close(self) -> None:
        """Free the scene; a second call does nothing."""
        self._scene = None

    @property
    def scene(self) -> Scene:
        """The scene itself (privileged)."""
        if self._scene is None:
            raise SimulationError('no scene; allowed: reset(task, seed, initial_state) first')
        return self._scene

    @property
    def cans(self) -> tuple[str, ...]:
        """Names of the cans, in the order of `scene.cans` (privileged)."""
        return self._cans
