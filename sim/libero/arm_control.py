"""robosuite's OSC_POSE controller and gripper ramp, driven without robosuite's repetitions.

The torques come from robosuite's own controller object. What is replaced is how it looks at the
arm (each Jacobian once instead of three times) and how its torques reach the actuators. Both use
robosuite's expressions in robosuite's order, so that the torques are equal to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from structrl_ros.sim.libero.scene import LiberoScene
from structrl_ros.types import Float64


class ArmControl:
    """Turns actions into actuator commands, one physics step at a time.

    `controller` and `gripper` are robosuite's objects; their goals and ramp are state.
    """

    def __init__(self, scene: LiberoScene, solve: Callable[[], None]) -> None:
        """Take over the controller of a scene that has just been placed.

        Args:
            scene: The scene.
            solve: Called where robosuite would run the forward dynamics for the controller, with
                positions and velocities that are up to date.
        """
        import mujoco

        robot = scene.robot
        self._mujoco = mujoco
        self._model, self._data = scene.model, scene.data
        self._solve = solve
        self.controller: Any = robot.controller
        self.gripper: Any = robot.gripper
        self.controller.update = self._look
        self._site = scene.model.site(self.controller.eef_name).id
        self._low, self._high = robot.torque_limits
        self._arm = list(robot._ref_joint_actuator_indexes)
        self._fingers = list(robot._ref_joint_gripper_actuator_indexes)
        span = scene.model.actuator_ctrlrange[self._fingers]
        self._middle = 0.5 * (span[:, 1] + span[:, 0])
        self._half = 0.5 * (span[:, 1] - span[:, 0])

    def apply(self, command: Float64, *, is_new: bool) -> None:
        """Set the actuators for the next physics step.

        Args:
            command: Action, shape (7,).
            is_new: Whether this is the first physics step of the control period.
        """
        if is_new:
            self.controller.set_goal(command[:6])
        torques = self.controller.run_controller()
        self._data.ctrl[self._arm] = np.clip(torques, self._low, self._high)
        fingers = self.gripper.format_action(command[6:])
        self._data.ctrl[self._fingers] = self._middle + self._half * fingers

    def _look(self, force: bool = False) -> None:
        """Give the controller the present state of the arm, in the world frame."""
        arm, data = self.controller, self._data
        if not (arm.new_update or force):
            return
        self._solve()
        nv = self._model.nv
        position, rotation = np.zeros((3, nv)), np.zeros((3, nv))
        self._mujoco.mj_jacSite(self._model, data, position, rotation, self._site)
        arm.ee_pos = np.array(data.site_xpos[self._site])
        arm.ee_ori_mat = np.array(data.site_xmat[self._site].reshape(3, 3))
        arm.ee_pos_vel = np.dot(position, data.qvel)
        arm.ee_ori_vel = np.dot(rotation, data.qvel)
        arm.joint_pos = np.array(data.qpos[arm.qpos_index])
        arm.joint_vel = np.array(data.qvel[arm.qvel_index])
        arm.J_pos = np.array(position[:, arm.qvel_index])
        arm.J_ori = np.array(rotation[:, arm.qvel_index])
        arm.J_full = np.array(np.vstack([arm.J_pos, arm.J_ori]))
        mass = np.empty((nv, nv))
        self._mujoco.mj_fullM(self._model, mass, data.qM)
        arm.mass_matrix = mass[arm.qvel_index, :][:, arm.qvel_index]
        arm.new_update = False
