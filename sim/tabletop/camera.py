"""Pictures of the tabletop: one offscreen OpenGL context, made on the first picture."""

from __future__ import annotations

import os
import threading
from typing import Any

from structrl_ros.errors import SimulationError
from structrl_ros.sim.libero.graphics import choose_backend
from structrl_ros.sim.libero.graphics import open_renderer
from structrl_ros.types import UInt8


def prepare_graphics() -> None:
    """Choose MuJoCo's OpenGL backend; has an effect only before MuJoCo is imported."""
    if not os.environ.get('MUJOCO_GL'):
        os.environ['MUJOCO_GL'] = choose_backend()


class TabletopCamera:
    """Renders the cameras of a model, upright, without shadows and reflections."""

    def __init__(self, model: Any, size: int) -> None:
        """Open OpenGL on the calling thread.

        Raises:
            SimulationError: If OpenGL does not work on this machine.
        """
        import mujoco

        self._thread = threading.get_ident()
        self._renderer: Any = open_renderer(model, size)
        for flag in (mujoco.mjtRndFlag.mjRND_SHADOW, mujoco.mjtRndFlag.mjRND_REFLECTION):
            self._renderer.scene.flags[flag] = 0

    def render(self, data: Any, camera: str) -> UInt8:
        """Return the picture of a MuJoCo camera, uint8 RGB (size, size, 3).

        Raises:
            SimulationError: If called from another thread than the one that opened OpenGL.
        """
        if threading.get_ident() != self._thread:
            raise SimulationError('pictures must be rendered from the thread of the first one')
        self._renderer.update_scene(data, camera)
        picture: UInt8 = self._renderer.render()
        return picture

    def close(self) -> None:
        """Free the context; a second call does nothing."""
        if self._renderer is not None:
            self._renderer.close()
        self._renderer = None
