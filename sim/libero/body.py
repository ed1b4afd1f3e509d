"""`LiberoBody`: LIBERO behind the Body port, one low-level step (0.05 s) at a time."""

from __future__ import annotations

from typing import Any
from typing import get_args

import numpy as np

from structrl_ros.errors import SimulationError
from structrl_ros.sim.libero.camera import PictureDetail
from structrl_ros.sim.libero.camera import SceneCamera
from structrl_ros.sim.libero.features import FEATURE_NAMES
from structrl_ros.sim.libero.features import StateFeatures
from structrl_ros.sim.libero.predicates import GoalPredicates
from structrl_ros.sim.libero.predicates import scene_vocabulary
from structrl_ros.sim.libero.scene import LiberoScene
from structrl_ros.sim.libero.stepping import ArmStepper
from structrl_ros.sim.libero.tasks import LiberoTask
from structrl_ros.sim.libero.tasks import find_task
from structrl_ros.types import BodySpec
from structrl_ros.types import Float32
from structrl_ros.types import Float64
from structrl_ros.types import Proprioception
from structrl_ros.types import StepOutcome
from structrl_ros.types import TaskInfo
from structrl_ros.types import UInt8

#: Steps with zero deltas and an open gripper after a reset, in which objects come to rest.
SETTLING_STEPS = 10

#: Low-level steps a second.
CONTROL_RATE_HZ = 20.0

_CAMERAS = {'head': 'agentview', 'left_wrist': 'robot0_eye_in_hand'}
_OPEN = -1.0


class LiberoBody:
    """A simulated Franka Panda in a LIBERO scene.

    Actions are `ee_delta_pose` as in `types.ActionChunk`: the target of an impedance controller
    (robosuite's OSC_POSE), relative to where the hand is, so a state is not the last one plus the
    action. Out-of-range values are clipped to [-1, 1]; of the gripper only the sign counts
    (0 stops the fingers). One step is bit-equal to LIBERO's `env.step` from the same state.

    For scripted experts, which are privileged: `model`, `data` (MuJoCo's objects), `environment`
    (LIBERO's robosuite environment), `task` and `predicates`. After `reset`, `step` and
    `set_simulator_state` all positions, velocities and contacts in `data` belong to the present
    state.

    Nothing heavy is imported before the first `reset`; no OpenGL context exists before the first
    `render`, and `render` must always be called from one and the same thread.
    """

    def __init__(
        self,
        *,
        image_size: int = 256,
        horizon_steps: int | None = None,
        picture_detail: PictureDetail = 'full',
    ) -> None:
        """Prepare a body without a scene.

        Args:
            image_size: Width and height of rendered images in pixels, 16 to 1024.
            horizon_steps: Limit reported in `TaskInfo`, in low-level steps; None for the suite's.
            picture_detail: 'full' for LIBERO's own pictures (policies trained on them need it),
                'light' for pictures from coarser meshes at less than half the cost.

        Raises:
            SimulationError: If an argument is outside its range.
        """
        if not 16 <= image_size <= 1024:
            raise SimulationError(f'image size {image_size} px; allowed: 16 to 1024')
        if horizon_steps is not None and horizon_steps < 1:
            raise SimulationError(f'horizon of {horizon_steps} steps; allowed: 1 or more')
        if picture_detail not in get_args(PictureDetail):
            allowed = ', '.join(get_args(PictureDetail))
            raise SimulationError(f'picture detail {picture_detail!r}; allowed: {allowed}')
        self.spec = BodySpec(
            name='libero',
            control_rate_hz=CONTROL_RATE_HZ,
            action_space='ee_delta_pose',
            action_dimension=7,
            roles=tuple(_CAMERAS),
        )
        self._image_size = image_size
        self._picture_detail = picture_detail
        self._horizon_steps = horizon_steps
        self._scene: LiberoScene | None = None
        self._camera: SceneCamera | None = None
        self._stepper: ArmStepper | None = None
        self._predicates: GoalPredicates | None = None
        self._features: StateFeatures | None = None
        self.feature_names = FEATURE_NAMES

    def reset(self, task: str, seed: int, initial_state: int) -> TaskInfo:
        """Set the scene and let it settle; the same arguments give the same scene, bit for bit.

        Args:
            task: Any name that `tasks.find_task` knows.
            seed: Of the fixtures' poses; objects and arm come from the initial state.
            initial_state: Row of LIBERO's initial states, 0 to 49.

        Raises:
            SimulationError: If the task is unknown or the initial state does not exist.
        """
        found = find_task(task)
        scene = self._scene
        if scene is None or scene.task != found:
            self.close()
            scene = self._scene = LiberoScene(found, seed)
        scene.place(seed, initial_state)
        self._stepper = ArmStepper(scene)
        still = np.array([0, 0, 0, 0, 0, 0, _OPEN], dtype=np.float32)
        for _ in range(SETTLING_STEPS):
            self._stepper.step(still)
        self._predicates = GoalPredicates(scene)
        self._features = StateFeatures(scene, self._predicates)
        return TaskInfo(
            task=found.id,
            instruction=found.instruction,
            horizon_steps=self._horizon_steps or found.horizon_steps,
            predicate_names=self._predicates.names,
            objects=scene_vocabulary(scene.environment),
        )

    def step(self, action: Float32) -> StepOutcome:
        """Apply one action of shape (7,) for 0.05 s.

        Raises:
            SimulationError: If there is no scene or the action has a wrong shape or is not finite.
        """
        stepper = self._running()
        if np.shape(action) != (7,) or not np.isfinite(action).all():
            raise SimulationError(f'action {action!r}; allowed: 7 finite numbers')
        stepper.step(action, before_last_update=self._evaluate)
        values, success = self._outcome
        return StepOutcome(values, success)

    def hold_action(self) -> Float32:
        """Return zero deltas with the gripper command of the last step, shape (7,)."""
        return np.array([0, 0, 0, 0, 0, 0, self._running().gripper_command], dtype=np.float32)

    def proprioception(self, stamp_ns: int) -> Proprioception:
        """Return the arm's own state.

        `ee_pose` is the grip site between the finger tips, position in metres and quaternion
        xyzw, in the frame of the robot's base, the frame that actions are given in. It is not
        robosuite's `robot0_eef_quat`, which mixes this position, in the world frame, with the
        orientation of the hand body.
        """
        return self._running().proprioception(stamp_ns)

    def render(self, role: str) -> UInt8:
        """Return the upright picture of a camera role, uint8 RGB (size, size, 3).

        `head` is LIBERO's agentview, `left_wrist` its robot0_eye_in_hand.

        Raises:
            SimulationError: If the role is unknown, or OpenGL does not work on this machine.
        """
        self._running()
        if role not in _CAMERAS:
            raise SimulationError(f'no camera {role!r}; allowed: {", ".join(_CAMERAS)}')
        if self._camera is None:
            assert self._scene is not None
            self._camera = SceneCamera(self._scene, self._image_size, self._picture_detail)
        return self._camera.render(_CAMERAS[role])

    def vertical_fov(self, role: str) -> float:
        """Return the vertical field of view of a camera role in radians.

        Raises:
            SimulationError: If the role is unknown.
        """
        self._running()
        if role not in _CAMERAS:
            raise SimulationError(f'no camera {role!r}; allowed: {", ".join(_CAMERAS)}')
        return float(np.deg2rad(self.model.camera(_CAMERAS[role]).fovy[0]))

    def features(self) -> Float32:
        """Return the state vector (privileged), shape (F,); see `features.FEATURE_NAMES`."""
        arm = self._running().proprioception(0)
        assert self._features is not None
        return self._features.read(arm)

    def simulator_state(self) -> Float64:
        """Return all that decides the future of this scene, for `set_simulator_state`."""
        return self._running().state()

    def set_simulator_state(self, state: Float64) -> None:
        """Continue from a state of the same task, seed and initial state, bit for bit.

        Raises:
            SimulationError: If the state has another size or is not finite.
        """
        self._running().set_state(state)

    def close(self) -> None:
        """Free the scene and its pictures; a second call does nothing."""
        camera, scene = self._camera, self._scene
        self._scene = self._camera = self._stepper = self._predicates = self._features = None
        if camera is not None:
            camera.close()
        if scene is not None:
            scene.close()

    @property
    def task(self) -> LiberoTask:
        """The task of the present scene."""
        return self._placed().task

    @property
    def model(self) -> Any:
        """MuJoCo's model (privileged)."""
        return self._placed().model

    @property
    def data(self) -> Any:
        """MuJoCo's data (privileged)."""
        return self._placed().data

    @property
    def environment(self) -> Any:
        """LIBERO's robosuite environment (privileged)."""
        return self._placed().environment

    @property
    def predicates(self) -> GoalPredicates:
        """The goal's predicates (privileged)."""
        self._placed()
        assert self._predicates is not None
        return self._predicates

    def _evaluate(self) -> None:
        self._outcome = self.predicates.evaluate()

    def _placed(self) -> LiberoScene:
        if self._scene is None:
            raise SimulationError('no scene; allowed: reset(task, seed, initial_state) first')
        return self._scene

    def _running(self) -> ArmStepper:
        self._placed()
        assert self._stepper is not None
        return self._stepper
