"""Live pictures with the arm's pose at their stamps, for `structrl calibrate capture`."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from typing import Any

import rclpy
from rclpy.qos import qos_profile_sensor_data

from structrl_ros.calibration.pairing import Pair
from structrl_ros.calibration.pairing import Pairing
from structrl_ros.camera_types import Intrinsics
from structrl_ros.errors import MessageError
from structrl_ros.nodes.contexts import joined_graph
from structrl_ros.nodes.hearing import hear
from structrl_ros.wire import topics
from structrl_ros.wire.image_codecs import image_from_message
from structrl_ros.wire.image_codecs import intrinsics_from_message
from structrl_ros.wire.proprioception_codecs import pose_from_stamped
from structrl_ros.wire.qos import message_type
from structrl_ros.wire.stamps import stamp_from_header
from structrl_ros.wire.task_codecs import health_from_message


class CalibrationInbox:
    """Hears one camera and the arm; to be used in a `with` block.

    Attributes:
        intrinsics: Of the camera, None until `camera_info` came.
        camera_frame: Frame of the pictures, '' until one came.
        base_frame: Frame of the poses, '' until one came.
        serial: Of the camera, '' if no camera_node tells it.
        fault: The last message that could not be read, '' for none.
    """

    def __init__(self, role: str, namespace: str = '') -> None:
        """Subscribe.

        Args:
            role: Of the camera.
            namespace: Of the arm.

        Raises:
            ParameterError: If the role is unknown or the namespace not allowed.
        """
        self.intrinsics: Intrinsics | None = None
        self.camera_frame = self.base_frame = self.serial = self.fault = ''
        self._role = role
        self._pairs = Pairing()
        heard = {
            topics.image_topic(role): self._take_image,
            topics.camera_info_topic(role): self._take_info,
            topics.EE_POSE: self._take_pose,
        }
        self._graph = ExitStack()
        joined = joined_graph(partial(rclpy.create_node, 'calibration_capture'), namespace)
        node, self._executor = self._graph.enter_context(joined)
        qos = qos_profile_sensor_data
        for topic, take in heard.items():
            node.create_subscription(message_type(topic), topic, self._guard(take), qos)
        hear(node, topics.DIAGNOSTICS, health_from_message, self._take_health, qos)

    def __enter__(self) -> CalibrationInbox:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Unsubscribe."""
        self._graph.close()

    def wait(self, timeout_s: float) -> list[Pair]:
        """Hear for a while and return the pairs that came, oldest first."""
        self._executor.spin_once(timeout_sec=timeout_s)
        return self._pairs.ready()

    def _guard(self, take: Any) -> Any:
        def heard(message: Any) -> None:
            try:
                take(message)
            except MessageError as error:
                self.fault = str(error)

        return heard

    def _take_image(self, message: Any) -> None:
        self.camera_frame = str(message.header.frame_id)
        self._pairs.add_image(*image_from_message(message))

    def _take_info(self, message: Any) -> None:
        self.intrinsics = intrinsics_from_message(message)

    def _take_pose(self, message: Any) -> None:
        self.base_frame = str(message.header.frame_id)
        self._pairs.add_pose(stamp_from_header(message.header), pose_from_stamped(message))

    def _take_health(self, parts: list[Any]) -> None:
        for name, _, _, values in parts:
            if name.endswith(f'camera_node: {self._role}'):
                self.serial = values.get('serial', self.serial)
