"""The newest picture of a camera, kept as it came; it is decoded only if somebody wants it."""

from __future__ import annotations

from pathlib import Path

from rclpy.node import Node
from rclpy.serialization import deserialize_message

from structrl_ros.errors import StructRLError
from structrl_ros.recording.report_episodes import save_picture
from structrl_ros.types import UInt8
from structrl_ros.wire.image_codecs import image_from_message
from structrl_ros.wire.qos import message_type
from structrl_ros.wire.qos import subscriber_qos
from structrl_ros.wire.topics import image_topic


class LastPicture:
    """Hears one camera of a graph for the pictures in the report of an evaluation."""

    def __init__(self, node: Node, role: str = 'head') -> None:
        """Subscribe.

        Args:
            node: Whose executor hears.
            role: Of the camera.
        """
        self._node = node
        self._topic = image_topic(role)
        self._data: bytes | None = None
        node.create_subscription(
            message_type(self._topic),
            self._topic,
            self._take,
            subscriber_qos(self._topic),
            raw=True,
        )

    def forget(self) -> None:
        """Drop what has come, at the start of an episode."""
        self._data = None

    def pixels(self) -> UInt8 | None:
        """Return the newest picture, RGB of shape (H, W, 3); None if none has come.

        Raises:
            MessageError: If it cannot be understood.
        """
        data = self._data
        if data is None:
            return None
        return image_from_message(deserialize_message(data, message_type(self._topic)))[1]

    def save(self, folder: Path, number: int) -> None:
        """Keep the newest picture with an evaluation; what goes wrong is said, and no error.

        Args:
            folder: Of the evaluation.
            number: Place of the episode in the schedule.
        """
        try:
            pixels = self.pixels()
            if pixels is not None:
                save_picture(folder, number, pixels)
        except StructRLError as error:
            self._node.get_logger().warning(f'no picture of episode {number}: {error}')

    def _take(self, data: bytes) -> None:
        self._data = data
