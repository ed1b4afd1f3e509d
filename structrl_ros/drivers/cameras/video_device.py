"""Any camera that OpenCV opens: USB and laptop cameras, and network streams by their address."""

from __future__ import annotations

from typing import Any

import numpy as np

from structrl_ros.camera_types import CameraFrame
from structrl_ros.drivers.cameras.settings import CameraSettings
from structrl_ros.drivers.cameras.settings import fitting
from structrl_ros.errors import CameraError
from structrl_ros.ports import Clock
from structrl_ros.types import UInt8


def opencv() -> Any:
    """Return the module cv2.

    Raises:
        CameraError: If it is not installed.
    """
    try:
        import cv2
    except ImportError as error:
        raise CameraError(
            f'OpenCV cannot be used: {error}; pip install "opencv-python-headless>=4.10,<5"'
        ) from None
    return cv2


def rgb(image: Any) -> UInt8:
    """Return a picture of OpenCV as RGB (H, W, 3).

    Raises:
        CameraError: If it has another type or number of channels.
    """
    cv2 = opencv()
    if image.dtype != np.uint8:
        raise CameraError(f'picture is {image.dtype}; allowed: uint8')
    if image.ndim == 2:
        converted: UInt8 = cv2.cvtColor(image, cv2.COLOR_GRAY2RGB)
        return converted
    converted = cv2.cvtColor(image, cv2.COLOR_BGR2RGB)
    return converted


class VideoDeviceCamera:
    """A camera of the system; `source` is its number, its path or an address."""

    def __init__(self, settings: CameraSettings, clock: Clock) -> None:
        """Open the device.

        Raises:
            CameraError: If it cannot be opened.
        """
        cv2 = opencv()
        self._settings, self._clock = settings, clock
        source = settings.source
        self._video: Any = cv2.VideoCapture(int(source) if source.isdecimal() else source)
        if not self._video.isOpened():
            raise CameraError(f'camera {source!r} cannot be opened: is it plugged in and free?')
        for option, value in (
            (cv2.CAP_PROP_FRAME_WIDTH, settings.width),
            (cv2.CAP_PROP_FRAME_HEIGHT, settings.height),
            (cv2.CAP_PROP_FPS, settings.rate_hz),
            (cv2.CAP_PROP_BUFFERSIZE, 1),  # the newest frame, not one from the queue
        ):
            if value:
                self._video.set(option, value)
        self.name = source

    def read(self, timeout_s: float) -> CameraFrame:
        """Return the next frame, stamped with its receipt: OpenCV knows no sensor's time.

        OpenCV waits as long as its driver does, whatever `timeout_s` is.

        Raises:
            CameraError: If the device gives none.
        """
        came, image = self._video.read()
        received_ns = self._clock.now_ns()
        if not came:
            raise CameraError(f'camera {self.name!r} gives no frame: unplugged, or at its end')
        picture = rgb(image)
        height, width, _ = picture.shape
        intrinsics = fitting(self._settings.intrinsics, width, height)
        return CameraFrame(received_ns, received_ns, picture, intrinsics)

    def reset(self) -> None:
        """Do nothing: OpenCV cannot restart a device; opening it again must do."""

    def close(self) -> None:
        """Free the device."""
        self._video.release()
