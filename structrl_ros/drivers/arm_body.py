"""A real arm behind the Body port, so that the brain cannot tell it from a simulator."""

from __future__ import annotations

import numpy as np

from structrl_ros.control.action_limiter import ActionLimiter
from structrl_ros.control.arm_target import ACTION_DIMENSIONS
from structrl_ros.control.arm_target import ArmTarget
from structrl_ros.control.arm_target import delta_action
from structrl_ros.control.arm_target import displacement
from structrl_ros.control.kinematics import Kinematics
from structrl_ros.control.rotations import pose_from_transform
from structrl_ros.errors import ArmError
from structrl_ros.errors import ParameterError
from structrl_ros.ports import Arm
from structrl_ros.types import ArmMode
from structrl_ros.types import ArmState
from structrl_ros.types import BodySpec
from structrl_ros.types import Float32
from structrl_ros.types import Float64
from structrl_ros.types import Proprioception
from structrl_ros.types import StepOutcome
from structrl_ros.types import TaskInfo
from structrl_ros.types import UInt8

#: The gripper closes above this entry of an action and opens below its negative.
GRIPPER_THRESHOLD = 0.5
#: Modes in which an arm takes waypoints.
MOVABLE = (ArmMode.IDLE, ArmMode.MOVE)


class ArmBody:
    """One arm: actions become waypoints, the gripper hears of crossings of its threshold alone."""

    def __init__(
        self,
        arm: Arm,
        kinematics: Kinematics,
        target: ArmTarget,
        limiter: ActionLimiter,
        *,
        control_rate_hz: float,
        action_space: str = 'ee_delta_pose',
        horizon_steps: int = 100_000,
        objects: tuple[str, ...] = (),
    ) -> None:
        """Bind the arm.

        Args:
            arm: The driver.
            kinematics: The arm with its tool.
            target: Turns displacements into waypoints.
            limiter: Limits of the motion of `ee`; for 'ee_delta_pose' it is the episode's own.
            control_rate_hz: Rows of a chunk a second.
            action_space: A key of `ACTION_DIMENSIONS`.
            horizon_steps: Steps after which an episode is truncated.
            objects: Names of the things in reach, the vocabulary of plans.

        Raises:
            ParameterError: If the action space is unknown.
        """
        if action_space not in ACTION_DIMENSIONS:
            known = ', '.join(ACTION_DIMENSIONS)
            raise ParameterError(f'unknown action space {action_space!r}; known: {known}')
        dimension = ACTION_DIMENSIONS[action_space]
        name = kinematics.robot.name
        self.spec = BodySpec(name, control_rate_hz, action_space, dimension, roles=())
        self._arm = arm
        self._kinematics = kinematics
        self._target = target
        self._limiter = limiter
        self._horizon_steps = horizon_steps
        self._objects = objects
        self._closed: bool | None = None
        self._grip_entry = 0.0  # neither open nor close: as it is

    def reset(self, task: str, seed: int, initial_state: int) -> TaskInfo:
        """Begin a task from where the arm is: nothing is moved, people set the scene.

        Raises:
            ArmError: If the arm has no state yet.
        """
        self._state()
        del seed, initial_state
        return TaskInfo(task, task, self._horizon_steps, (), self._objects)

    def step(self, action: Float32) -> StepOutcome:
        """Send the waypoint of a limited action; an arm that takes none is left alone."""
        state = self._state()
        if state.mode not in MOVABLE:
            self._target.drop()
        elif self._target.is_seeded:
            self._send(action, state)
        elif state.is_still:
            self._seed(state)
        return StepOutcome((), False)

    def hold_action(self) -> Float32:
        """Return the action that keeps the arm and the gripper as they are."""
        if self.spec.action_space == 'ee_delta_pose':
            return np.array([0.0] * 6 + [self._grip_entry], dtype=np.float32)
        matrix = self._measured() if not self._target.is_seeded else self._target.pose
        return np.array([*pose_from_transform(matrix), self._grip_entry], dtype=np.float32)

    def stop(self) -> None:
        """Stop as fast as the limits allow; the next target begins where the arm comes to rest."""
        self._arm.stop()
        self._target.drop()
        self._limiter.reset(self._grip_entry)

    def place(self) -> Float64:
        """Return where `ee` is commanded to be in the base frame, metres, shape (3,)."""
        pose = self._target.pose if self._target.is_seeded else self._measured()
        place: Float64 = pose[:3, 3]
        return place

    def proprioception(self, stamp_ns: int) -> Proprioception:
        """Return the arm's own state.

        Raises:
            ArmError: If there is none yet.
        """
        state = self._state()
        return Proprioception(
            stamp_ns=stamp_ns,
            joint_names=self._arm.joint_names,
            joint_positions=state.position,
            joint_velocities=state.velocity,
            ee_pose=self._kinematics.pose(state.position),
            gripper=np.full(2, 0.5 * state.opening),
            wrench=state.wrench,
        )

    def render(self, role: str) -> UInt8:
        """Refuse: pictures come from camera_node.

        Raises:
            ArmError: Always.
        """
        raise ArmError(f'an arm has no picture {role!r}; allowed: camera_node')

    def vertical_fov(self, role: str) -> None:
        """Return None: intrinsics come from camera_node."""

    def simulator_state(self) -> Float64:
        """Return no numbers: a real body has no privileged state."""
        return np.empty(0)

    def set_simulator_state(self, state: Float64) -> None:
        """Refuse: a real body cannot be set.

        Raises:
            ArmError: Always.
        """
        raise ArmError('the state of a real arm cannot be set; allowed: move it')

    def close(self) -> None:
        """Come to rest and free the arm."""
        self._arm.close()

    def _send(self, action: Float32, state: ArmState) -> None:
        if self.spec.action_space == 'ee_pose':
            place = self._target.pose[:3, 3]
            wanted = delta_action(self._target.pose, action[:7].astype(np.float64), action[7])
            action = self._limiter.limit(wanted, place)
        self._grip(float(action[6]))
        translation, rotation = displacement(action)
        self._arm.follow(self._target.advance(translation, rotation, state.position))

    def _grip(self, entry: float) -> None:
        self._grip_entry = entry
        closed = self._closed
        if abs(entry) >= GRIPPER_THRESHOLD:
            closed = entry > 0.0
        if closed is not None and closed != self._closed:
            self._closed = closed
            self._arm.grip(closed)

    def _seed(self, state: ArmState) -> None:
        self._target.seed(state.reference)

    def _measured(self) -> Float64:
        return self._kinematics.forward(self._state().position)

    def _state(self) -> ArmState:
        state = self._arm.state()
        if state is None:
            raise ArmError(f'{self._arm.name} has no state yet; allowed: wait for it')
        return state
