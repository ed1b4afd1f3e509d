"""How camera_node gets its camera, and what is asked of its frames, from its parameters."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rclpy.node import Node

from structrl_ros.drivers.cameras.opening import check_backend
from structrl_ros.drivers.cameras.opening import open_camera
from structrl_ros.drivers.cameras.reader import ReaderLimits
from structrl_ros.drivers.cameras.region import Region
from structrl_ros.drivers.cameras.settings import CameraSettings
from structrl_ros.intrinsics_file import read_intrinsics
from structrl_ros.nodes.topic_camera import TopicCamera
from structrl_ros.params.camera import CameraParameters
from structrl_ros.ports import Camera
from structrl_ros.ports import Clock


class CameraOpening:
    """Opens the camera again and again; one behind a topic is subscribed to once."""

    def __init__(self, node: Node, settings: CameraParameters, clock: Clock) -> None:
        """Check all that can be without the camera, which may be plugged in later.

        Args:
            node: Whose subscriptions those of a camera behind a topic are.
            settings: Which camera.
            clock: For the stamps of frames.

        Raises:
            StructRLError: If a library or the file of the intrinsics is missing.
        """
        p = settings
        intrinsics = read_intrinsics(Path(p.intrinsics)) if p.intrinsics else None
        self._topic_camera: TopicCamera | None = None
        if p.backend == 'ros_topic':
            camera = self._topic_camera = TopicCamera(
                *(node, p.source),
                info_topic=p.info_topic,
                compressed=p.transport == 'compressed',
                intrinsics=intrinsics,
                clock=clock,
            )
            self.open: Callable[[], Camera] = lambda: camera
            return
        check_backend(p.backend)
        wanted = CameraSettings(
            *(p.source, p.width, p.height, p.rate_hz, p.depth, intrinsics, p.loop)
        )
        self.open = lambda: open_camera(p.backend, wanted, clock)

    def close(self) -> None:
        """Free the subscriptions; the camera itself is closed by who opened it."""
        if self._topic_camera is not None:
            self._topic_camera.destroy()


def frame_region(settings: CameraParameters) -> Region:
    """Return what is cut out of a frame, and to what size it is scaled."""
    crop, resize = settings.crop, settings.resize
    return Region(
        (crop[0], crop[1], crop[2], crop[3]) if crop else None,
        (resize[0], resize[1]) if resize else None,
    )


def reader_limits(settings: CameraParameters) -> ReaderLimits:
    """Return when a frame counts, and when a camera counts as lost."""
    return ReaderLimits(
        size=(settings.width, settings.height) if settings.width else None,
        max_age_s=settings.max_age_s,
        frozen_after_s=settings.frozen_after_s,
        reset_after_s=settings.reset_after_s,
        reconnect_s=settings.reconnect_s,
        rate_hz=settings.rate_hz,
    )
