"""One control period of LIBERO's arm: 25 steps of physics under robosuite's own controller.

robosuite's `env.step` computes the whole forward dynamics three times a physics step and updates
all its observations. Here positions and velocities are computed once, and only the solver is run
as often as robosuite runs it: its warm start makes that part of the result. The states are
bit-equal to those of `env.step`, for about half of its CPU time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from structrl_ros.errors import SimulationError
from structrl_ros.sim.libero.arm_control import ArmControl
from structrl_ros.sim.libero.scene import LiberoScene
from structrl_ros.types import Float32
from structrl_ros.types import Float64
from structrl_ros.types import Proprioception

_JOINT_NAMES = tuple(f'panda_joint{i}' for i in range(1, 8))


class ArmStepper:
    """Steps a placed scene and carries its whole state.

    The state vector holds MuJoCo's integration state (time, positions, velocities, controls,
    warm start, ...), then the controller's goal position (3) and orientation (9), the gripper's
    place in its ramp (2), and the sign of the last gripper action.
    """

    def __init__(self, scene: LiberoScene) -> None:
        """Bind to a scene that has just been placed."""
        import mujoco

        self._mujoco = mujoco
        self._model = scene.model
        self._data = scene.data
        self._robot: Any = scene.robot
        self._control = ArmControl(scene, self._solve)
        env = scene.environment
        self._substeps = int(env.control_timestep / env.model_timestep)
        self._kind = mujoco.mjtState.mjSTATE_INTEGRATION
        self._size = mujoco.mj_stateSize(self._model, self._kind)
        self._base = scene.model.body(scene.robot.robot_model.root_body).id
        self.gripper_command = -1.0
        mujoco.mj_step1(self._model, self._data)

    def step(self, action: Float32, before_last_update: Callable[[], None] | None = None) -> None:
        """Apply one action (7,) for one control period.

        `before_last_update` is called when LIBERO would test for success: after the last physics
        step, with positions and contacts of its beginning.
        """
        command = np.asarray(action, dtype=np.float64)
        for substep in range(self._substeps):
            self._solve()
            self._control.apply(command, is_new=substep == 0)
            self._mujoco.mj_step2(self._model, self._data)
            if before_last_update is not None and substep == self._substeps - 1:
                before_last_update()
            self._mujoco.mj_step1(self._model, self._data)
        self.gripper_command = float(np.sign(command[6]))

    def state(self) -> Float64:
        """Return the whole state, float64."""
        physics = np.empty(self._size)
        self._mujoco.mj_getState(self._model, self._data, physics, self._kind)
        goal = self._control.controller
        state: Float64 = np.concatenate(
            [
                physics,
                goal.goal_pos,
                np.ravel(goal.goal_ori),
                np.broadcast_to(self._control.gripper.current_action, 2),
                [self.gripper_command],
            ]
        )
        return state

    def set_state(self, state: Float64) -> None:
        """Set the whole state.

        Raises:
            SimulationError: If the vector has another size or is not finite.
        """
        size = self._size + 15
        if np.shape(state) != (size,) or not np.isfinite(state).all():
            raise SimulationError(
                f'simulator state of shape {np.shape(state)}; allowed: {size} finite numbers of '
                'the same task'
            )
        n = self._size
        self._mujoco.mj_setState(self._model, self._data, state[:n], self._kind)
        controller = self._control.controller
        controller.goal_pos = np.array(state[n : n + 3])
        controller.goal_ori = np.array(state[n + 3 : n + 12]).reshape(3, 3)
        controller.new_update = True
        self._control.gripper.current_action = np.array(state[n + 12 : n + 14])
        self.gripper_command = float(state[n + 14])
        self._mujoco.mj_step1(self._model, self._data)

    def proprioception(self, stamp_ns: int) -> Proprioception:
        """Return the arm's own state; see `LiberoBody.proprioception`."""
        robot, data = self._robot, self._data
        rotation = data.xmat[self._base].reshape(3, 3)
        position = rotation.T @ (data.site_xpos[robot.eef_site_id] - data.xpos[self._base])
        quat_wxyz = np.empty(4)
        hand = rotation.T @ data.site_xmat[robot.eef_site_id].reshape(3, 3)
        self._mujoco.mju_mat2Quat(quat_wxyz, hand.ravel())
        fingers = data.qpos[robot._ref_gripper_joint_pos_indexes]
        return Proprioception(
            stamp_ns=stamp_ns,
            joint_names=_JOINT_NAMES,
            joint_positions=data.qpos[robot._ref_joint_pos_indexes],
            joint_velocities=data.qvel[robot._ref_joint_vel_indexes],
            ee_pose=np.concatenate([position, quat_wxyz[[1, 2, 3, 0]]]),
            gripper=fingers * np.array([1.0, -1.0]),
        )

    def _solve(self) -> None:
        """Run the solver once more on the present positions, velocities and controls."""
        stage = self._mujoco.mjtStage.mjSTAGE_VEL
        self._mujoco.mj_forwardSkip(self._model, self._data, stage, 0)
