"""Static transforms: TransformStamped, and the list of them that `/tf_static` carries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from geometry_msgs.msg import Quaternion
from geometry_msgs.msg import Transform
from geometry_msgs.msg import TransformStamped
from geometry_msgs.msg import Vector3

from structrl_ros.errors import MessageError
from structrl_ros.types import Float64
from structrl_ros.wire.checks import checked_text
from structrl_ros.wire.checks import checked_values
from structrl_ros.wire.checks import refuse_shape
from structrl_ros.wire.stamps import header_to_message


def transform_to_message(
    parent: str, child: str, pose: Float64, stamp_ns: int
) -> TransformStamped:
    """Return the message of a child frame in its parent.

    Args:
        parent: Frame.
        child: Frame.
        pose: x, y, z in metres and the quaternion xyzw, (7,).
        stamp_ns: Since when it holds.

    Raises:
        MessageError: If the shape is wrong or a number not finite.
    """
    values = checked_values('TransformStamped', 'transform', pose, 'float64')
    if values.shape != (7,):
        refuse_shape('TransformStamped', 'transform', values.shape, '(7,)')
    x, y, z, qx, qy, qz, qw = values.tolist()
    return TransformStamped(
        header=header_to_message(stamp_ns, checked_text('TransformStamped', 'parent', parent)),
        child_frame_id=checked_text('TransformStamped', 'child', child),
        transform=Transform(
            translation=Vector3(x=x, y=y, z=z),
            rotation=Quaternion(x=qx, y=qy, z=qz, w=qw),
        ),
    )


def tf_message_type() -> type[Any]:
    """Return tf2_msgs/TFMessage, which no wheel brings.

    Raises:
        MessageError: If tf2_msgs is not installed.
    """
    try:
        from tf2_msgs.msg import TFMessage
    except ImportError:
        raise MessageError(
            'tf2_msgs is not installed (it is in a ROS 2 installation, and no wheel)'
        ) from None
    kind: type[Any] = TFMessage
    return kind


def transforms_to_message(transforms: Sequence[TransformStamped]) -> Any:
    """Return the message of `/tf_static`.

    Raises:
        MessageError: If tf2_msgs is not installed.
    """
    return tf_message_type()(transforms=list(transforms))
