"""`TwinBody`: one lane of the kinematic twin behind the StateBody port."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from structrl_ros.errors import SimulationError
from structrl_ros.sim.tabletop.features import FEATURE_NAMES
from structrl_ros.sim.tabletop.features import features
from structrl_ros.sim.tabletop.layout import draw_layout
from structrl_ros.sim.tabletop.perception import perceive
from structrl_ros.sim.tabletop.perception import perceived_offset
from structrl_ros.sim.tabletop.task_data import PREDICATE_SLOTS
from structrl_ros.sim.tabletop.task_data import Task
from structrl_ros.sim.tabletop.task_files import find_task
from structrl_ros.sim.tabletop.view import WorldView
from structrl_ros.sim.twin.dynamics import RATE_HZ
from structrl_ros.sim.twin.dynamics import step
from structrl_ros.sim.twin.picture import ROLES
from structrl_ros.sim.twin.picture import draw
from structrl_ros.sim.twin.publishing import Published
from structrl_ros.sim.twin.publishing import publish
from structrl_ros.sim.twin.settings import TwinSettings
from structrl_ros.sim.twin.state import TwinState
from structrl_ros.sim.twin.state import begin
from structrl_ros.sim.twin.things import WIDTH
from structrl_ros.types import BodySpec
from structrl_ros.types import Float32
from structrl_ros.types import Float64
from structrl_ros.types import Proprioception
from structrl_ros.types import StepOutcome
from structrl_ros.types import TaskInfo
from structrl_ros.types import UInt8

SPEC = BodySpec(
    name='twin',
    control_rate_hz=RATE_HZ,
    action_space='ee_delta_pose',
    action_dimension=7,
    roles=ROLES,
)


def check_options(image_size: int, horizon_steps: int | None) -> None:
    """Refuse what is no picture and no horizon.

    Raises:
        SimulationError: If one is outside its range.
    """
    if not 16 <= image_size <= 1024:
        raise SimulationError(f'image size {image_size} px; allowed: 16 to 1024')
    if horizon_steps is not None and horizon_steps < 1:
        raise SimulationError(f'horizon of {horizon_steps} steps; allowed: 1 or more')


class TwinBody:
    """A point gripper at a table; the same episodes, bit for bit, as in a lane of `TwinWorld`.

    Actions are `ee_delta_pose` as in `types.ActionChunk`; turns about x and y are ignored, of the
    gripper only the sign counts (0 leaves the command as it was). For scripted experts, which are
    privileged: `task` and `view`.
    """

    def __init__(
        self,
        *,
        image_size: int = 96,
        horizon_steps: int | None = None,
        checkpoints: Sequence[str] = (),
        **settings: float,
    ) -> None:
        """Prepare a body without a scene.

        Args:
            image_size: Width and height of pictures in pixels, 16 to 1024.
            horizon_steps: Limit reported in `TaskInfo`, low-level steps; None for the task's.
            checkpoints: Names of checkpoints to publish after the task's predicates.
            **settings: See `TwinSettings`.

        Raises:
            SimulationError: If an argument is outside its range.
        """
        check_options(image_size, horizon_steps)
        self.spec = SPEC
        self.feature_names = FEATURE_NAMES
        self.predicate_slots = PREDICATE_SLOTS + len(checkpoints)
        self._settings = TwinSettings(**settings)
        self._offset = perceived_offset(
            self._settings.calibration_offset, self._settings.offsets_apart
        )
        self._image_size = image_size
        self._horizon_steps = horizon_steps
        self._checkpoints = tuple(checkpoints)
        self._scene: tuple[Published, TwinState] | None = None

    def reset(self, task: str, seed: int, initial_state: int) -> TaskInfo:
        """Set the scene; the same arguments give the same scene, always.

        Raises:
            SimulationError: If the task is unknown, or a number is negative.
        """
        found = find_task(task)
        shown = publish(found, self._checkpoints, self._horizon_steps)
        self._scene = shown, begin(draw_layout(found, [(seed, initial_state)]))
        return shown.info

    def step(self, action: Float32) -> StepOutcome:
        """Apply one action of shape (7,) for 0.1 s.

        Raises:
            SimulationError: If there is no scene, or the action is not 7 finite numbers.
        """
        shown, state = self._placed()
        if np.shape(action) != (7,) or not np.isfinite(action).all():
            raise SimulationError(f'action {action!r}; allowed: 7 finite numbers')
        step(state, shown.task, self._settings, np.asarray(action, dtype=np.float32)[None])
        truth, success = shown.judge(state)
        return StepOutcome(tuple(truth[0].tolist()), bool(success[0]))

    def hold_action(self) -> Float32:
        """Return zero deltas with the gripper command of the last step, shape (7,)."""
        command = self._placed()[1].command[0]
        return np.array([0, 0, 0, 0, 0, 0, command], dtype=np.float32)

    def features(self) -> Float32:
        """Return the state vector, shape (F,); see `features.FEATURE_NAMES`."""
        view, task = self.view, self.task
        if self._offset.any():
            view = perceive(view, task, self._offset)
        return features(view, task)[0]

    def proprioception(self, stamp_ns: int) -> Proprioception:
        """Return the gripper's pose, and as joints its three coordinates (m) and yaw (rad)."""
        state = self._placed()[1]
        yaw = float(state.yaw[0])
        down = np.array([np.cos(yaw / 2.0), np.sin(yaw / 2.0), 0.0, 0.0])
        return Proprioception(
            stamp_ns=stamp_ns,
            joint_names=('x', 'y', 'z', 'yaw'),
            joint_positions=np.append(state.tcp[0], yaw),
            joint_velocities=np.append(state.velocity[0], 0.0),
            ee_pose=np.concatenate([state.tcp[0], down]),
            gripper=np.full(2, state.opening[0] * WIDTH / 2.0),
        )

    def render(self, role: str) -> UInt8:
        """Return the picture of a camera role, uint8 RGB (size, size, 3).

        Raises:
            SimulationError: If the role is unknown.
        """
        return draw(self._placed()[1], self.task, role, self._image_size)

    def vertical_fov(self, role: str) -> None:
        """Return None: its pictures are drawings, without a lens."""

    def simulator_state(self) -> Float64:
        """Return all that decides the future of this scene, for `set_simulator_state`."""
        return self._placed()[1].pack(0)

    def set_simulator_state(self, state: Float64) -> None:
        """Continue from a state of the same task, seed and initial state, bit for bit.

        Raises:
            SimulationError: If the state has another size or is not finite.
        """
        self._placed()[1].unpack(0, np.asarray(state, dtype=np.float64))

    def close(self) -> None:
        """Free the scene; a second call does nothing."""
        self._scene = None

    @property
    def task(self) -> Task:
        """What is played (privileged)."""
        return self._placed()[0].task

    @property
    def view(self) -> WorldView:
        """What an expert sees now, one lane; a copy (privileged)."""
        shown, state = self._placed()
        return state.take(np.array([0])).view(shown.task)

    def _placed(self) -> tuple[Published, TwinState]:
        if self._scene is None:
            raise SimulationError('no scene; allowed: reset(task, seed, initial_state) first')
        return self._scene
