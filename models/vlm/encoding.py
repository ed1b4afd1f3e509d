"""A conversation with images to the tensors of a local model. Needs `pillow`."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from structrl_ros.errors import MessageError
from structrl_ros.models.vlm.loading import LoadedVlm
from structrl_ros.models.vlm.loading import first_line
from structrl_ros.models.vlm.pictures import check_image
from structrl_ros.types import JsonObject
from structrl_ros.types import UInt8

#: Stands for an image in a conversation; the images follow apart, in the same order.
IMAGE_PART: JsonObject = {'type': 'image'}


def encode(vlm: LoadedVlm, messages: Sequence[JsonObject], images: Sequence[UInt8]) -> Any:
    """Return the inputs of the model, on its device, for one conversation.

    Args:
        vlm: The model.
        messages: With one IMAGE_PART for each image.
        images: Upright RGB, each (H, W, 3), uint8, of any size; the processor resizes them.

    Raises:
        MessageError: If one is no image, or of a shape that the processor cannot take.
    """
    from PIL import Image

    for image in images:
        check_image(image)
    # Some templates know no plain text as content.
    listed = [
        {**m, 'content': [{'type': 'text', 'text': m['content']}]}
        if isinstance(m['content'], str)
        else m
        for m in messages
    ]
    text = vlm.processor.apply_chat_template(listed, tokenize=False, add_generation_prompt=True)
    pictures = [Image.fromarray(image) for image in images]
    try:
        inputs = vlm.processor(text=[text], images=pictures or None, return_tensors='pt')
    except ValueError as error:
        raise MessageError(f'the images do not fit the model: {first_line(error)}') from None
    return inputs.to(vlm.model.device)


def image_digests(images: Sequence[UInt8]) -> list[int]:
    """Return a number for the content of each image, negative and of 62 bits."""
    digests = (
        hashlib.blake2b(image.tobytes(), digest_size=8, key=str(image.shape).encode()).digest()
        for image in images
    )
    return [-1 - (int.from_bytes(d) >> 2) for d in digests]
