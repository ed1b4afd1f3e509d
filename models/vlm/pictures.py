"""Camera images as data URLs, the way chat servers take them."""

from __future__ import annotations

import base64
import io

from structrl_ros.errors import MessageError
from structrl_ros.errors import ParameterError
from structrl_ros.types import JsonObject
from structrl_ros.types import UInt8

FORMATS = ('png', 'jpeg')


def check_format(kind: str) -> None:
    """Refuse a form of images that cannot be made here.

    Raises:
        ParameterError: If the kind is unknown, or pillow is not installed.
    """
    if kind not in FORMATS:
        raise ParameterError(f'image format is {kind!r}; allowed: {", ".join(FORMATS)}')
    try:
        import PIL.Image  # noqa: F401
    except ImportError:
        raise ParameterError(
            'images for vision-language models need pillow; install it with: pip install pillow'
        ) from None


def check_image(image: UInt8) -> None:
    """Refuse what is no upright RGB image, shape (H, W, 3), uint8.

    Raises:
        MessageError: If it is none.
    """
    is_image = image.ndim == 3 and image.shape[2] == 3 and image.dtype == 'uint8' and image.size
    if not is_image:
        raise MessageError(f'image is {image.dtype} {image.shape}; allowed: uint8 (H, W, 3)')


def image_part(image: UInt8, kind: str = 'jpeg') -> JsonObject:
    """Return a part of a message with an image in it. Needs pillow.

    Args:
        image: Upright RGB, shape (H, W, 3), uint8.
        kind: 'png' (exact) or 'jpeg' (quality 90, about a tenth of the size).

    Raises:
        ParameterError: As for `check_format`.
        MessageError: If the array is no image.
    """
    check_format(kind)
    check_image(image)
    from PIL import Image

    stream = io.BytesIO()
    Image.fromarray(image).save(stream, kind.upper(), quality=90)
    text = base64.b64encode(stream.getvalue()).decode('ascii')
    return {'type': 'image_url', 'image_url': {'url': f'data:image/{kind};base64,{text}'}}
