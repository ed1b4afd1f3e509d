"""Pixels of any encoding that a camera driver publishes, as upright RGB.

Depth is a picture too where somebody asks for one: 16UC1 (millimetres) and 32FC1 (metres) become
grey, 16 mm a level, white from 4.08 m on. mono16 keeps its eight high bits.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structrl_ros.errors import MessageError
from structrl_ros.types import UInt8

#: Largest width or height in pixels.
MAX_SIDE = 8192
#: Millimetres of depth that one level of grey stands for.
DEPTH_STEP_MM = 16.0

_Rows = NDArray[Any]


@dataclass(frozen=True, slots=True)
class _Format:
    """Type of a sample, samples a pixel, decoder, and rows of data a row of the picture."""

    dtype: str
    samples: int
    decode: Callable[[_Rows], _Rows]
    row_ratio: float = 1.0


def _channels(*order: int) -> Callable[[_Rows], _Rows]:
    """Return a decoder that picks the channels of red, green and blue."""
    if order == (0, 1, 2):
        return lambda pixels: pixels[:, :, :3]
    if order == (2, 1, 0):
        return lambda pixels: pixels[:, :, 2::-1]
    return lambda pixels: np.repeat(pixels[:, :, :1], 3, axis=2)


def _high_bits(order: Callable[[_Rows], _Rows]) -> Callable[[_Rows], _Rows]:
    return lambda pixels: order((pixels >> 8).astype(np.uint8))


def _depth(unit_mm: float) -> Callable[[_Rows], _Rows]:
    def decode(pixels: _Rows) -> _Rows:
        millimetres = np.nan_to_num(pixels.astype(np.float32) * unit_mm, nan=0.0, posinf=0.0)
        levels = np.clip(millimetres / DEPTH_STEP_MM, 0, 255).astype(np.uint8)
        return np.repeat(levels, 3, axis=2)

    return decode


def _opencv(code: str) -> Callable[[_Rows], _Rows]:
    """Return a decoder that OpenCV has: YUV and Bayer pictures."""

    def decode(pixels: _Rows) -> _Rows:
        try:
            import cv2
        except ImportError:
            raise MessageError(
                'Image.encoding needs OpenCV: pip install "opencv-python-headless>=4.10,<5"'
            ) from None
        plain = pixels[:, :, 0] if pixels.shape[2] == 1 else pixels
        converted: _Rows = cv2.cvtColor(np.ascontiguousarray(plain), getattr(cv2, code))
        return converted

    return decode


_RGB, _BGR, _GREY = _channels(0, 1, 2), _channels(2, 1, 0), _channels(0)
_FORMATS: dict[str, _Format] = {
    'rgb8': _Format('u1', 3, _RGB),
    'bgr8': _Format('u1', 3, _BGR),
    '8UC3': _Format('u1', 3, _BGR),  # the name that OpenCV writes, with OpenCV's order
    'mono8': _Format('u1', 1, _GREY),
    '8UC1': _Format('u1', 1, _GREY),
    'rgba8': _Format('u1', 4, _RGB),
    'bgra8': _Format('u1', 4, _BGR),
    '8UC4': _Format('u1', 4, _BGR),
    'rgb16': _Format('u2', 3, _high_bits(_RGB)),
    'bgr16': _Format('u2', 3, _high_bits(_BGR)),
    'mono16': _Format('u2', 1, _high_bits(_GREY)),
    '16UC1': _Format('u2', 1, _depth(1.0)),
    '32FC1': _Format('f4', 1, _depth(1000.0)),
    'yuv422_yuy2': _Format('u1', 2, _opencv('COLOR_YUV2RGB_YUYV')),
    'yuyv': _Format('u1', 2, _opencv('COLOR_YUV2RGB_YUYV')),
    'yuv422': _Format('u1', 2, _opencv('COLOR_YUV2RGB_UYVY')),
    'uyvy': _Format('u1', 2, _opencv('COLOR_YUV2RGB_UYVY')),
    'nv12': _Format('u1', 1, _opencv('COLOR_YUV2RGB_NV12'), 1.5),
    'nv21': _Format('u1', 1, _opencv('COLOR_YUV2RGB_NV21'), 1.5),
    'bayer_rggb8': _Format('u1', 1, _opencv('COLOR_BayerRGGB2RGB')),
    'bayer_bggr8': _Format('u1', 1, _opencv('COLOR_BayerBGGR2RGB')),
    'bayer_gbrg8': _Format('u1', 1, _opencv('COLOR_BayerGBRG2RGB')),
    'bayer_grbg8': _Format('u1', 1, _opencv('COLOR_BayerGRBG2RGB')),
}

#: Encodings that are understood.
ENCODINGS = tuple(_FORMATS)


def rgb_from_rows(
    encoding: str, data: Any, *, width: int, height: int, step: int, big_endian: bool = False
) -> UInt8:
    """Return RGB pixels (H, W, 3) of raw rows; no copy where they are plain `rgb8`.

    Args:
        encoding: One of `ENCODINGS`.
        data: Buffer of `step` bytes a row.
        width: Pixels.
        height: Pixels.
        step: Bytes from one row to the next; rows may be padded.
        big_endian: Byte order of samples of more than a byte.

    Raises:
        MessageError: If the encoding is not understood, or sizes and data do not fit.
    """
    known = _FORMATS.get(encoding)
    if known is None:
        raise MessageError(f'Image.encoding is {encoding!r}; allowed: {", ".join(ENCODINGS)}')
    if not (1 <= height <= MAX_SIDE and 1 <= width <= MAX_SIDE):
        raise MessageError(f'Image is {width} x {height}; allowed: sides 1 to {MAX_SIDE}')
    dtype = np.dtype(('>' if big_endian else '<') + known.dtype)
    needed = known.samples * width * dtype.itemsize
    if step < needed:
        raise MessageError(f'Image.step is {step}; allowed: at least {needed}')
    raw, rows = np.frombuffer(data, dtype=np.uint8), round(height * known.row_ratio)
    if raw.size != rows * step:
        raise MessageError(
            f'Image.data has {raw.size} bytes; allowed: height x step = {rows * step}'
        )
    tight = np.ascontiguousarray(raw.reshape(rows, step)[:, :needed])
    pixels = tight.view(dtype).reshape(rows, width, known.samples)
    return np.ascontiguousarray(known.decode(pixels))


def rgb_from_file(data: Any, format_name: str = '') -> UInt8:
    """Return RGB pixels (H, W, 3) of a picture in a file's format (JPEG, PNG, ...).

    Args:
        data: The bytes; behind the 12 bytes of header that `compressedDepth` puts before a PNG.
        format_name: The `format` of a CompressedImage.

    Raises:
        MessageError: If it is no picture, or a side exceeds MAX_SIDE.
    """
    from PIL import Image
    from PIL import UnidentifiedImageError

    content = bytes(data)[12 if 'compressedDepth' in format_name else 0 :]
    try:
        picture: Any = Image.open(io.BytesIO(content))
        if max(picture.size) > MAX_SIDE:
            raise MessageError(
                f'CompressedImage is {picture.size[0]} x {picture.size[1]}; '
                f'allowed: sides 1 to {MAX_SIDE}'
            )
        if picture.mode.startswith('I'):  # 16 bits a pixel: depth or mono16
            levels = np.asarray(picture).astype('<u2')
            encoding = 'mono16' if format_name.startswith('mono16') else '16UC1'
            return rgb_from_rows(
                encoding,
                np.ascontiguousarray(levels),
                width=levels.shape[1],
                height=levels.shape[0],
                step=2 * levels.shape[1],
            )
        return np.array(picture.convert('RGB'), dtype=np.uint8)
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError) as error:
        raise MessageError(
            f'CompressedImage ({format_name!r}, {len(content)} bytes) cannot be read: {error}; '
            'allowed: JPEG, PNG and what else Pillow reads'
        ) from None
