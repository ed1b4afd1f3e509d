"""Backends by name, and what can be checked of one before the camera is there."""

from __future__ import annotations

from structrl_ros.drivers.cameras.settings import CameraSettings
from structrl_ros.errors import CameraError
from structrl_ros.ports import Camera
from structrl_ros.ports import Clock

#: Backends that live in this room; `ros_topic` is the node's own.
BACKENDS = ('realsense', 'opencv', 'file')


def check_backend(backend: str) -> None:
    """Refuse a backend whose libraries are not here.

    Raises:
        CameraError: If it is unknown, or cannot work on this machine.
    """
    if backend == 'realsense':
        from structrl_ros.drivers.cameras.realsense import library

        library()
    elif backend in BACKENDS:
        from structrl_ros.drivers.cameras.video_device import opencv

        opencv()
    else:
        raise CameraError(f'unknown camera backend {backend!r}; known: {", ".join(BACKENDS)}')


def open_camera(backend: str, settings: CameraSettings, clock: Clock) -> Camera:
    """Open a camera.

    Args:
        backend: One of BACKENDS.
        settings: What is asked of it.
        clock: This machine's.

    Raises:
        CameraError: If it is not there, or does not offer what is asked for.
    """
    check_backend(backend)
    if backend == 'realsense':
        from structrl_ros.drivers.cameras.realsense import RealSenseCamera

        return RealSenseCamera(settings, clock)
    if backend == 'opencv':
        from structrl_ros.drivers.cameras.video_device import VideoDeviceCamera

        return VideoDeviceCamera(settings, clock)
    from structrl_ros.drivers.cameras.video_file import VideoFileCamera

    return VideoFileCamera(settings, clock)
