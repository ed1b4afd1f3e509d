"""The arm of the tabletop: from `ee_delta_pose` actions to joint servos, for one control period.

An action moves the tool from where it is measured; there is no integrated target that a policy
could not see. Damped least squares on a model of the arm alone turn the target pose into joint
angles, which become the set points of the position servos.
"""

from __future__ import annotations

import math
from typing import Any
from xml.etree.ElementTree import Element
from xml.etree.ElementTree import tostring

import numpy as np

from structrl_ros.control.robot_description import load_robot
from structrl_ros.control.rotations import matrix_from_vector
from structrl_ros.sim.tabletop.mjcf.elements import add
from structrl_ros.sim.tabletop.mjcf.looks import add_materials
from structrl_ros.sim.tabletop.mjcf.robot import FINGER_OPEN
from structrl_ros.sim.tabletop.mjcf.robot import FINGER_SHUT
from structrl_ros.sim.tabletop.mjcf.robot import FINGERS
from structrl_ros.sim.tabletop.mjcf.robot import JOINTS
from structrl_ros.sim.tabletop.mjcf.robot import SERVO_TIME_S
from structrl_ros.sim.tabletop.mjcf.robot import TCP
from structrl_ros.sim.tabletop.mjcf.robot import Grip
from structrl_ros.sim.tabletop.mjcf.robot import add_robot
from structrl_ros.types import Float32
from structrl_ros.types import Float64

#: What an action entry of 1 asks for in one control period: metres, radians.
TRANSLATION_M = 0.05
ROTATION_RAD = 0.5

#: Joint angles at rest: the hand looks down, its fingers open along x.
HOME = np.array([0.0, -0.1, 0.0, -2.4, 0.0, 2.3, -np.pi / 4])

#: Most iterations of damped least squares, the error (m, rad) that ends them, the damping, and the
#: pull towards `HOME` where the seventh joint leaves a choice.
ITERATIONS = 4
TOLERANCE = 2e-5
DAMPING = 1e-3
POSTURE_GAIN = 0.05
#: Rounds of `ITERATIONS` from `HOME` to where an episode begins.
PLACING_ROUNDS = 4
#: Where the tool points at reset: straight down.
DOWN = (0.0, 0.0, -1.0)
#: Seconds of one control period.
PERIOD_S = 0.1
#: Part of the way to its set point that a servo covers in one period; set points lie ahead of the
#: target by the inverse of it, so that the arm gets where the action says.
COVERED = 1.0 - np.exp(-PERIOD_S / SERVO_TIME_S)
#: What the Panda's joints can do in one period, rad.
LARGEST_STEP = PERIOD_S * load_robot('panda').limits.velocity


class ArmControl:
    """Turns actions into servo set points.

    The way and the turn about the vertical are relative to what is measured. The tilt of the hand
    is relative to the tilt that was last asked for (`pointing`, a unit vector), upright at reset:
    otherwise a contact that tilts the hand would leave it tilted for ever under policies that
    never tilt it. Besides, only `data.ctrl` is remembered.
    """

    def __init__(self, mujoco: Any, model: Any) -> None:
        """Bind to the model of a scene."""
        self._mujoco = mujoco
        self._inverse = _InverseKinematics(mujoco)
        self._joints = np.array([model.joint(name).qposadr[0] for name in JOINTS])
        self._dofs = np.array([model.joint(name).dofadr[0] for name in JOINTS])
        self._fingers = np.array([model.joint(name).qposadr[0] for name in FINGERS])
        self._servos = np.array([model.actuator(name).id for name in JOINTS])
        self._gripper = model.actuator('gripper').id
        self._site = model.site(TCP).id
        self.pointing = np.array(DOWN)

    def place(self, data: Any, joints: Float64) -> None:
        """Set the arm to joint angles (7,), at rest, the gripper open."""
        data.qpos[self._joints] = joints
        data.qpos[self._fingers] = FINGER_OPEN
        data.ctrl[self._servos] = joints
        data.ctrl[self._gripper] = FINGER_OPEN
        self.pointing = np.array(DOWN)

    def command(self, data: Any, action: Float32) -> None:
        """Set the servos for an action of shape (7,); `data` holds present positions."""
        wish = np.minimum(np.maximum(np.asarray(action, dtype=np.float64), -1.0), 1.0)
        position = data.site_xpos[self._site] + TRANSLATION_M * wish[:3]
        rotation = pointed(data.site_xmat[self._site].reshape(3, 3), self.pointing)
        if wish[3:6].any():
            turn = matrix_from_vector(ROTATION_RAD * wish[3:6])
            rotation, self.pointing = turn @ rotation, turn @ self.pointing
        joints = data.qpos[self._joints]
        step = self._inverse.solve(joints, position, rotation) - joints
        step = np.minimum(np.maximum(step, -LARGEST_STEP), LARGEST_STEP)
        data.ctrl[self._servos] = joints + step / COVERED
        if wish[6] != 0.0:
            data.ctrl[self._gripper] = FINGER_SHUT if wish[6] > 0.0 else FINGER_OPEN

    def gripper_command(self, data: Any) -> float:
        """Return the sign of the last gripper action: -1 open, 1 close."""
        return -1.0 if data.ctrl[self._gripper] > 0.0 else 1.0

    def joint_angles(self, data: Any) -> Float64:
        """Return the joint angles, shape (7,), radians."""
        return np.asarray(data.qpos[self._joints])

    def joint_velocities(self, data: Any) -> Float64:
        """Return the joint velocities, shape (7,), radians a second."""
        return np.asarray(data.qvel[self._dofs])

    def fingers(self, data: Any) -> Float64:
        """Return the distance of both fingers from the middle, shape (2,), metres."""
        return np.asarray(data.qpos[self._fingers])

    def reach(self, position: Float64, yaw: float) -> Float64:
        """Return joint angles (7,) near `HOME` for a place (3,) and yaw, the hand looking down."""
        cos, sin = float(np.cos(yaw)), float(np.sin(yaw))
        rotation = np.array([[-sin, cos, 0.0], [cos, sin, 0.0], [0.0, 0.0, -1.0]])
        joints = HOME
        for _ in range(PLACING_ROUNDS):
            joints = self._inverse.solve(joints, position, rotation)
        return joints


class _InverseKinematics:
    """Damped least squares on the arm alone."""

    def __init__(self, mujoco: Any) -> None:
        root = Element('mujoco')
        add(root, 'compiler', angle='radian', autolimits='true')
        add_materials(add(root, 'asset'))
        add_robot(add(root, 'worldbody'), Grip())
        self._mujoco = mujoco
        self._model = mujoco.MjModel.from_xml_string(tostring(root, encoding='unicode'))
        self._data = mujoco.MjData(self._model)
        self._site = self._model.site(TCP).id
        self._low, self._high = self._model.jnt_range[:7].T
        self._jacobian = np.zeros((6, self._model.nv))
        self._damping = DAMPING**2 * np.eye(6)

    def solve(self, start: Float64, position: Float64, rotation: Float64) -> Float64:
        """Return joint angles (7,) from a start, within the joints' limits."""
        mujoco, model, data = self._mujoco, self._model, self._data
        joints = np.array(start)
        goal, now = np.empty(4), np.empty(4)
        error, step = np.empty(6), np.empty(6)
        mujoco.mju_mat2Quat(goal, np.ravel(rotation))
        pull = POSTURE_GAIN * (HOME - joints)
        for iteration in range(ITERATIONS):
            data.qpos[:7] = joints
            mujoco.mj_kinematics(model, data)
            turned = data.site_xmat[self._site]
            error[:3] = position - data.site_xpos[self._site]
            mujoco.mju_mat2Quat(now, turned)
            mujoco.mju_subQuat(error[3:], goal, now)  # in the frame of the tool
            error[3:] = turned.reshape(3, 3) @ error[3:]
            if iteration and np.abs(error).max() < TOLERANCE:
                break
            mujoco.mj_comPos(model, data)
            mujoco.mj_jacSite(model, data, self._jacobian[:3], self._jacobian[3:], self._site)
            jacobian = self._jacobian[:, :7]
            square = jacobian @ jacobian.T + self._damping
            mujoco.mju_cholFactor(square, 0.0)
            mujoco.mju_cholSolve(step, square, error - jacobian @ pull)
            joints = joints + pull + jacobian.T @ step
            joints = np.minimum(np.maximum(joints, self._low), self._high)
            pull = np.zeros(7)
        return joints


def pointed(rotation: Float64, pointing: Float64) -> Float64:
    """Return the rotation (3, 3) turned the shortest way so that its z axis is `pointing` (3,)."""
    x, y, z = rotation[:, 2].tolist()
    a, b, c = pointing.tolist()
    axis = np.array([y * c - z * b, z * a - x * c, x * b - y * a])
    sine, cosine = math.sqrt(axis @ axis), x * a + y * b + z * c
    if sine < 1e-9:
        return rotation
    return matrix_from_vector(axis * (math.atan2(sine, cosine) / sine)) @ rotation
