"""OpenGL: which backend MuJoCo can use (to be chosen before its import), and its renderer."""

from __future__ import annotations

import ctypes
import os
from typing import Any

from structrl_ros.errors import SimulationError

_EGL_PLATFORM_DEVICE = 0x313F


def choose_backend() -> str:
    """Return the value for MUJOCO_GL: the user's, else 'egl' or 'osmesa' if it works.

    'disabled' if none does: physics runs, pictures do not.
    """
    chosen = os.environ.get('MUJOCO_GL', '')
    if chosen:
        return chosen
    if egl_works():
        return 'egl'
    return 'osmesa' if osmesa_exists() else 'disabled'


def egl_works() -> bool:
    """Return whether an EGL display opens on some device, without importing OpenGL."""
    try:
        egl = ctypes.CDLL('libEGL.so.1')
        egl.eglGetProcAddress.restype = ctypes.c_void_p
        egl.eglGetProcAddress.argtypes = [ctypes.c_char_p]
        query = egl.eglGetProcAddress(b'eglQueryDevicesEXT')
        display = egl.eglGetProcAddress(b'eglGetPlatformDisplayEXT')
    except (OSError, AttributeError):
        return False
    if not query or not display:
        return False
    devices = (ctypes.c_void_p * 8)()
    found = ctypes.c_int(0)
    query_devices = ctypes.CFUNCTYPE(
        ctypes.c_uint, ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int)
    )(query)
    if not query_devices(len(devices), devices, ctypes.byref(found)):
        return False
    open_display = ctypes.CFUNCTYPE(
        ctypes.c_void_p, ctypes.c_uint, ctypes.c_void_p, ctypes.c_void_p
    )(display)
    egl.eglInitialize.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    for device in devices[: found.value]:
        handle = open_display(_EGL_PLATFORM_DEVICE, device, None)
        if handle and egl.eglInitialize(handle, None, None):
            return True
    return False


def osmesa_exists() -> bool:
    """Return whether Mesa's software renderer can be loaded."""
    for name in ('libOSMesa.so.8', 'libOSMesa.so.6', 'libOSMesa.so'):
        try:
            ctypes.CDLL(name)
        except OSError:
            continue
        return True
    return False


def open_renderer(model: Any, size: int) -> Any:
    """Return MuJoCo's renderer of square pictures; OpenGL opens on the calling thread.

    Raises:
        SimulationError: If OpenGL does not work on this machine.
    """
    import mujoco

    class Renderer(mujoco.Renderer):
        # What its destructor looks for when its constructor fails.
        _gl_context = None
        _mjr_context = None

    model.vis.global_.offwidth = size
    model.vis.global_.offheight = size
    try:
        return Renderer(model, size, size)
    except Exception as error:  # MuJoCo and PyOpenGL raise whatever they like here
        raise SimulationError(
            f'no picture can be rendered with MUJOCO_GL={os.environ.get("MUJOCO_GL", "")} '
            f'({type(error).__name__}: {error}); install libegl1 and libgl1-mesa-dri, or '
            'libosmesa6 and set MUJOCO_GL=osmesa'
        ) from error
