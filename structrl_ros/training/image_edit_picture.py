"""Pictures on their way to an image editor and back."""

from __future__ import annotations

import base64
import binascii
import io
import json
import warnings

import numpy as np

from structrl_ros.errors import StructRLError
from structrl_ros.progress.views import resize_area
from structrl_ros.types import JsonObject
from structrl_ros.types import UInt8

_FORMATS = ('PNG', 'JPEG', 'WEBP')
_QUOTED = 160


class ImageAnswerError(StructRLError):
    """An answer holds no picture that can be used.

    Attributes:
        may_be_mended: Whether asking again may give another.
    """

    def __init__(self, message: str, *, may_be_mended: bool = True) -> None:
        """Keep the message, and whether to ask again."""
        super().__init__(message)
        self.may_be_mended = may_be_mended


def png_of(picture: UInt8) -> bytes:
    """Return an RGB picture, shape (H, W, 3), as PNG: what is sent is exact."""
    from PIL import Image

    stream = io.BytesIO()
    Image.fromarray(picture).save(stream, 'PNG')
    return stream.getvalue()


def enlarge(pictures: UInt8, size_px: int) -> UInt8:
    """Return square pictures at the size at which they are sent, smooth where they grow.

    Args:
        pictures: RGB, shape (T, S, S, 3).
        size_px: Side, pixels; 0 leaves them as they are.
    """
    side = pictures.shape[1]
    if size_px in (0, side):
        return pictures
    if size_px < side:
        return np.stack([resize_area(picture, size_px, size_px) for picture in pictures])
    from PIL import Image

    size, smooth = (size_px, size_px), Image.Resampling.BICUBIC
    return np.stack([np.array(Image.fromarray(p).resize(size, smooth)) for p in pictures])


def read_answer(content: bytes, shape: tuple[int, ...]) -> tuple[bytes, JsonObject]:
    """Return the image file of an answer of `images/edits`, and what it says about cost.

    Args:
        content: Body of the answer.
        shape: Height and width that the picture must have.

    Raises:
        ImageAnswerError: If it is no such answer, holds no picture or one of another size.
    """
    try:
        document = json.loads(content)
        found = document['data']
        entry = found[0] if found else None
    except (ValueError, KeyError, IndexError, TypeError, RecursionError):
        said = ' '.join(content[:_QUOTED].decode('utf-8', 'replace').split()) or 'nothing'
        raise ImageAnswerError(f'the answer is no list of images: {said}') from None
    if not isinstance(entry, dict) or not isinstance(entry.get('b64_json'), str):
        got = 'an address' if isinstance(entry, dict) and 'url' in entry else 'no image'
        raise ImageAnswerError(
            f'the answer holds {got}; allowed: one image as b64_json',
            may_be_mended=got != 'an address',
        )
    try:
        image = base64.b64decode(entry['b64_json'], validate=True)
    except (binascii.Error, ValueError):
        raise ImageAnswerError('the image is no valid base64') from None
    decode(image, shape)
    usage = document.get('usage')
    return image, usage if isinstance(usage, dict) else {}


def decode(image: bytes, shape: tuple[int, ...]) -> UInt8:
    """Return an image file as RGB, shape (H, W, 3).

    Raises:
        ImageAnswerError: If it is none, of a format that is not allowed, or of another size.
    """
    from PIL import Image

    height, width = shape
    try:
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')
            with Image.open(io.BytesIO(image), formats=_FORMATS) as opened:
                if opened.size != (width, height):
                    got = f'{opened.size[0]} x {opened.size[1]}'
                    raise ImageAnswerError(
                        f'the image is {got} px; allowed: {width} x {height}, as it was sent',
                        may_be_mended=False,
                    )
                return np.array(opened.convert('RGB'))
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise ImageAnswerError(
            f'the image cannot be read ({type(error).__name__}); allowed: a whole PNG, JPEG or '
            'WebP'
        ) from None
