"""A camera whose driver is another ROS node: any Image or CompressedImage, and camera_info."""

from __future__ import annotations

import queue
from typing import Any

from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.qos import ReliabilityPolicy
from sensor_msgs.msg import CameraInfo
from sensor_msgs.msg import CompressedImage
from sensor_msgs.msg import Image

from structrl_ros.camera_types import CameraFrame
from structrl_ros.camera_types import Intrinsics
from structrl_ros.drivers.cameras.settings import fitting
from structrl_ros.errors import MessageError
from structrl_ros.errors import StaleDataError
from structrl_ros.ports import Clock
from structrl_ros.wire.image_codecs import image_from_message
from structrl_ros.wire.image_codecs import intrinsics_from_message

#: Takes from reliable and from best-effort publishers alike; only the newest counts.
_NEWEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)


class TopicCamera:
    """Hears a topic on the executor's thread and decodes in the reader's.

    It lives as long as its node is configured: `close` of the port leaves it subscribed.
    """

    def __init__(
        self,
        node: Node,
        topic: str,
        *,
        info_topic: str,
        compressed: bool,
        intrinsics: Intrinsics | None,
        clock: Clock,
    ) -> None:
        """Subscribe.

        Args:
            node: Whose subscriptions they are.
            topic: Of the pictures.
            info_topic: Of the intrinsics; '' = camera_info beside the pictures.
            compressed: Pictures are CompressedImage.
            intrinsics: Instead of those on the topic.
            clock: For the time of receipt.
        """
        self.name = topic
        self._node, self._clock = node, clock
        self._given, self._told = intrinsics, False
        self._info: Intrinsics | None = None
        self._newest: queue.Queue[tuple[int, Any]] = queue.Queue(maxsize=1)
        kind = CompressedImage if compressed else Image
        self._subscriptions = [
            node.create_subscription(kind, topic, self._take, _NEWEST),
            node.create_subscription(
                CameraInfo, info_topic or info_topic_of(topic), self._take_info, _NEWEST
            ),
        ]

    def read(self, timeout_s: float) -> CameraFrame:
        """Return the newest picture.

        Raises:
            StaleDataError: If none came, or it cannot be decoded.
        """
        try:
            received_ns, message = self._newest.get(timeout=timeout_s)
        except queue.Empty:
            raise StaleDataError(f'nothing on {self.name} for {timeout_s} s') from None
        try:
            stamp_ns, image = image_from_message(message)
        except MessageError as error:
            raise StaleDataError(f'{self.name}: {error}') from None
        height, width, _ = image.shape
        intrinsics = fitting(self._given or self._info, width, height)
        return CameraFrame(stamp_ns, received_ns, image, intrinsics)

    def reset(self) -> None:
        """Do nothing: the device belongs to another node."""

    def close(self) -> None:
        """Forget the newest picture; it would be old when the camera is opened again."""
        while not self._newest.empty():
            self._newest.get_nowait()

    def destroy(self) -> None:
        """End the subscriptions."""
        for subscription in self._subscriptions:
            self._node.destroy_subscription(subscription)
        self._subscriptions = []

    def _take(self, message: Any) -> None:
        entry = (self._clock.now_ns(), message)
        try:
            self._newest.put_nowait(entry)
        except queue.Full:
            self.close()
            self._newest.put_nowait(entry)

    def _take_info(self, message: Any) -> None:
        try:
            self._info = intrinsics_from_message(message)
        except MessageError as error:
            if not self._told:
                self._node.get_logger().warning(str(error))
            self._told = True


def info_topic_of(topic: str) -> str:
    """Return where ROS drivers put the intrinsics of pictures: camera_info beside them.

    `camera/color/image_raw/compressed` and `camera/color/image_raw` have the same.
    """
    parts = topic.split('/')
    if parts[-1] in ('compressed', 'compressedDepth'):
        parts.pop()
    return '/'.join([*parts[:-1], 'camera_info'])
