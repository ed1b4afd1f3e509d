"""What a camera is asked for, whatever the backend."""

from __future__ import annotations

from dataclasses import dataclass

from structrl_ros.camera_types import Intrinsics


@dataclass(frozen=True, slots=True)
class CameraSettings:
    """What is asked of a camera.

    `source` is a serial number (realsense), a device or its number (opencv), or a path (file; a
    RealSense recording too). Width and height in pixels, 0 for what the camera gives by itself.
    `depth` asks for depth on the pixels of the picture. `intrinsics` are taken instead of the
    camera's own. `loop` begins a file again at its end; `rate_hz` is the rate to ask for, or to
    play a file at.
    """

    source: str
    width: int = 0
    height: int = 0
    rate_hz: float = 30.0
    depth: bool = False
    intrinsics: Intrinsics | None = None
    loop: bool = False


def fitting(intrinsics: Intrinsics | None, width: int, height: int) -> Intrinsics | None:
    """Return intrinsics for a picture's size, or None if they belong to another picture.

    A picture that was scaled as a whole keeps its intrinsics, scaled.
    """
    if intrinsics is None or (intrinsics.width, intrinsics.height) == (width, height):
        return intrinsics
    if intrinsics.width * height == intrinsics.height * width:
        return intrinsics.resized(width, height)
    return None
