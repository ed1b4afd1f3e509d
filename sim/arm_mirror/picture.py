"""Pictures of a mirrored arm: the tabletop's own mesh-free MuJoCo scene, posed and drawn.

The joint frames of an FR3 are those of a Panda, which the scene draws. Nothing is simulated:
MuJoCo computes where bodies are and draws them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from structrl_ros.errors import SimulationError
from structrl_ros.sim.tabletop.camera import TabletopCamera
from structrl_ros.sim.tabletop.camera import prepare_graphics
from structrl_ros.sim.tabletop.mjcf.robot import FINGERS
from structrl_ros.sim.tabletop.mjcf.robot import JOINTS
from structrl_ros.sim.tabletop.mjcf.robot import TCP
from structrl_ros.sim.tabletop.mjcf.scene import Physics
from structrl_ros.sim.tabletop.mjcf.scene import free_joint_name
from structrl_ros.sim.tabletop.mjcf.scene import scene_xml
from structrl_ros.sim.tabletop.task_data import Task
from structrl_ros.sim.twin.state import TwinState
from structrl_ros.sim.twin.things import WIDTH
from structrl_ros.types import Float64
from structrl_ros.types import UInt8

ROLES = ('head', 'left_wrist')


class MirrorPicture:
    """The scene of one task; OpenGL is opened by the first picture, on its thread."""

    def __init__(self, task: Task, size: int) -> None:
        """Build the model.

        Args:
            task: Whose things stand in it.
            size: Width and height of pictures in pixels.
        """
        prepare_graphics()
        import mujoco

        self.task = task
        self._mujoco = mujoco
        self._size = size
        self._model: Any = mujoco.MjModel.from_xml_string(scene_xml(task, Physics()))
        self._data: Any = mujoco.MjData(self._model)
        self._camera: TabletopCamera | None = None
        self._joints = [self._place_of(name) for name in JOINTS]
        self._fingers = [self._place_of(name) for name in FINGERS]

    def draw(self, state: TwinState, joints: Float64, role: str) -> UInt8:
        """Return the picture of a camera role, uint8 RGB (size, size, 3).

        Args:
            state: Of the scene, one lane.
            joints: Positions of the arm's joints, rad, shape (7,).
            role: One of `ROLES`.

        Raises:
            SimulationError: If the role is unknown, or OpenGL does not work here.
        """
        if role not in ROLES:
            raise SimulationError(f'no camera {role!r}; allowed: {", ".join(ROLES)}')
        self.pose(state, joints)
        if self._camera is None:
            self._camera = TabletopCamera(self._model, self._size)
        return self._camera.render(self._data, role)

    def pose(self, state: TwinState, joints: Float64) -> Float64:
        """Put everything where it is; return where the scene has the tool, metres, shape (3,)."""
        mujoco, model, data = self._mujoco, self._model, self._data
        data.qpos[self._joints] = joints
        data.qpos[self._fingers] = 0.5 * WIDTH * state.opening[0]
        for slot, fixture in enumerate(self.task.fixtures):
            place, yaw = state.fixtures[0, slot], float(state.fixture_yaws[0, slot])
            if fixture.free:
                self._put(fixture.name, place, yaw)
            else:
                body = model.body(fixture.name).id
                model.body_pos[body], model.body_quat[body] = place, _turned(yaw)
        for slot, thing in enumerate(self.task.objects):
            self._put(thing.name, state.objects[0, slot], float(state.object_yaws[0, slot]))
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_camlight(model, data)
        tool: Float64 = data.site(TCP).xpos.copy()
        return tool

    def vertical_fov(self, role: str) -> float:
        """Return the vertical field of view of a camera role, radians."""
        return float(np.deg2rad(self._model.camera(role).fovy[0]))

    def close(self) -> None:
        """Free OpenGL; a second call does nothing."""
        if self._camera is not None:
            self._camera.close()
        self._camera = None

    def _put(self, name: str, place: Float64, yaw: float) -> None:
        at = self._place_of(free_joint_name(name))
        self._data.qpos[at : at + 3] = place
        self._data.qpos[at + 3 : at + 7] = _turned(yaw)

    def _place_of(self, joint: str) -> int:
        return int(self._model.joint(joint).qposadr[0])


def _turned(yaw: float) -> tuple[float, float, float, float]:
    """Return the quaternion wxyz of a turn about z."""
    return float(np.cos(yaw / 2.0)), 0.0, 0.0, float(np.sin(yaw / 2.0))
