"""Which OpenGL backend MuJoCo can use on this machine; must be chosen before its import."""

from __future__ import annotations

import ctypes
import os

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
