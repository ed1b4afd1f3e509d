"""Codecs of what operators' devices publish: TwistStamped and Joy."""

from __future__ import annotations

import numpy as np
from geometry_msgs.msg import TwistStamped
from sensor_msgs.msg import Joy

from structrl_ros.errors import MessageError
from structrl_ros.types import Float64
from structrl_ros.wire.proprioception_codecs import BASE_FRAME
from structrl_ros.wire.proprioception_codecs import EE_FRAME


def twist_from_message(message: TwistStamped) -> tuple[Float64, bool]:
    """Return linear (m/s) and angular (rad/s) velocity, shape (6,), and whether in the tool frame.

    Raises:
        MessageError: If the frame is neither the base's (or none) nor the tool's.
    """
    frame = message.header.frame_id
    if frame not in ('', BASE_FRAME, EE_FRAME):
        raise MessageError(
            f'TwistStamped in frame {frame!r}; allowed: {BASE_FRAME!r}, {EE_FRAME!r}, or none'
        )
    linear, angular = message.twist.linear, message.twist.angular
    values = [linear.x, linear.y, linear.z, angular.x, angular.y, angular.z]
    return np.array(values, dtype=np.float64), frame == EE_FRAME


def joy_from_message(message: Joy) -> tuple[tuple[float, ...], tuple[int, ...]]:
    """Return axes in [-1, 1] and buttons, 0 or 1."""
    return tuple(map(float, message.axes)), tuple(map(int, message.buttons))
