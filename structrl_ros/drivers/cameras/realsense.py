"""RealSense cameras, and their recordings, through librealsense's pipeline.

Needs `pip install pyrealsense2` and the system library libusb-1.0.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from structrl_ros.camera_types import CameraFrame
from structrl_ros.camera_types import Intrinsics
from structrl_ros.drivers.cameras.realsense_lens import intrinsics_of
from structrl_ros.drivers.cameras.settings import CameraSettings
from structrl_ros.errors import CameraError
from structrl_ros.errors import StaleDataError
from structrl_ros.ports import Clock

#: What a recording ends in (librealsense 2.58 and newer; older ones end in .bag).
RECORDINGS = ('.db3', '.bag')
#: Part of a period that depth may lie from its picture.
_SAME_FRAME = 0.75
#: Milliseconds in a time stamp to nanoseconds.
_MS = 1e6


def library() -> Any:
    """Return the module pyrealsense2.

    Raises:
        CameraError: If it is not installed, or a library that it needs is not.
    """
    try:
        import pyrealsense2
    except ImportError as error:
        raise CameraError(
            f'pyrealsense2 cannot be used: {error}; '
            'pip install pyrealsense2, apt-get install libusb-1.0-0'
        ) from None
    return pyrealsense2


def attached() -> list[tuple[str, str, str]]:
    """Return serial number, name and USB version of every RealSense camera that is plugged in.

    Raises:
        CameraError: If pyrealsense2 is not installed.
    """
    rs = library()
    kinds = (rs.camera_info.serial_number, rs.camera_info.name, rs.camera_info.usb_type_descriptor)
    return [
        tuple(d.get_info(k) if d.supports(k) else '' for k in kinds)  # type: ignore[misc]
        for d in rs.context().query_devices()
    ]


class RealSenseCamera:
    """One RealSense camera by its serial number, or a recording of one."""

    def __init__(self, settings: CameraSettings, clock: Clock) -> None:
        """Open the camera.

        Args:
            settings: `source` is a serial number, a recording (.db3), or '' for the only camera.
            clock: For the time of receipt.

        Raises:
            CameraError: If it is not there or does not offer what is asked for.
        """
        self._rs = rs = library()
        self._clock, self._settings = clock, settings
        self._recorded = Path(settings.source).suffix in RECORDINGS
        self._pipeline: Any = rs.pipeline()
        config = rs.config()
        if self._recorded:
            config.enable_device_from_file(settings.source, repeat_playback=settings.loop)
        else:
            config.enable_device(self._serial())
        size, rate_hz = (settings.width, settings.height), round(settings.rate_hz)
        config.enable_stream(rs.stream.color, *size, rs.format.rgb8, rate_hz)
        if settings.depth:
            config.enable_stream(rs.stream.depth, *size, rs.format.z16, rate_hz)
        try:
            profile = self._pipeline.start(config)
        except RuntimeError as error:
            self._pipeline = None
            raise CameraError(self._explained(error)) from None
        self._device = profile.get_device()
        self._align = rs.align(rs.stream.color) if settings.depth else None
        self._depth_mm = 1.0
        if settings.depth:
            self._depth_mm = 1000.0 * self._device.first_depth_sensor().get_depth_scale()
        self._ask_for_host_time()
        color = profile.get_stream(rs.stream.color).as_video_stream_profile()
        self._intrinsics: Intrinsics = settings.intrinsics or intrinsics_of(rs, color.intrinsics)
        kind = rs.camera_info.serial_number
        self.name = self._device.get_info(kind) if self._device.supports(kind) else ''

    def read(self, timeout_s: float) -> CameraFrame:
        """Return the newest frame.

        Raises:
            StaleDataError: If none came.
            CameraError: If the camera was unplugged, or the recording has ended.
        """
        if self._pipeline is None:
            raise CameraError('the camera is closed')
        try:
            came, frames = self._pipeline.try_wait_for_frames(round(1000 * timeout_s))
            received_ns = self._clock.now_ns()
            if not came:
                self._look_for_device()
                raise StaleDataError(f'no frame of RealSense {self.name} for {timeout_s} s')
            if self._align is not None:
                frames = self._align.process(frames)
            return self._frame(frames, received_ns)
        except RuntimeError as error:
            raise CameraError(f'RealSense {self.name}: {error}') from None

    def reset(self) -> None:
        """Restart the device, as if it were plugged in again (some seconds)."""
        try:
            self._device.hardware_reset()
        except RuntimeError as error:
            raise CameraError(f'RealSense {self.name} cannot be restarted: {error}') from None

    def close(self) -> None:
        """Stop the streams."""
        pipeline, self._pipeline = self._pipeline, None
        if pipeline is None:
            return
        try:
            pipeline.stop()
        except RuntimeError as error:
            raise CameraError(f'RealSense {self.name}: {error}') from None

    def _frame(self, frames: Any, received_ns: int) -> CameraFrame:
        color, depth = frames.get_color_frame(), None
        if not color:
            raise StaleDataError(f'a frame of RealSense {self.name} has no picture')
        image = np.array(np.asanyarray(color.get_data()), dtype=np.uint8)
        measured = frames.get_depth_frame() if self._align is not None else None
        if measured and self._is_of(measured, color):
            levels = np.asanyarray(measured.get_data())
            if abs(self._depth_mm - 1.0) > 1e-6:
                levels = np.minimum(np.rint(levels * self._depth_mm), 65535.0)
            depth = np.array(levels, dtype=np.uint16)
        domain, domains = color.get_frame_timestamp_domain(), self._rs.timestamp_domain
        return CameraFrame(
            stamp_ns=round(color.get_timestamp() * _MS),
            received_ns=received_ns,
            image=image,
            intrinsics=self._intrinsics,
            depth=depth,
            number=int(color.get_frame_number()),
            host_clock=domain in (domains.global_time, domains.system_time),
        )

    def _is_of(self, depth: Any, color: Any) -> bool:
        """Whether depth was measured when the picture was taken, not a frame before or after."""
        apart_ms = abs(depth.get_timestamp() - color.get_timestamp())
        return bool(apart_ms * self._settings.rate_hz < 1000.0 * _SAME_FRAME)

    def _serial(self) -> str:
        """Return the serial number to open."""
        found = attached()
        told = ', '.join(' '.join(words) for words in found) or 'none'
        wanted = self._settings.source
        if wanted and wanted not in [serial for serial, _, _ in found]:
            raise CameraError(f'no RealSense {wanted}; plugged in: {told}')
        if not wanted and len(found) != 1:
            raise CameraError(f'which RealSense? give a serial number; plugged in: {told}')
        return wanted or found[0][0]

    def _ask_for_host_time(self) -> None:
        """Have the sensors tell their time on this machine's clock, where they can."""
        option = self._rs.option.global_time_enabled
        for sensor in self._device.query_sensors():
            if sensor.supports(option) and not sensor.is_option_read_only(option):
                sensor.set_option(option, 1.0)

    def _look_for_device(self) -> None:
        """Refuse to go on where there is nothing to wait for."""
        if self._recorded:
            status = self._device.as_playback().current_status()
            if status == self._rs.playback_status.stopped:
                raise CameraError(f'the recording {self._settings.source} has ended')
        elif self.name not in [serial for serial, _, _ in attached()]:
            raise CameraError(f'RealSense {self.name} was unplugged')

    def _explained(self, error: RuntimeError) -> str:
        s, reason = self._settings, ' '.join(str(error).split())
        what = f'RealSense {s.source or "camera"}: {reason}'
        if "Couldn't resolve requests" in reason:
            wish = f'{s.width} x {s.height} at {s.rate_hz:g} Hz'
            what += f'; it does not offer {wish}' + (' with depth' if s.depth else '')
            what += (
                '' if self._recorded else ' on this port: use a blue USB 3 port, or ask for less'
            )
        return what
