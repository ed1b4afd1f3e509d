"""Codecs of camera images: upright uint8 RGB arrays to sensor_msgs and back."""

from __future__ import annotations

import array
import math

import numpy as np
from sensor_msgs.msg import CameraInfo
from sensor_msgs.msg import CompressedImage
from sensor_msgs.msg import Image

from structrl_ros.camera_types import Intrinsics
from structrl_ros.camera_types import UInt16
from structrl_ros.errors import MessageError
from structrl_ros.errors import ParameterError
from structrl_ros.pixel_formats import MAX_SIDE
from structrl_ros.pixel_formats import rgb_from_file
from structrl_ros.pixel_formats import rgb_from_rows
from structrl_ros.types import UInt8
from structrl_ros.wire.checks import refuse_shape
from structrl_ros.wire.stamps import header_to_message
from structrl_ros.wire.stamps import stamp_from_header


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


def depth_to_message(depth: UInt16, stamp_ns: int, frame_id: str = '') -> Image:
    """Return the `16UC1` message of depth in millimetres (H, W), 0 where unknown.

    Raises:
        MessageError: If shape or type differ, or a side exceeds MAX_SIDE.
    """
    if depth.ndim != 2 or not depth.size or max(depth.shape) > MAX_SIDE:
        refuse_shape('Image', 'data', depth.shape, f'(H, W) with sides 1 to {MAX_SIDE}')
    if depth.dtype != np.uint16:
        raise MessageError(f'Image.data is {depth.dtype}; allowed: uint16 (millimetres)')
    height, width = depth.shape
    data = array.array('B')
    data.frombytes(np.ascontiguousarray(depth, dtype='<u2').data.cast('B'))
    return Image(
        header=header_to_message(stamp_ns, frame_id),
        height=height,
        width=width,
        encoding='16UC1',
        is_bigendian=0,
        step=2 * width,
        data=data,
    )


def image_from_message(message: Image | CompressedImage) -> tuple[int, UInt8]:
    """Return stamp (ns) and RGB image (H, W, 3) of a message, without a copy where it is `rgb8`.

    The encodings are those of `pixel_formats`; rows may be padded (`step`).

    Raises:
        MessageError: If the encoding is not understood, or sizes and data do not fit.
    """
    stamp_ns = stamp_from_header(message.header)
    if isinstance(message, CompressedImage):
        return stamp_ns, rgb_from_file(message.data, message.format)
    image = rgb_from_rows(
        message.encoding,
        message.data,
        width=int(message.width),
        height=int(message.height),
        step=int(message.step),
        big_endian=bool(message.is_bigendian),
    )
    return stamp_ns, image


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
    intrinsics = Intrinsics(width, height, focal, focal, cx, cy, (0.0,) * 5)
    return intrinsics_to_message(intrinsics, stamp_ns, frame_id)


def intrinsics_to_message(intrinsics: Intrinsics, stamp_ns: int, frame_id: str) -> CameraInfo:
    """Return the message of a camera's intrinsics, for a picture that is not rectified."""
    i = intrinsics
    return CameraInfo(
        header=header_to_message(stamp_ns, frame_id),
        height=i.height,
        width=i.width,
        distortion_model=i.model,
        d=list(i.distortion) or [0.0] * 5,
        k=[i.fx, 0.0, i.cx, 0.0, i.fy, i.cy, 0.0, 0.0, 1.0],
        r=[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
        p=[i.fx, 0.0, i.cx, 0.0, 0.0, i.fy, i.cy, 0.0, 0.0, 0.0, 1.0, 0.0],
    )


def intrinsics_from_message(message: CameraInfo) -> Intrinsics:
    """Return the intrinsics of a message.

    Raises:
        MessageError: If the camera is not calibrated (K is zero), or its model is unknown.
    """
    k, model = message.k, str(message.distortion_model)
    if k[0] == 0.0:
        raise MessageError('CameraInfo.k is zero: the camera is not calibrated')
    try:
        return Intrinsics(
            int(message.width),
            int(message.height),
            float(k[0]),
            float(k[4]),
            float(k[2]),
            float(k[5]),
            tuple(float(value) for value in message.d),
            model or 'plumb_bob',
        )
    except ParameterError as error:
        raise MessageError(f'CameraInfo: {error}') from None
