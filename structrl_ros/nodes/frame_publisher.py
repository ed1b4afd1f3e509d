"""Frames of one camera on the topics of its role: image, intrinsics and depth of one stamp."""

from __future__ import annotations

from rclpy.lifecycle import LifecycleNode

from structrl_ros.camera_types import CameraFrame
from structrl_ros.wire import topics
from structrl_ros.wire.image_codecs import depth_to_message
from structrl_ros.wire.image_codecs import image_to_message
from structrl_ros.wire.image_codecs import intrinsics_to_message
from structrl_ros.wire.qos import message_type
from structrl_ros.wire.qos import publisher_qos


class FramePublisher:
    """Publishes while its node is active; from any one thread."""

    def __init__(self, node: LifecycleNode, role: str, optical_frame: str) -> None:
        """Make the publishers.

        Args:
            node: Whose they are.
            role: Of the camera; it names the topics.
            optical_frame: Coordinate frame of the pictures.
        """
        self._node, self._frame = node, optical_frame
        self._image, self._info, self._depth = (
            node.create_lifecycle_publisher(message_type(topic), topic, publisher_qos(topic))
            for topic in (
                topics.image_topic(role),
                topics.camera_info_topic(role),
                topics.depth_topic(role),
            )
        )

    def publish(self, frame: CameraFrame) -> None:
        """Publish a frame; the image goes last, so that who has it has the rest."""
        stamp_ns = frame.stamp_ns
        if frame.intrinsics is not None:
            self._info.publish(intrinsics_to_message(frame.intrinsics, stamp_ns, self._frame))
        if frame.depth is not None:
            self._depth.publish(depth_to_message(frame.depth, stamp_ns, self._frame))
        self._image.publish(image_to_message(frame.image, stamp_ns, self._frame))

    def close(self) -> None:
        """Free the publishers."""
        for publisher in (self._image, self._info, self._depth):
            self._node.destroy_publisher(publisher)
