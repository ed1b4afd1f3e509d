"""Codecs of camera images: upright uint8 RGB arrays to sensor_msgs and back."""

from __future__ import annotations

import array
import math

import numpy as np
from sensor_msgs.msg import CameraInfo
from sensor_msgs.msg import Image

from structrl_ros.errors import MessageError
from structrl_ros.types import UInt8
from structrl_ros.wire.checks import refuse_shape
from structrl_ros.wire.stamps import header_to_message
from structrl_ros.wire.stamps import stamp_from_header

#: Largest width or height in pixels.
MAX_SIDE = 8192
#: Encodings that are understood, and their bytes a pixel.
ENCODINGS = {'rgb8': 3, 'bgr8': 3, '8UC3': 3, 'mono8': 1, '8UC1': 1}


def image_to_message(image: UInt8, stamp_ns: int, frame_id: str = '') -> Image:
    """Return the `rgb8` message of an upright RGB image (H, W, 3), uint8.

    Raises:
        MessageError: If shape or type differ, or a side exceeds MAX_SIDE.
    """
    if image.ndim != 3 or image.shape[2] != 3 or not image.size or max(image.shape) > MAX_SIDE:
        refuse_shape('Image', 'data', image.shape, f'(H, W, 3) with sides 1 to {MAX_SIDE}')
    if image.dtype != np.uint8:
        raise MessageError(f'Image.data is {image.dtype}; allowed: uint8')
    height, width, _ = image.shape
    data = array.array('B')
    data.frombytes(np.ascontiguousarray(image).data.cast('B'))
    return Image(
        header=header_to_message(stamp_ns, frame_id),
        height=height,
        width=width,
        encoding='rgb8',
        is_bigendian=0,
        step=3 * width,
        data=data,
    )


def image_from_message(message: Image) -> tuple[int, UInt8]:
    """Return stamp (ns) and RGB image (H, W, 3) of a message, without a copy where it is `rgb8`.

    `8UC3` is taken as BGR, the channel order of OpenCV, which writes that name. Rows may be
    padded (`step`).

    Raises:
        MessageError: If the encoding is not understood, or sizes and data do not fit.
    """
    channels = ENCODINGS.get(message.encoding)
    if channels is None:
        known = ', '.join(ENCODINGS)
        raise MessageError(f'Image.encoding is {message.encoding!r}; allowed: {known}')
    height, width, step = int(message.height), int(message.width), int(message.step)
    if not (1 <= height <= MAX_SIDE and 1 <= width <= MAX_SIDE):
        raise MessageError(f'Image is {width} x {height}; allowed: sides 1 to {MAX_SIDE}')
    if step < channels * width:
        raise MessageError(f'Image.step is {step}; allowed: at least {channels * width}')
    raw = np.frombuffer(message.data, dtype=np.uint8)
    if raw.size != height * step:
        raise MessageError(
            f'Image.data has {raw.size} bytes; allowed: height x step = {height * step}'
        )
    rows = raw.reshape(height, step)[:, : channels * width]
    image = rows.reshape(height, width, channels)
    if message.encoding in ('bgr8', '8UC3'):
        image = image[:, :, ::-1]
    elif channels == 1:
        image = np.repeat(image, 3, axis=2)
    return stamp_from_header(message.header), np.ascontiguousarray(image)


def camera_info_to_message(
    stamp_ns: int, frame_id: str, width: int, height: int, vertical_fov: float
) -> CameraInfo:
    """Return the intrinsics of an ideal pinhole camera without distortion.

    Args:
        stamp_ns: Time of the image.
        frame_id: Optical frame of the camera.
        width: Pixels.
        height: Pixels.
        vertical_fov: Vertical field of view in radians, in (0, pi).

    Raises:
        MessageError: If the field of view or a side is out of range.
    """
    if not 0.0 < vertical_fov < math.pi:
        raise MessageError(f'CameraInfo: field of view is {vertical_fov} rad; allowed: (0, pi)')
    if not (1 <= height <= MAX_SIDE and 1 <= width <= MAX_SIDE):
        raise MessageError(f'CameraInfo is {width} x {height}; allowed: sides 1 to {MAX_SIDE}')
    focal = 0.5 * height / math.tan(0.5 * vertical_fov)
    cx, cy = 0.5 * (width - 1), 0.5 * (height - 1)
    return CameraInfo(
        header=header_to_message(stamp_ns, frame_id),
        height=height,
        width=width,
        distortion_model='plumb_bob',
        d=[0.0] * 5,
        k=[focal, 0.0, cx, 0.0, focal, cy, 0.0, 0.0, 1.0],
        r=[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
        p=[focal, 0.0, cx, 0.0, 0.0, focal, cy, 0.0, 0.0, 0.0, 1.0, 0.0],
    )
