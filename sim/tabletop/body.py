"""`TabletopBody`: MuJoCo tabletop tasks behind the StateBody port, 0.1 s a low-level step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from structrl_ros.errors import SimulationError
from structrl_ros.sim.tabletop.arm import PERIOD_S
from structrl_ros.sim.tabletop.camera import TabletopCamera
from structrl_ros.sim.tabletop.camera import prepare_graphics
from structrl_ros.sim.tabletop.checkpoints import Checkpoint
from structrl_ros.sim.tabletop.checkpoints import bind_checkpoints
from structrl_ros.sim.tabletop.checkpoints import evaluate
from structrl_ros.sim.tabletop.experts.expert import expert_moves
from structrl_ros.sim.tabletop.experts.motion import to_body
from structrl_ros.sim.tabletop.features import FEATURE_NAMES
from structrl_ros.sim.tabletop.features import features
from structrl_ros.sim.tabletop.mjcf.robot import JOINTS
from structrl_ros.sim.tabletop.mjcf.scene import Physics
from structrl_ros.sim.tabletop.perception import perceive
from structrl_ros.sim.tabletop.perception import perceived_offset
from structrl_ros.sim.tabletop.task_data import PREDICATE_SLOTS
from structrl_ros.sim.tabletop.task_data import Task
from structrl_ros.sim.tabletop.task_files import find_task
from structrl_ros.sim.tabletop.view import WorldView
from structrl_ros.sim.tabletop.view import has_succeeded
from structrl_ros.sim.tabletop.world import TabletopWorld
from structrl_ros.types import BodySpec
from structrl_ros.types import Float32
from structrl_ros.types import Float64
from structrl_ros.types import Proprioception
from structrl_ros.types import StepOutcome
from structrl_ros.types import TaskInfo
from structrl_ros.types import UInt8

ROLES = ('head', 'left_wrist')


class TabletopBody:
    """A simulated Franka Panda at a table.

    Actions are `ee_delta_pose` as in `types.ActionChunk`, relative to where the tool is measured,
    and carried out by joint servos, so a state is not the last one plus the action where the arm
    touches something or a joint is at its largest speed. The tilt of the hand alone is relative to
    the tilt last asked for (see `arm.ArmControl`). Out-of-range values are clipped to [-1, 1]; of
    the gripper only the sign counts (0 leaves the command as it was).

    For scripted experts, which are privileged: `task`, `view`, and `model` and `data` (MuJoCo's
    objects). MuJoCo is imported by the first `reset`; no OpenGL context exists before the first
    `render`, and `render` must always be called from one and the same thread.
    """

    def __init__(
        self,
        *,
        image_size: int = 128,
        horizon_steps: int | None = None,
        calibration_offset: ArrayLike = 0.0,
        offsets_apart: float = 0.0,
        physics: Physics | None = None,
        checkpoints: Sequence[str] = (),
    ) -> None:
        """Prepare a body without a scene.

        Args:
            image_size: Width and height of rendered images in pixels, 16 to 1024.
            horizon_steps: Limit reported in `TaskInfo`, in low-level steps; None for the task's.
            calibration_offset: Error of what `features` perceives, metres in the base frame:
                everything but the arm itself is seen this far from where it is. Three numbers, or
                one that is taken times `perception.DIRECTION`.
            offsets_apart: Error of each thing in a direction of its own, metres.
            physics: Settings of the simulator; None for those that grasps need.
            checkpoints: Names of checkpoints to publish after the task's predicates.

        Raises:
            SimulationError: If an argument is outside its range.
        """
        if not 16 <= image_size <= 1024:
            raise SimulationError(f'image size {image_size} px; allowed: 16 to 1024')
        if horizon_steps is not None and horizon_steps < 1:
            raise SimulationError(f'horizon of {horizon_steps} steps; allowed: 1 or more')
        self.spec = BodySpec(
            name='tabletop',
            control_rate_hz=1.0 / PERIOD_S,
            action_space='ee_delta_pose',
            action_dimension=7,
            roles=ROLES,
        )
        self.feature_names = FEATURE_NAMES
        self._image_size = image_size
        self._horizon_steps = horizon_steps
        self._offset = _perceived(calibration_offset, offsets_apart)
        self._physics = Physics() if physics is None else physics
        self._names = tuple(checkpoints)
        self._checkpoints: tuple[Checkpoint, ...] = ()
        self.predicate_slots = PREDICATE_SLOTS + len(self._names)
        self._world: TabletopWorld | None = None
        self._camera: TabletopCamera | None = None

    def reset(self, task: str, seed: int, initial_state: int) -> TaskInfo:
        """Set the scene and let it settle; the same arguments give the same scene, bit for bit.

        Args:
            task: Name of a file in `tasks/`.
            seed: With the initial state it draws every pose, 0 or more.
            initial_state: 0 or more.

        Raises:
            SimulationError: If the task is unknown, or a number is negative.
            ParameterError: If the task has no checkpoint of a name.
        """
        found = find_task(task)
        bound = bind_checkpoints(found, self._names)
        if self._world is None or self._world.task is not found:
            self.close()
            prepare_graphics()
            self._world = TabletopWorld(found, self._physics)
        self._world.place(seed, initial_state)
        self._checkpoints = bound
        return TaskInfo(
            task=found.name,
            instruction=found.instruction,
            horizon_steps=self._horizon_steps or found.horizon,
            predicate_names=(*found.predicate_names, *(c.name for c in bound)),
            objects=found.vocabulary,
        )

    def step(self, action: Float32) -> StepOutcome:
        """Apply one action of shape (7,) for 0.1 s.

        Raises:
            SimulationError: If there is no scene or the action has a wrong shape or is not finite.
        """
        world = self._placed()
        if np.shape(action) != (7,) or not np.isfinite(action).all():
            raise SimulationError(f'action {action!r}; allowed: 7 finite numbers')
        world.step(action)
        truth = world.view.truth
        success = has_succeeded(world.task, truth)
        if self._checkpoints:
            more = evaluate(world.task, self._checkpoints, world.view)
            truth = np.concatenate([truth, more], axis=1)
        return StepOutcome(tuple(truth[0].tolist()), bool(success[0]))

    def hold_action(self) -> Float32:
        """Return zero deltas with the gripper command of the last step, shape (7,)."""
        world = self._placed()
        command = world.arm.gripper_command(world.data)
        return np.array([0, 0, 0, 0, 0, 0, command], dtype=np.float32)

    def expert_action(self) -> Float32:
        """Return what the reactive expert of the whole task would do now, (7,) (privileged)."""
        world = self._placed()
        return to_body(expert_moves(world.view, world.task))[0]

    def features(self) -> Float32:
        """Return the state vector, shape (F,); see `features.FEATURE_NAMES`."""
        world = self._placed()
        view = world.view
        if self._offset.any():
            view = perceive(view, world.task, self._offset)
        return features(view, world.task)[0]

    def proprioception(self, stamp_ns: int) -> Proprioception:
        """Return the arm's own state; `ee_pose` is the point between the finger tips."""
        world = self._placed()
        position, quat_xyzw = world.tool_pose()
        return Proprioception(
            stamp_ns=stamp_ns,
            joint_names=JOINTS,
            joint_positions=world.arm.joint_angles(world.data),
            joint_velocities=world.arm.joint_velocities(world.data),
            ee_pose=np.concatenate([position, quat_xyzw]),
            gripper=world.arm.fingers(world.data),
        )

    def render(self, role: str) -> UInt8:
        """Return the upright picture of a camera role, uint8 RGB (size, size, 3).

        Raises:
            SimulationError: If the role is unknown, or OpenGL does not work on this machine.
        """
        world = self._placed()
        if role not in ROLES:
            raise SimulationError(f'no camera {role!r}; allowed: {", ".join(ROLES)}')
        if self._camera is None:
            self._camera = TabletopCamera(world.model, self._image_size)
        return self._camera.render(world.data, role)

    def vertical_fov(self, role: str) -> float:
        """Return the vertical field of view of a camera role in radians.

        Raises:
            SimulationError: If the role is unknown.
        """
        world = self._placed()
        if role not in ROLES:
            raise SimulationError(f'no camera {role!r}; allowed: {", ".join(ROLES)}')
        return float(np.deg2rad(world.model.camera(role).fovy[0]))

    def simulator_state(self) -> Float64:
        """Return all that decides the future of this scene, for `set_simulator_state`."""
        return self._placed().state()

    def set_simulator_state(self, state: Float64) -> None:
        """Continue from a state of the same task, seed and initial state, bit for bit.

        Raises:
            SimulationError: If the state has another size or is not finite.
        """
        self._placed().set_state(state)

    def close(self) -> None:
        """Free the scene and its pictures; a second call does nothing."""
        camera = self._camera
        self._world = self._camera = None
        if camera is not None:
            camera.close()

    @property
    def task(self) -> Task:
        """The task of the present scene."""
        return self._placed().task

    @property
    def view(self) -> WorldView:
        """The true state of the scene, one lane (privileged; without `calibration_offset`)."""
        return self._placed().view

    @property
    def model(self) -> Any:
        """MuJoCo's model (privileged)."""
        return self._placed().model

    @property
    def data(self) -> Any:
        """MuJoCo's data (privileged)."""
        return self._placed().data

    def _placed(self) -> TabletopWorld:
        if self._world is None:
            raise SimulationError('no scene; allowed: reset(task, seed, initial_state) first')
        return self._world


def _perceived(calibration_offset: ArrayLike, offsets_apart: float) -> Float64:
    """Return the offset of every slot; see `perception.perceived_offset`.

    Raises:
        SimulationError: If it is neither one number nor three, or not finite.
    """
    offset = np.asarray(calibration_offset, dtype=np.float64)
    if offset.shape not in ((), (3,)) or not np.isfinite([*offset.flat, offsets_apart]).all():
        raise SimulationError(
            f'calibration offset {calibration_offset!r}, apart {offsets_apart!r}; allowed: one or '
            'three finite metres, and one'
        )
    if offset.shape == ():
        return perceived_offset(float(offset), offsets_apart)
    return perceived_offset(0.0, offsets_apart) + offset
