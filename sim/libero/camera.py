"""Pictures of a scene: one offscreen OpenGL context, made on the first picture."""

from __future__ import annotations

import contextlib
import threading
from typing import Any
from typing import Literal

from structrl_ros.errors import SimulationError
from structrl_ros.sim.libero.graphics import open_renderer
from structrl_ros.sim.libero.meshes import coarse_meshes
from structrl_ros.sim.libero.scene import LiberoScene
from structrl_ros.types import UInt8

#: 'full' gives LIBERO's own pictures; 'light' costs less than half and differs by a few levels.
PictureDetail = Literal['full', 'light']


class SceneCamera:
    """Renders the cameras of a scene as LIBERO does, upright.

    MuJoCo's `Renderer` already flips OpenGL's rows once; nothing else is turned.
    """

    def __init__(self, scene: LiberoScene, size: int, detail: PictureDetail) -> None:
        """Open OpenGL on the calling thread (seconds).

        Raises:
            SimulationError: If OpenGL does not work on this machine.
        """
        import mujoco

        self._scene = scene
        self._thread = threading.get_ident()
        self._options = mujoco.MjvOption()
        self._options.geomgroup[0] = 0  # collision geoms, hidden in LIBERO too
        coarse = coarse_meshes(scene.model) if detail == 'light' else contextlib.nullcontext()
        with coarse:
            self._renderer: Any = open_renderer(scene.model, size)

    def render(self, camera: str) -> UInt8:
        """Return the picture of a MuJoCo camera, uint8 RGB (size, size, 3).

        Raises:
            SimulationError: If called from another thread than the one that opened OpenGL.
        """
        if threading.get_ident() != self._thread:
            raise SimulationError('pictures must be rendered from the thread of the first one')
        self._scene.environment._post_process()  # the stove's glow follows its knob
        self._renderer.update_scene(self._scene.data, camera, self._options)
        picture: UInt8 = self._renderer.render()
        return picture

    def close(self) -> None:
        """Free the context; a second call does nothing."""
        if self._renderer is not None:
            self._renderer.close()
        self._renderer = None
