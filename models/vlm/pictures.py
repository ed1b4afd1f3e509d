"""Camera images as data URLs, the way chat servers take them."""

from __future__ import annotations

import base64
import io

from structrl_ros.errors import ParameterError
from structrl_ros.types import JsonObject
from structrl_ros.types import UInt8

FORMATS = ('png', 'jpeg')


def image_part(image: UInt8, kind: str = 'jpeg') -> JsonObject:
    """Return a part of a message with an image in it. Needs pillow.

    Args:
        image: Upright RGB, shape (H, W, 3), uint8.
        kind: 'png' (exact) or 'jpeg' (quality 90, about a tenth of the size).

    Raises:
        ParameterError: If the kind is unknown, the array no image, or pillow is not installed.
    """
    if kind not in FORMATS:
        raise ParameterError(f'image format is {kind!r}; allowed: {", ".join(FORMATS)}')
    if image.ndim != 3 or image.shape[2] != 3 or image.dtype != 'uint8':
        raise ParameterError(f'image is {image.dtype} {image.shape}; allowed: uint8 (H, W, 3)')
    try:
        from PIL import Image
    except ImportError:
        raise ParameterError(
            'images for the openai backends need pillow; install it with: pip install pillow'
        ) from None
    stream = io.BytesIO()
    Image.fromarray(image).save(stream, kind.upper(), quality=90)
    text = base64.b64encode(stream.getvalue()).decode('ascii')
    return {'type': 'image_url', 'image_url': {'url': f'data:image/{kind};base64,{text}'}}


def text_part(text: str) -> JsonObject:
    """Return a part of a message with text in it."""
    return {'type': 'text', 'text': text}
